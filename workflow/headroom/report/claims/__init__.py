"""The paper's claims, each judged from the study's tables by a rule that stands beside it."""

from headroom.report.claims import domains, epochs, keeping, pruning, removing
from headroom.report.claims.findings import findings
from headroom.report.claims.verdict import ClaimVerdict
from headroom.report.study_tables import StudyTables

__all__ = ["CLAIMS", "ClaimVerdict", "evaluate_claims", "findings"]

CLAIMS = tuple(
    sorted(
        (claim for module in (removing, keeping, domains, pruning, epochs) for claim in module.CLAIMS),
        key=lambda claim: int(claim.id.removeprefix("M")),
    )
)
"""The claims of Michel, Levy and Neubig (2019) that the experiments touch, in the order of their numbers."""


def evaluate_claims(tables: StudyTables) -> list[ClaimVerdict]:
    """Return the verdict on every claim; those whose experiment was not run say so."""
    return [claim.evaluate(tables) for claim in CLAIMS]
