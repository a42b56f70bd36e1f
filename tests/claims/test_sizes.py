"""Numbers of claims against the size of models: every training once, slopes per doubling, published values beside."""

import json
from pathlib import Path

import pytest
from headroom.claims.sizes import SizeSlope, size_slopes
from headroom.claims.table import CLAIMS, NUMBERS
from headroom.report.compare import main
from headroom.report.comparison import read_finished
from lxml import html

KEPT = {"small": (36, 1.0, 0.50, 0.52), "middle": (72, 1.0, 0.61, 0.59), "large": (144, 1.0, 0.70, 0.72)}
QUARTERS = {"quarter": (72, 0.25, 0.40, 0.42), "half": (72, 0.5, 0.50, 0.52)}
"""By task its heads, the share of its training text, and the removable share in each of two trainings."""


def write_study(
    place: Path, study: str, tasks: dict[str, tuple[int, float, float, float]], text: str = "a", dropout: float = 0.1
) -> Path:
    """Write the answers of a study with the claim M7, as the stages `claims` and `configuration` write them."""
    claims, numbers = [], []
    for task, (heads, _, *values) in tasks.items():
        numbers.append(_number(study, "answer", task, "pooled", "heads", float(heads), "count"))
        for metric, score in (("bleu", heads / 4), ("loss", 2.0)):
            quality = _number(study, "answer", task, "pooled", "quality", score, "number")
            numbers.append(quality | {"part": metric})
        for seed, value in enumerate(values, start=1):
            run = f"{task}.baseline.seed{seed}"
            barred = value > 0.9 or heads < 48
            barrier = "at least 48 heads: it has 36" if heads < 48 else "something else: it lacks it" if barred else ""
            claims.append(
                dict.fromkeys(CLAIMS.names, "")
                | {"study": study, "claim": "M7", "task": task, "run": run, "value": value, "unit": "share"}
                | {"low": value - 0.1, "high": value + 0.1, "trainings": f"{text}{dropout}{task}{seed}", "seeds": 1}
                | {"verdict": "not comparable here" if barred else "undecided at this scale", "barrier": barrier}
                | {"ground": "real text"}
            )
            numbers.append(_number(study, "M7", task, run, "removable", value, "share", "{} of heads removable"))
    described = {
        task: {
            "task": "translation",
            "corpus": {"source": "catalogue", "dataset": text, "train_share": share},
            "model": {"heads": heads, "dropout": dropout},
        }
        for task, (heads, share, *_) in tasks.items()
    }
    place.mkdir()
    (place / "configuration.json").write_text(json.dumps({"study": study, "tasks": described}), encoding="utf-8")
    CLAIMS.write(place / CLAIMS.path, claims)
    NUMBERS.write(place / NUMBERS.path, numbers)
    return place


def _number(study: str, what: str, task: str, run: str, name: str, value: float, unit: str, words: str = "") -> dict:
    named = {"study": study, "what": what, "task": task, "run": run, "name": name, "unit": unit, "words": words}
    return dict.fromkeys(NUMBERS.names, "") | named | {"value": value, "low": value, "high": value, "signed": 0}


def slopes(*places: Path) -> list[SizeSlope]:
    return size_slopes([row for place in places for row in read_finished(place, place).sizes])


def test_slopes_are_per_doubling_over_trainings(tmp_path: Path) -> None:
    found = slopes(write_study(tmp_path / "one", "one", KEPT | QUARTERS))
    assert [(one.number, one.size, len(one.rows)) for one in found] == [
        ("removable", "heads", 6),
        ("removable", "share", 6),
    ]
    assert [one.slope.found.value for one in found] == pytest.approx([0.1, 0.095])


def test_a_training_counts_once_and_only_beside_those_that_differ_in_size_alone(tmp_path: Path) -> None:
    one = write_study(tmp_path / "one", "one", KEPT)
    again = write_study(tmp_path / "again", "again", KEPT)
    other = write_study(tmp_path / "other", "other", {"middle": (72, 1.0, 0.1, 0.1)}, text="b")
    dropped = write_study(tmp_path / "dropped", "dropped", {"middle": (72, 1.0, 0.3, 0.3)}, dropout=0.3)
    assert [len(found.rows) for found in slopes(one, again, other, dropped)] == [6]


def test_the_page_has_every_training_and_the_papers_values(tmp_path: Path) -> None:
    main([str(write_study(tmp_path / "one", "one", KEPT)), "--output", str(tmp_path / "page.html")])
    tree = html.parse(tmp_path / "page.html")
    (figure,) = tree.xpath("//figure[@id='size-M7-removable-heads-1']")
    ticks = [text for text in figure.xpath(".//*[local-name()='text']/text()") if text.isdigit() and int(text) > 30]
    assert {"36", "72", "144", "288"} <= set(ticks)
    assert "% of heads removable. Per doubling: +10 [7, 13] %, 6 trainings." in " ".join(figure.text_content().split())
    key = [one.text_content().strip() for one in tree.xpath("//ul[@class='key']/li")]
    assert key[:3] == ["one, small (9.0 BLEU)", "one, middle (18.0 BLEU)", "one, large (36.0 BLEU)"]
    assert key[3] == "the paper"
