"""A study with an arm of every method in both tasks; a changed key of an arm reruns only its own runs."""

from typing import Any

from headroom.settings.arms import ARMS
from reruns.jobs import FOLLOWING, SCORED, Jobs, Row

TASKS = ("translation", "classification.pairs")
FIRST = {"first": {"method": "baseline"}}
"""The reference arm; neither it nor the jobs that depend only on its run are rerun."""

STUDY: dict[str, Any] = {
    "device": "cuda",
    "translation": {
        "model": {"heads": 4, "width": 16},
        "training": {"epochs": 1, "update_frequency": 2},
        "gates": {"ways": []},
    },
    "classification": {
        "pairs": {"encoder": {"source": "new", "heads": 4}, "training": {"epochs": 1}, "gates": {"ways": []}},
    },
}
for task in (STUDY["translation"], STUDY["classification"]["pairs"]):
    task["arms"] = FIRST | {method: {"method": method} for method in ARMS}

VALUES: dict[str, Any] = {
    "heads": 8,
    "attention_dropout": 0.2,
    "sites": ["E"],
    "stepsize": 0.02,
    "strength": 0.5,
    "particles": "joined",
    "median": "with-diagonal",
    "alpha": 0.02,
    "beta": 0.1,
    "weight": 0.2,
    "masked": 2,
    "rate": 0.3,
}
"""Another value of every key but `method`."""


def changed(arms: int) -> Jobs:
    """Return the jobs of so many changed arms of each task."""
    both = dict.fromkeys(FOLLOWING, 2 * arms)
    return {"update_cost": 1, "training_translation": arms, "training_classification": arms, **both, **SCORED}


def rows_of_arms() -> list[Row]:
    """Return a row per key: it changes in every arm that has it, of both tasks, and each of these arms is retrained.

    One dry run shows a dozen keys so: the jobs of different arms are different jobs.
    """
    rows = []
    for key, value in VALUES.items():
        having = [method for method, arm in ARMS.items() if key in arm.model_fields]
        changes = {f"{task}.arms.{method}.{key}": value for task in TASKS for method in having}
        rows.append(Row(key, changes, changed(len(having))))
    others = dict(zip(ARMS, [*list(ARMS)[1:], *list(ARMS)[:1]]))
    changes = {f"{task}.arms.{arm}.method": method for task in TASKS for arm, method in others.items()}
    return [*rows, Row("method", changes, changed(len(ARMS)))]


def keys_of_arms() -> list[str]:
    """Return the keys of arms that the rows change, `translation.arms.svgd.alpha (svgd)`."""
    return [
        f"{task}.arms.{method}.{key} ({method})"
        for task in TASKS
        for method, arm in ARMS.items()
        for key in ("method", *VALUES)
        if key in arm.model_fields
    ]


ARM_ROWS = rows_of_arms()

EVERY_ARM = len(ARMS) + 1
DETAILED = (
    *("ablation", "keep_one", "agreement", "parameters", "pruning_sites", "timing", "attention_maps"),
    "rank_correlation",
)
GPUS = Row(
    "gpus",
    {"gpus": 2},
    {
        **{
            "training_translation": EVERY_ARM,
            "training_classification": EVERY_ARM,
            **dict.fromkeys(FOLLOWING, 2 * EVERY_ARM),
        },
        **{**dict.fromkeys(DETAILED, 2), "pruning": 5, "removal": 1, "removal_labelled": 1, "phenomena": 1, **SCORED},
    },
)
"""More than one needs `device: cuda`, which this study has."""
