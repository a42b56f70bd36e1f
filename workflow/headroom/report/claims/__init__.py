"""The paper's claims, each judged from the study's tables by a rule that stands beside it."""

from headroom.report.claims import counts, domains, epochs, generality, keeping, pruning, removing, speed
from headroom.report.claims.findings import findings
from headroom.report.claims.verdict import ClaimVerdict
from headroom.report.study_tables import StudyTables

__all__ = ["CLAIMS", "ClaimVerdict", "evaluate_claims", "findings"]

_MODULES = (removing, keeping, domains, pruning, speed, counts, epochs, generality)

CLAIMS = tuple(
    sorted(
        (claim for module in _MODULES for claim in module.CLAIMS),
        key=lambda claim: int(claim.id.removeprefix("M")),
    )
)
"""The claims of Michel, Levy and Neubig (2019), in the order of their numbers."""


def evaluate_claims(tables: StudyTables) -> list[ClaimVerdict]:
    """Return the verdicts on every claim, one per task that it is about; what was not run says so."""
    found = []
    for claim in CLAIMS:
        asked = [task for task in tables.tasks if claim.asked_of(task)]
        views = [tables.of_task(task) for task in asked] or [tables]
        found += [claim.evaluate(view) for view in views]
    return found
