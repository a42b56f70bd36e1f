"""What the report shows of criteria: scores, how far criteria agree, and effects on text of two domains."""

from pathlib import Path
from typing import Any

from claims.claim_tables import OTHER_RUN, RUN, Row, at, effects, study
from headroom.core.heads import Head
from headroom.experiments.agreement import section as agreement
from headroom.experiments.rank_correlation import section as rank_correlation
from headroom.experiments.scores import section as scores
from headroom.figures.spec import cells


def scored(criterion: str, *values: float, **more: Any) -> list[Row]:
    usual = {"criterion": criterion, "normalised": "raw", "signature": "set:choose|examples:500"}
    return [usual | at(f"E1:{head}") | {"value": value} | more for head, value in enumerate(values, start=1)]


def test_marks_fill_the_cell_of_the_highest_score(tmp_path: Path) -> None:
    marks = scores.build_marks(study(tmp_path, scores=scored("gradient-token", 1.0, 4.0)).scores)
    assert [marks[Head("E", 1, head)].amount for head in (1, 2)] == [0.25, 1.0]


def test_criteria_are_a_triangle(tmp_path: Path) -> None:
    pairs = {
        ("relevance", "confidence", "all"): 0.5,
        ("gates", "relevance", "all"): -0.1,
        ("gates", "relevance", "E1"): 0.2,
    }
    rows = [
        {"statistic": "spearman", "heads": 72, "scope": scope, "first": first, "second": second, "value": value}
        for (first, second, scope), value in pairs.items()
    ]
    table = rank_correlation.section(study(tmp_path, rank_correlation=rows)).folds[0].tables[0]
    matrix = rank_correlation.triangle(table.frame.assign(value=table.frame["spearman"]))
    assert list(matrix.index) == ["confidence 1", "relevance 2", "gates 3"]
    assert (matrix.loc["relevance 2", "1"], matrix.loc["gates 3", "2"]) == (0.5, -0.1)
    assert matrix.isna().sum().sum() == 4


def agreed(statistic: str, value: float, **more: Any) -> Row:
    usual = {"kind": "all", "set_a": "test", "set_b": "far", "statistic": statistic, "dropped": 0, "value": value}
    return usual | {"low": value - 0.1, "high": value + 0.1} | more


ROWS = [
    agreed("pearson", 0.5),
    agreed("pearson", 0.4, dropped=5),
    agreed("spearman", 0.3),
    agreed("overlap", 0.8, k=5, chance=0.1, low="", high=""),
    agreed("pearson", 0.2, kind="E"),
    agreed("pearson", 0.9, set_a="choose", set_b="test"),
    agreed("pearson", 0.7, metric="chrf"),
]


def test_agreement_stands_beside_the_paper(tmp_path: Path) -> None:
    section = agreement.section(study(tmp_path, agreement=ROWS))
    assert section.figure is None  # single heads were not removed
    table = section.folds[0].tables[0]
    found = [(row[3], row[-3], row[-1]) for row in cells(table)[2]]
    assert found == [
        ("pearson", "0.50 [0.40, 0.60]", "0.56 [0.39, 0.68]"),
        ("pearson", "0.40 [0.30, 0.50]", "0.38"),
        ("spearman", "0.30 [0.20, 0.40]", "0.34 [0.23, 0.45]"),
        ("overlap", "0.80", "0.60"),  # 3 of 5 heads
        ("pearson", "0.20 [0.10, 0.30]", "–"),  # encoder heads only
        ("pearson", "0.90 [0.80, 1.00]", "–"),  # not of two domains
    ]
    assert section.folds[0].figure is not None
    frame = section.folds[0].figure.frame
    assert frame is not None
    paper = frame[frame["statistic"] == "paper"]
    assert dict(zip(paper["dropped"], paper["value"])) == {0: 0.56, 1: 0.5, 2: 0.48, 5: 0.38, 10: 0.36}


def test_effects_on_two_sets_are_matched_by_head(tmp_path: Path) -> None:
    removed = [
        *effects([-2.0, 1.0, 0.0]),
        *effects([-4.0, 3.0], set="far", full=50.0),
        *effects([9.0], run=OTHER_RUN),
    ]
    section = agreement.section(study(tmp_path, agreement=ROWS, ablation=removed))
    assert section.figure is not None
    assert section.figure.frame is not None
    assert section.figure.frame[["head", "first", "second"]].to_numpy().tolist() == [[1, -2.0, -8.0], [2, 1.0, 6.0]]
    assert set(section.figure.frame["run"]) == {RUN}
    assert 'data-head="E1:2"' in section.figure.panels[0].drawing
