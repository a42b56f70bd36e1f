"""The bound of the memory of every job, from the configuration and from what is on the disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from headroom.core.memory import PROGRAM
from headroom.experiments.listed import list_experiments
from headroom.preparation.rules import RULES as PREPARATION
from headroom.report.rules import RULES as DECISIONS
from headroom.settings.load import load_study
from headroom.study.jobs import forms_of
from headroom.study.plan import Plan
from study import TINY

BASE = round(PROGRAM / 1e6)


def bounds(study: Mapping[str, Any], results: Path = Path("nowhere")) -> dict[str, int]:
    """Return the largest bound of the jobs of every rule of a study, whose results are in a directory, in MB."""
    plan = Plan(load_study(dict(study)))
    rules = [*PREPARATION, *(rule for one in list_experiments() for rule in one.rules), *DECISIONS]
    found: dict[str, int] = {}
    for form in forms_of(plan, rules):
        for key in form.calls:
            read = form.inputs(plan, dict(key)).items()
            inputs = {flag: [file.replace("<results>", str(results)) for file in files] for flag, files in read}
            found[form.name] = max(found.get(form.name, 0), form.megabytes(plan, dict(key), inputs))
    return found


@pytest.fixture
def tiny() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(Path(TINY).read_text(encoding="utf-8"))
    return read


def test_every_job_has_a_bound_before_anything_is_there(tiny: dict[str, Any]) -> None:
    found = bounds(tiny)
    assert min(found.values()) == found["rankings"] == BASE
    assert max(found.values()) < 10 * BASE


def test_larger_models_and_batches_need_more(tiny: dict[str, Any]) -> None:
    before = bounds(tiny)
    tiny["translation"]["model"] |= {"width": 512, "feed_forward": 2048}
    wide = bounds(tiny)
    changed = {rule for rule in before if wide[rule] > before[rule]}
    assert {"training_translation", "ablation", "removal_translation", "gates", "update_cost"} <= changed
    assert not changed & {"treebank", "rankings", "claims", "training_classification"}
    tiny["translation"]["training"]["max_tokens"] *= 8
    longer = bounds(tiny)
    assert {rule for rule in wide if longer[rule] > wide[rule]} == {
        *("training_translation", "training_from_scratch", "update_cost")
    }


def test_text_that_is_there_says_how_long_its_examples_are(tiny: dict[str, Any], tmp_path: Path) -> None:
    corpus = tmp_path / "tiny/entailment/corpus"
    corpus.mkdir(parents=True)

    def evaluate(line: str) -> int:
        for name in ("check", "test", "far"):
            (corpus / f"{name}.tsv").write_text(f"{line}\n" * 20)
        return bounds({"study": "tiny", "classification": tiny["classification"]}, tmp_path)["evaluation"]

    short, long = (evaluate("word " * number) for number in (2, 50))
    assert short < long


def test_a_released_model_is_measured_when_the_study_is_planned(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (tmp_path / "text.txt").write_text("One line.\n" * 20)
    task = {"task": "language", "released": {"path": str(model)}, "windows": {"length": 64, "per_set": 20}}
    task["corpus"] = {"source": "files", "path": str(tmp_path / "text.txt")}
    found = []
    for size in (10**8, 10**9):
        with open(model / "pytorch_model.bin", "wb") as stream:
            stream.truncate(size)
        found.append(bounds({"study": "mine", "seeds": [1], "tasks": {"mine": task}}, tmp_path))
    first, second = found
    assert second["evaluation"] - first["evaluation"] > 900
    assert second["released_language"] - first["released_language"] > 1300
    assert second["text_language"] == first["text_language"]
