"""Do replacements of a removed head rank heads alike? By hand, by scipy, and in simulated effects of known ranks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy
import pytest
from headroom.claims.answer import answer
from headroom.experiments.ablation import section as ablation
from headroom.experiments.ablation.replacements import Pair, pairs
from headroom.study.tables import StudyTables
from scipy.stats import spearmanr
from tables import RUN, Row, curve, effects, study

KINDS = ("mean", "resample")


def ablated(deltas: dict[str, dict[str, Sequence[float]]]) -> dict[str, list[Row]]:
    """Return the tables of effects by replacement and set."""

    def rows(kind: str) -> Iterator[Row]:
        for name, own in deltas[kind].items():
            yield from effects(own, set=name)

    return {"ablation": [row | {"replacement": kind} for kind in deltas for row in rows(kind)]}


def drawn(seed: int, kinds: dict[str, numpy.ndarray], noise: float) -> dict[str, dict[str, Sequence[float]]]:
    """Return true effects with independent noise on two sets."""
    random = numpy.random.default_rng(seed)
    return {
        kind: {name: true + random.normal(0, noise, len(true)) for name in ("choose", "test")}
        for kind, true in kinds.items()
    }


def test_by_hand(tmp_path: Path) -> None:
    same, other = [-4.0, -3.0, -2.0, -1.0, 0.0], [-3.0, -4.0, -2.0, -1.0, 0.0]
    given = {"zero": {"choose": same, "test": same}, "mean": {"choose": other, "test": other}}
    (found,) = pairs(study(tmp_path, **ablated(given)))
    assert (found.run, found.name, found.heads, found.ceiling) == (RUN, "zero, mean", 5, 1.0)
    assert found.correlation.value == pytest.approx(0.9)  # 1 - 6 * (1 + 1) / (5 * 24)


def test_two_sets_of_each(tmp_path: Path) -> None:
    random = numpy.random.default_rng(0)
    given = drawn(0, {kind: random.normal(0, 1, 16) for kind in ("zero", *KINDS)}, 0.5)
    found = {one.name: one for one in pairs(study(tmp_path, **ablated(given)))}
    assert list(found) == ["zero, mean", "zero, resample", "mean, resample"]

    def rho(first: str, second: str) -> float:
        return float(spearmanr(given[first]["choose"], given[second]["test"])[0])

    for name, one in found.items():
        first, second = name.split(", ")
        assert one.correlation.value == pytest.approx(rho(first, second))
        assert one.ceiling == pytest.approx((max(0, rho(first, first)) * max(0, rho(second, second))) ** 0.5)
        assert one.correlation.low <= one.correlation.value <= one.correlation.high


@pytest.mark.parametrize(("share", "alike"), [(1.0, True), (0.0, False)])
def test_noise_alone_reaches_the_ceiling(tmp_path: Path, share: float, alike: bool) -> None:
    """Effects that differ by noise alone correlate at the ceiling, on average; unrelated ones far below it."""
    found: list[Pair] = []
    for seed in range(12):
        true, apart = numpy.random.default_rng(100 + seed).normal(0, 1, (2, 48))
        given = drawn(seed, {"zero": true, "mean": share * true + (1 - share) * apart}, 0.7)
        found += pairs(study(tmp_path / str(seed), **ablated(given)))
    below = numpy.mean([one.ceiling - one.correlation.value for one in found])
    assert (abs(below) < 0.04) if alike else (below > 0.5)
    assert 0.5 < numpy.mean([one.ceiling for one in found]) < 0.8


def replaced_study(directory: Path) -> StudyTables:
    zero, mean = list(curve([100, 90, 0])), [row | {"replacement": "mean"} for row in curve([100, 95, 0])]
    given = drawn(0, {kind: numpy.arange(8.0) for kind in ("zero", "mean")}, 0.1)
    return study(directory, **ablated(given), pruning=[*zero, *mean])


def test_the_numbers_of_the_answer_and_the_report(tmp_path: Path) -> None:
    tables = replaced_study(tmp_path)
    (one,) = pairs(tables)
    (stated,) = [reading for _, reading in answer(tables, []) if reading.part == "zero, mean"]
    assert [number.found.value for number in stated.numbers] == [one.correlation.value, one.ceiling]
    assert stated.numbers[0].found == one.correlation

    fold = next(fold for fold in ablation.section(tables).folds if fold.label == "Other replacements than zero")
    assert fold.figure is not None
    assert fold.figure.frame is not None
    assert fold.figure.frame.groupby("replacement")["kept"].apply(list).to_dict() == {
        "zero": [100.0, 90.0, 0.0],
        "mean": [100.0, 95.0, 0.0],
    }
