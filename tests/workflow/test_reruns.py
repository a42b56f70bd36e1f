import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from whole_project import Project, planned

# What follows a training, for all four runs and for the svgd runs alone.
PER_RUN = {"score": 4, "evaluate": 4, "diversify": 4, "dynamics": 4, "settle": 4}
DETAILED = {"ablate": 1, "keep": 1, "agree": 1, "curves": 2, "remove": 1, "speed": 1}
LAST = {"compare": 1, "report": 1}
TRAINING = {"train": 4, **PER_RUN, **DETAILED, **LAST}
NEW_RUNS = {"train": 2, "score": 2, "evaluate": 2, "diversify": 2, "dynamics": 2, "settle": 2, **LAST}
SCORES = {"score": 4, "settle": 4, "dynamics": 4, "curves": 2, "remove": 1, "speed": 1, **LAST}
EVERYTHING = {"generate": 1, "prepare": 1, "cost": 1, **TRAINING}

ALPHA = {"baseline": {"method": "baseline"}, "svgd": {"method": "svgd", "alpha": 0.02}}

# The report says with which configuration the study was made, so that every change of a value reaches it.
VALUES: list[tuple[str, Any, dict[str, int]]] = [
    ("arms", ALPHA, {"cost": 1, **NEW_RUNS}),
    ("seeds", [1, 2, 3], NEW_RUNS),
    ("corpus.seed", 2, EVERYTHING),
    ("vocabulary.size", 210, {"prepare": 1, "cost": 1, **TRAINING}),
    ("training.learning_rate", 0.004, {"cost": 1, **TRAINING}),
    ("training.epochs", 3, TRAINING),
    ("device", "cpu", {"cost": 1, **TRAINING}),
    ("evaluation.beam", 4, {"evaluate": 4, **LAST}),
    ("scores.sentences", 19, SCORES),
    ("pruning.random_draws", 3, {"curves": 2, "report": 1}),
    ("pruning.scopes", ["all", "A", "D"], {"curves": 1, "report": 1}),
    ("removal.share", 0.25, {"remove": 1, "report": 1}),
    ("timing.repeats", 4, {"speed": 1, "report": 1}),
    ("diversity.sentences", 10, {"diversify": 4, **LAST}),
    ("cost.repeats", 20, {"cost": 1, "report": 1}),
]

FILES: list[tuple[str, dict[str, int]]] = [
    ("workflow/headroom/report/figures/curves.py", {"report": 1}),
    ("workflow/headroom/report/claims/pruning.py", {"report": 1}),
    ("workflow/report/page.css", {"report": 1}),
    ("workflow/headroom/settings/timing.py", {"speed": 1, "report": 1}),
    ("workflow/headroom/ground/ranks.py", {"agree": 1, "settle": 4, "report": 1}),
    (
        "workflow/headroom/ground/bootstrap.py",
        {"evaluate": 4, "dynamics": 4, "settle": 4, "ablate": 1, "keep": 1, "agree": 1, "curves": 2, **LAST},
    ),
    ("workflow/headroom/prune.py", {"curves": 2, "dynamics": 4, **LAST}),
    ("workflow/headroom/methods/importance.py", SCORES),
    ("workflow/headroom/methods/repulsion.py", {"cost": 1, **TRAINING}),
    ("workflow/headroom/data/grammar/source.py", EVERYTHING),
    ("workflow/headroom/study.py", {}),
    ("workflow/headroom/data/catalogue.yaml", {}),
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
