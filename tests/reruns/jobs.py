"""Jobs of the tiny study by what they follow from, and rows of the tables of reruns."""

from collections.abc import Mapping
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


REPORT = {"configuration": 1, "report": 1}
"""The report says with which configuration a study was made: a changed value reaches it even if nothing else reruns."""

LAST = {"compare": 1, **REPORT}
SCORED = {"overlap": 1, **LAST}


def total(*parts: Jobs) -> Jobs:
    """Return the jobs of several parts together; those for the whole study run once."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0) for part in parts) for name in names} | {
        name: 1 for name in SCORED if name in names
    }


def without_configuration(jobs: Jobs) -> Jobs:
    """Return jobs without that which writes the configuration down: not every change is in there."""
    return {name: count for name, count in jobs.items() if name != "configuration"}


# What follows a training of all four runs of translation, or of all four of classification.
FOLLOWING = ("score", "evaluate", "dynamics", "settle", "diversify", "observe", "label", "attribute")
EVERY_RUN = dict.fromkeys(FOLLOWING, 4)
DETAILED = {"ablate": 1, "keep": 1, "agree": 1, "count": 1, "site_curves": 1, "speed": 1, "trace": 1, "correlate": 1}
DETAILED |= {"gate_controls": 1}

# What follows new gates of translation, on the encoder and on all heads; and of classification.
SURVIVORS = {"observe_pruned": 1, "label_pruned": 1}
BY_GATES = {"training_from_scratch": 1, "from_scratch": 1, **SURVIVORS, "correlate": 1}
GATES = {"gate_translation_hard_concrete_E": 1, "gate_translation_hard_concrete_all": 1, **BY_GATES}
GATES_LABELLED = {"gate_entailment_exact_all": 1, "correlate": 1}
CONTROLS = {"gate_controls": 1, **REPORT}

OF_TRANSLATION = {**EVERY_RUN, **DETAILED, **GATES, "curves": 2, "remove": 1, **SCORED}
OF_CLASSIFICATION = {**EVERY_RUN, **DETAILED, **GATES_LABELLED, "curves": 1, "remove_labelled": 1, **SCORED}
TRAINING = {"training_translation": 4, **OF_TRANSLATION}
MODEL = {"update_cost": 1, **TRAINING}
CORPUS = {"prepare": 1, **MODEL}
FINE_TUNING = {"training_classification": 4, **OF_CLASSIFICATION}
ENCODER = {"encoder": 1, **FINE_TUNING}
NEW_ARM = {"training_translation": 2, **dict.fromkeys(FOLLOWING, 2), **SCORED}
NEW_ARM_LABELLED = {"training_classification": 2, **dict.fromkeys(FOLLOWING, 2), **SCORED}
EVERY_SET = {"generate": 1, "treebank_translation": 1, **CORPUS}
EVERY_PAIR = {"label_entailment": 1, "treebank_entailment": 1, **ENCODER}

BY_SCORES = {"gate_controls": 1, "correlate": 1, "site_curves": 1, "speed": 1}
SCORES = {"score": 4, "settle": 4, "dynamics": 4, "curves": 2, "remove": 1, **BY_SCORES, **SCORED}
SCORES_LABELLED = {"score": 4, "settle": 4, "dynamics": 4, "curves": 1, "remove_labelled": 1, **BY_SCORES, **SCORED}
JUDGING = {"ablate": 1, "keep": 1, "site_curves": 1, "agree": 1, "gate_controls": 1}
SAMPLED = {"evaluate": 4, "curves": 2, "dynamics": 4, **JUDGING, **GATES, **LAST}
SAMPLED_LABELLED = {"evaluate": 4, "curves": 1, "dynamics": 4, **JUDGING, **GATES_LABELLED, **LAST}
JUDGED = {"remove": 1, **SAMPLED}
JUDGED_LABELLED = {"remove_labelled": 1, **SAMPLED_LABELLED}
RULES = {"label": 4, "trace": 1, **REPORT}
POINTING = {"observe": 4, "correlate": 1, **RULES}
NEW_DETAILED = {**DETAILED, "dynamics": 1, **LAST}
