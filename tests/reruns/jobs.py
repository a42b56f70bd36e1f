"""Jobs of the tiny study by their upstream jobs, and rows of the tables of reruns."""

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from schema_keys import path_of

Jobs = dict[str, int]


class Row(NamedTuple):
    """A changed key of the configuration (the changes: values by dotted path), and the jobs that it reruns."""

    key: str
    changes: Mapping[str, Any]
    jobs: Jobs


def rows(jobs: Jobs, values: Mapping[str, Any]) -> list[Row]:
    """Return a row for each of the keys that rerun the same jobs if they get these values."""
    return [Row(key, {path_of(key): value}, jobs) for key, value in values.items()]


REPORT = {"configuration": 1, "claims": 1, "report": 1}
"""Claims and report read the configuration: a changed value reaches them even if nothing else reruns."""

LAST = {"arms": 1, **REPORT}
SCORED = {"overlap": 1, **LAST}


def total(*parts: Jobs) -> Jobs:
    """Return the jobs of several parts together; those for the whole study run once."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0) for part in parts) for name in names} | {
        name: 1 for name in SCORED if name in names
    }


def together(rows: Iterable[Row]) -> list[Row]:
    """Return rows as fewer dry runs: a key of translation and one of classification at a time.

    Rows that rerun many jobs are next to rows that rerun few, so that a rerun of the other task's jobs is detected.
    """
    by_task: dict[str, list[Row]] = {"translation": [], "classification": []}
    alone = []
    for row in sorted(rows, key=lambda row: sum(row.jobs.values())):
        by_task.get(row.key.partition(".")[0], alone).append(row)
    pairs = zip_longest(by_task["translation"], reversed(by_task["classification"]))
    return alone + [joined([row for row in pair if row is not None]) for pair in pairs]


def joined(rows: list[Row]) -> Row:
    """Return a row that changes what several change, each of another task."""
    changes = {key: value for row in rows for key, value in row.changes.items()}
    return Row(" and ".join(row.key for row in rows), changes, total(*(row.jobs for row in rows)))


def without_configuration(jobs: Jobs) -> Jobs:
    """Return jobs without that which writes the configuration down: not every change is in there."""
    return {name: count for name, count in jobs.items() if name != "configuration"}


# What follows a training of all four runs of translation, or of all four of classification.
FOLLOWING = (
    *("scores", "evaluation", "pruning_epochs", "settling", "diversity", "particles"),
    *("attention_stats", "roles", "relevance"),
)
EVERY_RUN = dict.fromkeys(FOLLOWING, 4)
OF_DETAILED_RUNS = ("ablation", "keep_one", "agreement", "parameters", "pruning_sites", "timing", "attention_maps")
DETAILED = dict.fromkeys((*OF_DETAILED_RUNS, "rank_correlation"), 1)

# What follows new gates of translation, on the encoder and on all heads, new controls of both, and of classification.
# Heads that are observed again: those of a model of the encoder's gates, and of two controls.
FROM_SCRATCH = {"training_from_scratch": 2, "from_scratch": 2}
SURVIVORS = {"attention_stats_pruned": 3, "roles_pruned": 1}
GATES = {"gates": 2, **FROM_SCRATCH, "attention_stats_pruned": 1, "roles_pruned": 1, "rank_correlation": 1}
CONTROLS = {"gates_controls": 2, "attention_stats_pruned": 2, "roles_pruned": 1}
GATES_AND_CONTROLS = {**GATES, **CONTROLS, **SURVIVORS}
GATES_LABELLED = {"gates": 1, "rank_correlation": 1}
CONTROLS_LABELLED = {"gates_controls": 1}
BOTH_LABELLED = {**GATES_LABELLED, **CONTROLS_LABELLED}

# The sweeps of classification with means instead of zeros.
CURVES_REPLACED = {"pruning_replaced": 1}
REPLACED = {"ablation_replaced": 1, "keep_one_replaced": 1, **CURVES_REPLACED}

# The comparison of criteria in classification: two families of criteria and six orders, of two seeds.
COMPARED_CURVES = {"bakeoff_curves": 12, "bakeoff": 1}
RETRAINED = {"bakeoff_retraining": 2}
COMPARED_CRITERIA = {"bakeoff_scores": 4, **COMPARED_CURVES, **RETRAINED}

PHENOMENA = {"phenomena": 2}
"""Accuracy per phenomenon, of both seeds of the first arm of translation."""

OF_TRANSLATION = {**EVERY_RUN, **DETAILED, **GATES_AND_CONTROLS, "pruning": 2, "removal": 1, **PHENOMENA, **SCORED}
OF_CLASSIFICATION = {
    **EVERY_RUN,
    **DETAILED,
    **BOTH_LABELLED,
    **REPLACED,
    **COMPARED_CRITERIA,
    "pruning": 1,
    "removal_labelled": 1,
    **SCORED,
}
TRAINING = {"training_translation": 4, **OF_TRANSLATION}
MODEL = {"update_cost": 1, **TRAINING}
CORPUS = {"vocabulary": 1, **MODEL}
FINE_TUNING = {"training_classification": 4, **OF_CLASSIFICATION}
ENCODER = {"encoder": 1, **FINE_TUNING}
NEW_ARM = {"training_translation": 2, **dict.fromkeys(FOLLOWING, 2), **SCORED}
NEW_ARM_LABELLED = {"training_classification": 2, **dict.fromkeys(FOLLOWING, 2), **SCORED}
EVERY_SET = {"parallel_text": 1, "treebank": 1, **CORPUS}
EVERY_PAIR = {"labelled_text": 1, "treebank": 1, **ENCODER}

BY_SCORES = {"rank_correlation": 1, "pruning_sites": 1, "timing": 1}
NEW_SCORES = {"scores": 4, "settling": 4, "pruning_epochs": 4, **BY_SCORES, **SCORED}
SCORES = {**NEW_SCORES, **CONTROLS, "pruning": 2, "removal": 1}
SCORES_LABELLED = {**NEW_SCORES, **CONTROLS_LABELLED, "pruning": 1, **CURVES_REPLACED, "removal_labelled": 1}
JUDGING = {"ablation": 1, "keep_one": 1, "pruning_sites": 1, "agreement": 1}
SAMPLED = {"evaluation": 4, "pruning": 2, "pruning_epochs": 4, **JUDGING, **GATES_AND_CONTROLS, **LAST}
SAMPLED_LABELLED = {
    **{"evaluation": 4, "pruning": 1, "pruning_epochs": 4},
    **JUDGING,
    **BOTH_LABELLED,
    **REPLACED,
    **COMPARED_CURVES,
    **RETRAINED,
    **LAST,
}
JUDGED = {"removal": 1, **SAMPLED}
JUDGED_LABELLED = {"removal_labelled": 1, **SAMPLED_LABELLED}
RULES = {"roles": 4, "attention_maps": 1, **REPORT}
POINTING = {"attention_stats": 4, "rank_correlation": 1, **RULES}
NEW_DETAILED = {**DETAILED, "pruning_epochs": 1, **LAST}


def of_task(
    task: str, curves: int, scores: Jobs, survivors: Jobs, controls: Jobs, removal: str, replaced: Jobs
) -> list[Row]:
    """Return the rows of keys that tasks of translation and of classification have alike.

    Args:
        task: Where its keys are.
        curves: How many jobs `pruning` has.
        scores: What new scores rerun.
        survivors: What follows from where heads of pruned models point.
        controls: The controls of gates, and what follows from them.
        removal: The rule that removes heads.
        replaced: The jobs of the sweeps with other replacements than zero.
    """
    redrawn = {"pruning": curves, **{name: one for name, one in replaced.items() if name == "pruning_replaced"}}
    kept = {"keep_one": 1, **{name: one for name, one in replaced.items() if name == "keep_one_replaced"}}
    removed = {name: one for name, one in replaced.items() if name == "ablation_replaced"}
    ablated = {"ablation": 1, **removed, **redrawn, "agreement": 1, "rank_correlation": 1, **REPORT}
    by_roles = {name: one for name, one in survivors.items() if name in ("roles_pruned", "phenomena")}
    pointing, ruled = {**POINTING, **survivors}, {**RULES, **by_roles}
    tables: list[tuple[Jobs, dict[str, Any]]] = [
        (ablated, {"ablation.examples": 9, "ablation.far_sets": []}),
        ({**kept, **REPORT}, {"keep_one.examples": 9}),
        (
            {"ablation_replaced": 1, "keep_one_replaced": 1, "pruning_replaced": curves, **REPORT},
            {"intervention.replacement": ["zero", "resample"]},
        ),
        (scores, {"scores.examples": 19, "scores.batch_examples": 8}),
        (
            {"relevance": 4, "rank_correlation": 1, **REPORT},
            {
                "relevance.examples": 3,
                "relevance.rule": "alpha-beta",
                "relevance.alpha": 1.0,
                "relevance.epsilon": 1e-5,
                "relevance.batch_examples": 2,
            },
        ),
        (
            {**redrawn, "pruning_sites": 1, "pruning_epochs": 4, **LAST},
            {"pruning.step": 0.25, "pruning.test_examples": 10},
        ),
        (
            {**redrawn, **REPORT},
            {
                "pruning.criteria": ["gradient-example", "gradient-token"],
                "pruning.normalisations": ["layer"],
                "pruning.random_draws": 3,
            },
        ),
        ({removal: 1, **REPORT}, {"removal.share": 0.25, "removal.repair": "obs"}),
        (
            {"timing": 1, **REPORT},
            {
                "timing.shares": [0.25],
                "timing.batch_sizes": [1, 2],
                "timing.warmup": 2,
                "timing.repeats": 4,
                "timing.threads": 2,
            },
        ),
        ({"diversity": 4, **LAST}, {"diversity.examples": 10, "diversity.batch_examples": 5}),
        ({"treebank": 1, **pointing}, {"attention_stats.relations": ["nsubj", "obj"]}),
        (
            pointing,
            {
                "attention_stats.frequent_tokens": 20,
                "attention_stats.examples": 19,
                "attention_stats.batch_examples": 5,
            },
        ),
        (
            ruled,
            {
                "roles.positional_share": 0.8,
                "roles.margin": 0.2,
                "roles.margin_unit": "relative",
                "roles.rare_share": 0.6,
            },
        ),
        ({"attention_maps": 1, **REPORT}, {"attention_maps.sentences": 2}),
    ]
    main = {f"{task}.pruning.criteria": ["gradient-token"], f"{task}.pruning.main": "gradient-token"}
    by_main = {**redrawn, removal: 1, "pruning_epochs": 4, **BY_SCORES, **controls, **SCORED}
    return [
        Row(f"{task}.pruning.main", main, by_main),
        *(row for jobs, values in tables for row in rows(jobs, {f"{task}.{key}": one for key, one in values.items()})),
    ]
