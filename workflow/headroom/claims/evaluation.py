"""Every claim decided from the tables of a study."""

from collections.abc import Iterable
from dataclasses import dataclass

from headroom.claims.entries import Claim, all_claims, decide
from headroom.claims.study_tables import StudyTables, seed_of
from headroom.claims.verdict import Reading, majority


@dataclass(frozen=True)
class Decision:
    """The decision of a study on a claim in one task.

    Attributes:
        claim: The claim.
        task: The task; "" if the study has none that the claim is about.
        readings: The readings of the runs; none if no run has the required tables.
        seeds: How many seeds the task has.
    """

    claim: Claim
    task: str
    readings: tuple[Reading, ...]
    seeds: int = 0

    @property
    def verdict(self) -> str:
        """The verdict: that of more than half of the runs."""
        return majority([reading.verdict for reading in self.readings])


def evaluate(tables: StudyTables, claims: Iterable[Claim] | None = None) -> list[Decision]:
    """Return the decisions on claims, by default on all, one per task that a claim is about."""
    asked = all_claims().values() if claims is None else claims
    return [decision for claim in asked for decision in _of_claim(claim, tables)]


def _of_claim(claim: Claim, tables: StudyTables) -> list[Decision]:
    asked = [tables.of_task(task) for task in tables.tasks if claim.asked_of(task)]
    if not asked:
        return [Decision(claim, "", ())]
    seeds = {view.task: len(set(map(seed_of, view.runs))) for view in asked}
    return [Decision(claim, view.task, tuple(decide(claim, view)), seeds[view.task]) for view in asked]
