"""Runs, criteria, orders and methods as readers should see them."""

from headroom.claims.evidence import judged
from headroom.claims.metrics import metric_points
from headroom.claims.selection import main_metric, main_set
from headroom.claims.study_tables import StudyTables, arm_of, seed_of
from headroom.settings.arms import ARMS

CRITERION_NAMES = {
    "gradient-example": "gradient, per example",
    "gradient-token": "gradient, per token",
    "gradient-batch": "gradient, per batch",
    "gradient-squared": "gradient, squared",
}

METHOD_NAMES = {
    "hard-concrete": "hard concrete",
    "exact": "exact K",
    "exact-straight-through": "exact K, straight through",
    "continued": "all heads, trained further",
    "gradient": "best by gradient, trained further",
    "random": "random heads, trained further",
    "scratch": "same layout from scratch",
    "rewound": "same layout rewound",
    "random-scratch": "random layout from scratch",
}
SCOPES = {"E": "encoder heads", "all": "all heads"}

PART_NAMES = {
    "encoder": "the encoder",
    "decoder": "the teacher-forced decoder",
    "generation": "generation",
    "model": "the whole model",
}
"""The timed parts of models."""

MOST_FOLDED = 8
"""At most this many drawings of single runs: more make the page large and are of little use."""


def criterion_name(criterion: str) -> str:
    """Return a criterion as readers should see it."""
    return CRITERION_NAMES.get(criterion, criterion)


def order_name(order: str, normalised: str = "", ranking: str = "fixed") -> str:
    """Return a removal order as readers should see it: `gradient, per token, rescored`."""
    name = {"ablation": "single-head ablation", "reverse": "reverse (highest first)"}.get(order, criterion_name(order))
    scaled = ", scaled by layer" if normalised == "layer" else ""
    return name + scaled + (", rescored" if ranking == "rescored" else "")


def run_name(run: str) -> str:
    """Return a run as readers should see it: `baseline, seed 1`."""
    return f"{arm_of(run)}, seed {seed_of(run)}" if seed_of(run) else run


def folded_runs(others: list[str]) -> list[str]:
    """Return the runs that are shown folded after the one shown first: all if they are few, else one of every arm.

    Args:
        others: The other runs that could be shown, in order.
    """
    if len(others) <= MOST_FOLDED:
        return others
    first = {arm_of(run): run for run in reversed(others)}
    return [run for run in others if run in first.values()][:MOST_FOLDED]


def method_words(method: str) -> str:
    """Return what a method does, in a few words; the method itself if it is unknown."""
    arm = ARMS.get(method)
    return str(arm.model_fields["method"].description) if arm else method


def points_on(tables: StudyTables) -> str:
    """Return what follows a difference in score: `BLEU on test`."""
    rows = judged(tables.evaluation)
    return f"{metric_points(main_metric(rows))} on {main_set(rows)}"
