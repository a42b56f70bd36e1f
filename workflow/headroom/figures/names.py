"""Tasks, runs, criteria, orders and methods as readers should see them."""

from headroom.settings.arms import ARMS
from headroom.study.tables import arm_of, seed_of

_NAMES = {
    "translation": "translation",
    "sst2": "SST-2",
    "cola": "CoLA",
    "mrpc": "MRPC",
    "rte": "RTE",
    "snli": "SNLI",
    "mnli": "MNLI",
    "qnli": "QNLI",
    "qqp": "QQP",
}


def task_name(task: str) -> str:
    """Return a task as readers should see it: `sst2` is SST-2; an unknown task keeps its name."""
    return _NAMES.get(task, task)


def heading(task: str) -> str:
    """Return a task as the heading of a part of a section: `Translation`, `SST-2`."""
    name = task_name(task)
    return name[:1].upper() + name[1:]


CRITERION_NAMES = {
    "gradient-example": "gradient, per example",
    "gradient-token": "gradient, per token",
    "gradient-batch": "gradient, per batch",
    "gradient-squared": "gradient, squared",
}

METHOD_NAMES = {
    "hard-concrete": "hard concrete",
    "continued": "all heads, trained further",
    "gradient": "best by gradient, trained further",
    "random": "random heads, trained further",
    "scratch": "same layout from scratch",
    "random-scratch": "random layout from scratch",
}
SCOPES = {"E": "encoder heads", "all": "all heads"}

PART_NAMES = {
    "encoder": "the encoder",
    "decoder": "the teacher-forced decoder",
    "prefill": "reading of the text",
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


def choose_folded_runs(others: list[str]) -> list[str]:
    """Return the runs that are shown folded after the one shown first: all if they are few, else one of every arm."""
    if len(others) <= MOST_FOLDED:
        return others
    first = {arm_of(run): run for run in reversed(others)}
    return [run for run in others if run in first.values()][:MOST_FOLDED]


def method_words(method: str) -> str:
    """Return what a method does, in a few words; the method itself if it is unknown."""
    arm = ARMS.get(method)
    return str(arm.model_fields["method"].description) if arm else method
