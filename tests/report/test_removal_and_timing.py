"""The sections about real removal and about time on small tables, worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
from claims.claim_tables import CLASSIFIER, Row, study
from headroom.experiments.removal import section as removal
from headroom.experiments.timing import section as timing
from headroom.figures.spec import cells


def checks(**values: float) -> list[Row]:
    return [{"heads_removed": 4, "removed": "E1:1", "check": check, "value": value} for check, value in values.items()]


def timed(batch: int, model: str, speedup: float, share: float = 0.5, **more: Any) -> Row:
    bounds = {"speedup": speedup, "speedup_low": speedup - 0.1, "speedup_high": speedup + 0.1}
    usual = {"part": "generation", "batch_size": batch, "model": model, "share_removed": share, "repeats": 9}
    usual |= {"median_seconds": 0.02, "quartile_low": 0.019, "quartile_high": 0.021, "threads": 1, "device": "cpu"}
    return usual | bounds | {"expected_speedup": 1.3, "heads_removed": 4} | more


def test_parameters_of_a_head_and_of_attention_stand_beside_the_papers(tmp_path: Path) -> None:
    site = {"kind": "E", "heads": 8, "head_parameters": 125, "attention_parameters": 1000, "model_parameters": 10_000}
    sites = [site | {"layer": layer} for layer in (1, 2, 3)]
    sliced = checks(identical_outputs=1, parameters_full=10_000, parameters_sliced=9_500)
    section = removal.section(study(tmp_path, parameters=sites, removal=sliced))
    _, _, rows = cells(section.folds[1].tables[0])
    assert rows[1] == ["translation", "E2", "8", "125", "1,000", "12.50\u202f%", "10.0\u202f%"]
    assert section.figure is not None
    assert section.figure.frame is not None
    assert section.figure.frame[["share", "source", "value"]].to_numpy().tolist() == [
        ["attention / model", "here", pytest.approx(30)],
        ["attention / model", "paper", pytest.approx(100 / 3)],
        ["4 heads / model", "here", pytest.approx(5)],
        ["a head / site (E)", "here", pytest.approx(12.5)],
        ["a head / site (E)", "paper", 6.25],
    ]


def test_models_of_transformers_come_with_the_lines_that_load_them(tmp_path: Path) -> None:
    """Not those of fairseq; and every class has its tasks."""
    rows = checks(identical_outputs=1, parameters_full=10_000, parameters_sliced=9_500)
    loads = 'transformers.AutoModelForSequenceClassification.from_pretrained("sliced/...")'
    assert loads not in removal.section(study(tmp_path / "fairseq", removal=rows)).folds[0].text
    both = rows + [{**row, "run": CLASSIFIER} for row in rows]
    assert (
        f"<code>model = {loads}</code> loads SST-2"
        in removal.section(study(tmp_path / "both", removal=both)).folds[0].text
    )


def test_the_gain_with_half_removed_stands_beside_the_papers(tmp_path: Path) -> None:
    rows = [timed(size, "sliced", gain) for size, gain in ((4, 1.1), (2, 1.0))]
    rows += [timed(4, "masked", 0.9), timed(4, "sliced", 2.0, share=0.75), timed(4, "full", 1.0, share=0.0)]
    rows += [timed(4, "sliced", 1.5, part="encoder"), timed(1, "sliced", 1.2, run=CLASSIFIER, part="model")]
    section = timing.section(study(tmp_path, timing=rows))
    assert section.figure is not None
    assert [panel.label for panel in section.figure.panels] == ["Translation: generation", "SST-2: the whole model"]
    frame = section.figure.frame
    assert frame is not None
    translation, classifier = (frame[frame["task"] == task] for task in ("translation", "sst2"))
    assert translation[["batch", "source", "value"]].to_numpy().tolist() == [
        ["batch of 2", "sliced", 1.0],
        ["batch of 4", "sliced", 1.1],
        ["batch of 4", "masked", 0.9],
        ["batch of 2", "expected of sliced", 1.3],
        ["batch of 4", "expected of sliced", 1.3],
    ]
    assert classifier[classifier["source"] == "paper"]["value"].tolist() == [1.019]  # it timed BERT alone
