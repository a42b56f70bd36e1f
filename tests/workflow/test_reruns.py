import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from whole_project import Project, planned

Jobs = dict[str, int]

LAST = {"compare": 1, "report": 1}
SCORED = {"overlap": 1, **LAST}
REPORT = {"report": 1}

# What follows a training of all four runs of translation, or of all four of classification.
TRANSLATED = {"score": 4, "evaluate": 4, "dynamics": 4, "settle": 4, "diversify": 4, "observe": 4, "label": 4}
TRANSLATED |= {"attribute": 4}
LABELLED = dict(TRANSLATED)
DETAILED = {"ablate": 1, "keep": 1, "agree": 1, "count": 1, "site_curves": 1, "speed": 1, "trace": 1, "correlate": 1}
DETAILED |= {"gate_controls": 1}

# What follows new gates of translation: on the encoder and on all heads; and of classification.
SURVIVORS = {"observe_pruned": 1, "label_pruned": 1}
BY_GATES = {"train_layout": 1, "contrast": 1, **SURVIVORS, "correlate": 1}
GATES = {"gate_translation_hard_concrete_E": 1, "gate_translation_hard_concrete_all": 1, **BY_GATES}
GATES_LABELLED = {"gate_entailment_exact_all": 1, "correlate": 1}


def total(*parts: Jobs) -> Jobs:
    """Return the jobs of several parts together; those for the whole study run once."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0) for part in parts) for name in names} | (
        {name: 1 for name in SCORED if name in names}
    )


OF_TRANSLATION = {**TRANSLATED, **DETAILED, **GATES, "curves": 2, "remove": 1, **SCORED}
OF_CLASSIFICATION = {**LABELLED, **DETAILED, **GATES_LABELLED, "curves": 1, "remove_labelled": 1, **SCORED}
TRAINING = {"train": 4, **OF_TRANSLATION}
FINE_TUNING = {"fine_tune_entailment": 4, **OF_CLASSIFICATION}
ENCODER = {"prepare_encoder_entailment": 1, **FINE_TUNING}
NEW_ARM = {"train": 2, **dict.fromkeys(TRANSLATED, 2), **SCORED}
NEW_ARM_LABELLED = {"fine_tune_entailment": 2, **dict.fromkeys(LABELLED, 2), **SCORED}
NEW_SEED = total(NEW_ARM, NEW_ARM_LABELLED)
BY_SCORES = {"gate_controls": 1, "correlate": 1, "site_curves": 1, "speed": 1}
SCORES = {"score": 4, "settle": 4, "dynamics": 4, "curves": 2, "remove": 1, **BY_SCORES, **SCORED}
SCORES_LABELLED = {"score": 4, "settle": 4, "dynamics": 4, "curves": 1, "remove_labelled": 1, **BY_SCORES, **SCORED}
JUDGING = {"ablate": 1, "keep": 1, "site_curves": 1, "agree": 1, "gate_controls": 1}
JUDGED = {"evaluate": 4, "curves": 2, "dynamics": 4, **JUDGING, **GATES, **LAST}
JUDGED_LABELLED = {"evaluate": 4, "curves": 1, "dynamics": 4, **JUDGING, **GATES_LABELLED, **LAST}
EXAMPLES = {"ablate": 1, "keep": 1, "curves": 1, "agree": 1, "correlate": 1, **REPORT}
RESAMPLED = {"remove": 1, "remove_labelled": 1, "observe": 8, "label": 8, "trace": 2}
EVERY_SET = {"generate": 1, "treebank_translation": 1, "prepare": 1, "cost": 1, **TRAINING}
EVERY_PAIR = {"label_entailment": 1, "treebank_entailment": 1, **ENCODER}

DROPPING = {"baseline": {"method": "baseline"}, "dropping": {"method": "drophead", "rate": 0.4}}
ALPHA = {"baseline": {"method": "baseline"}, "svgd": {"method": "svgd", "alpha": 0.02}}

# The report says with which configuration the study was made, so that every change of a value reaches it.
VALUES: list[tuple[str, Any, Jobs]] = [
    ("translation.arms", ALPHA, {"cost": 1, **NEW_ARM}),
    ("classification.entailment.arms", DROPPING, NEW_ARM_LABELLED),
    ("seeds", [1, 2, 3], NEW_SEED),
    ("device", "cpu", total({"cost": 1, **TRAINING}, FINE_TUNING)),
    ("sampling.resamples", 101, total(JUDGED, JUDGED_LABELLED, RESAMPLED)),
    ("translation.corpus.seed", 2, EVERY_SET),
    ("translation.vocabulary.size", 210, {"prepare": 1, "cost": 1, **TRAINING}),
    ("translation.training.learning_rate", 0.004, {"cost": 1, **TRAINING}),
    ("translation.training.epochs", 3, TRAINING),
    ("translation.evaluation.beam", 4, {"evaluate": 4, **LAST}),
    ("translation.scores.examples", 19, {**SCORES, "dynamics": 4}),
    ("translation.pruning.random_draws", 3, {"curves": 2, **REPORT}),
    ("translation.pruning.scopes", ["all", "A", "D"], {"curves": 1, **REPORT}),
    ("translation.removal.share", 0.25, {"remove": 1, **REPORT}),
    ("translation.timing.repeats", 4, {"speed": 1, **REPORT}),
    ("translation.diversity.examples", 10, {"diversify": 4, **LAST}),
    ("translation.cost.repeats", 20, {"cost": 1, **REPORT}),
    ("translation.relevance.examples", 3, {"attribute": 4, "correlate": 1, **REPORT}),
    ("translation.roles.margin", 0.2, {"label": 4, "label_pruned": 1, "trace": 1, **REPORT}),
    (
        "translation.roles.frequent_tokens",
        20,
        {"observe": 4, "label": 4, "trace": 1, "correlate": 1, **SURVIVORS, **REPORT},
    ),
    ("translation.roles.traced_sentences", 2, {"trace": 1, **REPORT}),
    ("translation.gates.updates", 4, {**GATES, "gate_controls": 1, **REPORT}),
    ("translation.gates.from_scratch", [], REPORT),
    ("classification.entailment.corpus.seed", 2, EVERY_PAIR),
    ("classification.entailment.encoder.layers", 3, ENCODER),
    ("classification.entailment.training.learning_rate", 0.002, FINE_TUNING),
    ("classification.entailment.scores.examples", 19, SCORES_LABELLED),
    ("classification.entailment.diversity.examples", 10, {"diversify": 4, **LAST}),
    ("classification.entailment.labelling.examples_at_once", 8, {**JUDGED_LABELLED, "remove_labelled": 1}),
    ("classification.entailment.pruning.random_draws", 3, {"curves": 1, **REPORT}),
    ("classification.entailment.experiments.examples", 9, EXAMPLES),
    ("classification.entailment.removal.share", 0.25, {"remove_labelled": 1, **REPORT}),
    (
        "classification.entailment.treebank",
        {"source": "generated", "sentences": 900},
        {"treebank_entailment": 1, "observe": 4, "label": 4, "trace": 1, "correlate": 1, **REPORT},
    ),
    ("classification.entailment.gates.learning_rate", 0.01, {**GATES_LABELLED, "gate_controls": 1, **REPORT}),
    ("classification.entailment.timing.repeats", 4, {"speed": 1, **REPORT}),
]

PRUNING = {"curves": 3, "site_curves": 2, "dynamics": 8}

FILES: list[tuple[str, Jobs]] = [
    ("workflow/headroom/report/figures/curves.py", REPORT),
    ("workflow/headroom/report/claims/pruning.py", REPORT),
    ("workflow/report/page.css", REPORT),
    ("workflow/headroom/settings/timing.py", {"speed": 2, **REPORT}),
    ("workflow/headroom/ground/ranks.py", {"agree": 2, "settle": 8, "correlate": 2, "overlap": 1, **REPORT}),
    ("workflow/headroom/methods/roles.py", {"label": 8, "label_pruned": 1, "trace": 2, **REPORT}),
    ("workflow/headroom/methods/relevance.py", {"attribute": 8, "correlate": 2, **REPORT}),
    ("workflow/headroom/methods/hard_concrete.py", total(GATES, GATES_LABELLED, {"gate_controls": 2}, REPORT)),
    (
        "workflow/headroom/methods/role_tables.py",
        {"observe": 8, "label": 8, "trace": 2, "correlate": 2, **SURVIVORS, **REPORT},
    ),
    ("workflow/headroom/contrast.py", {"contrast": 1, **REPORT}),
    (
        "workflow/headroom/methods/syntax.py",
        {"observe": 8, "label": 8, "trace": 2, "correlate": 2, **SURVIVORS, **REPORT},
    ),
    ("workflow/headroom/prune.py", {**PRUNING, **LAST}),
    ("workflow/headroom/count.py", {"count": 2, **REPORT}),
    ("workflow/headroom/methods/importance.py", total(SCORES, SCORES_LABELLED)),
    ("workflow/headroom/methods/repulsion.py", total({"cost": 1}, TRAINING, FINE_TUNING)),
    ("workflow/headroom/methods/repulsive_adam.py", {"cost": 1, **TRAINING}),
    ("workflow/headroom/methods/concentration.py", LAST),
    ("workflow/headroom/methods/diversity.py", {"diversify": 8, **LAST}),
    ("workflow/headroom/models/translation/training.py", {"cost": 1, **TRAINING}),
    ("workflow/headroom/models/classification/training.py", FINE_TUNING),
    ("workflow/headroom/ground/classification_metrics.py", {**JUDGED_LABELLED, "remove_labelled": 1}),
    ("workflow/headroom/ground/translation_metrics.py", {**JUDGED, "remove": 1}),
    ("workflow/headroom/methods/workload.py", {"speed": 1, **REPORT}),
    ("workflow/headroom/data/grammar/source.py", total(EVERY_SET, EVERY_PAIR)),
    ("workflow/headroom/study.py", {}),
    ("workflow/headroom/data/catalogue.yaml", {}),
    ("workflow/headroom/data/labelled_catalogue.yaml", {}),
    ("workflow/headroom/data/treebank_catalogue.yaml", {}),
    ("workflow/report/curves.rst", {}),
    ("docs/report.md", {}),
]


@pytest.mark.parametrize(("key", "value", "jobs"), VALUES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_changed_value_reruns_what_depends_on_it(study: Project, key: str, value: Any, jobs: dict[str, int]) -> None:
    changed = study.configure({key: value})
    assert planned(study.snakemake("-n", study=changed)) == {"configuration": 1, **jobs}


@pytest.mark.parametrize(("path", "jobs"), FILES, ids=lambda value: value if isinstance(value, str) else "")
def test_an_edited_file_reruns_what_depends_on_it(study: Project, path: str, jobs: dict[str, int]) -> None:
    with edited(study, path):
        assert planned(study.snakemake("-n")) == jobs


def test_touching_every_file_reruns_nothing(study: Project) -> None:
    for path in study.root.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    assert planned(study.snakemake("-n")) == {}


@contextmanager
def edited(project: Project, path: str) -> Iterator[None]:
    """Add a line to a file and take it away again."""
    file = project.root / path
    content = file.read_bytes()
    file.write_bytes(content + b"\n# edited\n")
    try:
        yield
    finally:
        file.write_bytes(content)
