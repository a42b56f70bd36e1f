"""The papers' claims, each judged from the study's tables by a rule that stands beside it."""

from headroom.claims.study_tables import StudyTables
from headroom.report.claims import (
    controls,
    convergence,
    counts,
    diversity,
    domains,
    epochs,
    gates,
    generality,
    head_counts,
    keeping,
    pointing,
    prunability,
    pruning,
    relevance,
    removing,
    repulsion,
    retention,
    seeds,
    speed,
    survival,
    update_cost,
)
from headroom.report.claims.findings import findings
from headroom.report.claims.verdict import ClaimVerdict

__all__ = ["CLAIMS", "PAPERS", "ClaimVerdict", "evaluate_claims", "findings"]

_MICHEL = (removing, keeping, domains, pruning, speed, counts, epochs, generality)
_VOITA = (relevance, pointing, seeds, gates, survival, retention, convergence)
_AN = (diversity, repulsion, head_counts, update_cost, controls, prunability)

PAPERS = {
    "M": "Michel, Levy and Neubig, 2019",
    "V": "Voita, Talbot, Moiseev, Sennrich and Titov, 2019",
    "R": "An et al., 2020",
}
"""Whose claims begin with which letter."""

CLAIMS = tuple(
    sorted(
        (claim for module in (*_MICHEL, *_VOITA, *_AN) for claim in module.CLAIMS),
        key=lambda claim: (list(PAPERS).index(claim.id[0]), int(claim.id[1:])),
    )
)
"""The claims of the papers, in the order of their numbers."""


def evaluate_claims(tables: StudyTables) -> list[ClaimVerdict]:
    """Return the verdicts on every claim, one per task that it is about; what was not run says so."""
    found = []
    for claim in CLAIMS:
        asked = [task for task in tables.tasks if claim.asked_of(task)]
        views = [tables.of_task(task) for task in asked] or [tables]
        found += [claim.evaluate(view) for view in views]
    return found
