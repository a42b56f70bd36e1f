"""The section about learned gates on small tables: its numbers, worked out by hand."""

from pathlib import Path

import pytest
from headroom.experiments.gates import section as gates
from headroom.figures.names import METHOD_NAMES
from headroom.figures.spec import Figure, Section, cells, list_figures
from tables import (
    ENCODER,
    OTHER_RUN,
    RUN,
    Row,
    curve,
    gated,
    pruned,
    role,
    study,
)


def figure(section: Section, name: str) -> Figure:
    return next(one for one in list_figures(section) if one.name == name)


def table(section: Section, name: str) -> list[dict[str, str]]:
    """Return the rows of a table of a section, each by heading."""
    (one,) = [own for fold in section.folds for own in fold.tables if own.name == name]
    headings, _, rows = cells(one)
    return [dict(zip(headings, row, strict=True)) for row in rows]


def test_scores_are_shares_of_the_full_model_beside_the_paper(tmp_path: Path) -> None:
    rows = [pruned(12, -4.0, width=2.0), pruned(48, 1.0, method="continued")]
    tables = study(tmp_path, pruned_models=rows, pruning=[*curve([100.0, 40.0, 0.0], scope="E")])
    frame = figure(gates.section(tables), "gates").frame
    assert frame is not None
    by_method = {name: own.set_index("share") for name, own in frame.groupby("method")}
    learned = by_method["hard-concrete"].loc[25.0]  # 12 of 48 heads, 96 of 100 BLEU
    assert list(learned[["score", "low", "high"]]) == pytest.approx([96.0, 94.0, 98.0])
    assert by_method["continued"]["score"].to_dict() == pytest.approx({100.0: 101.0})
    assert by_method[gates.UNTRAINED]["score"].to_dict() == pytest.approx({100.0: 100.0, 90.0: 40.0, 80.0: 0.0})
    assert by_method["paper, WMT"]["score"][25.0] == pytest.approx(99.493, abs=0.001)  # 29.45 of 29.60 BLEU
    names = {entry.name for entry in figure(gates.section(tables), "gates").key}
    assert {"hard concrete", METHOD_NAMES["continued"], gates.UNTRAINED, gates.PAPER} <= names
    assert METHOD_NAMES["random"] not in names


def test_survivors_are_counted_by_role(tmp_path: Path) -> None:
    rows = [*gated(ENCODER[:4]), *gated(ENCODER[3:5], setting=0.2)]
    roles = [role(name, target) for name, target in zip(ENCODER, ("-1", "+1", "obj:to-governor", "rarest"))]
    section = gates.section(study(tmp_path, gates=rows, roles=roles))
    first, second = table(section, "survivors")
    assert {name: first[name] for name in ("positional", "syntactic", "rare", "unknown", "with a role", "p")} == {
        "positional": "2", "syntactic": "1", "rare": "1", "unknown": "0", "with a role": "4", "p": "0.01",
    }  # fmt: skip
    assert (second["with a role"], second["by chance"], second["unknown"]) == ("1", "1", "1")
    frame = figure(section, "survivors").frame
    assert frame is not None
    found = frame[frame["hue"] == "hard-concrete"]
    assert list(found[["share", "survive"]].iloc[1]) == [25.0, 25.0]  # 2 of 8 heads, 1 of 4 with a role
    theirs = frame[frame["hue"] == "paper, OpenSubtitles"].set_index("share")["survive"]
    assert theirs[100 * 17 / 48] == pytest.approx(100 * 11 / 14)
    assert section.figure is None
    assert [fold.label for fold in gates.section(study(tmp_path / "2", gates=rows)).folds] == ["Method and controls"]


def test_comparisons_that_all_trainings_have_are_put_together(tmp_path: Path) -> None:
    def run(name: str, gain: float, *levels: int) -> list[Row]:
        rows = [pruned(12, -6.0), pruned(48, 0.0, method="continued")]  # learned gates lose a point per six heads
        rows += [pruned(kept, (kept - 48) / 6 + gain * kept / 12, method="gradient") for kept in levels]
        return [row | {"run": name, "low": row["value"], "high": row["value"]} for row in rows]

    tables = study(tmp_path, pruned_models=[*run(RUN, 2.0, 12, 24, 36), *run(OTHER_RUN, 4.0, 12, 24)])
    joint = table(gates.section(tables), "equal-heads")[-1]
    assert (joint["scope"], joint["trainings"]) == ("all 2 comparisons", "2")
    # means of 2 and 4, and of 4 and 8: 3 and 6, 1.5 on both sides of 4.5
    assert joint["less learned gates (points) [95 % interval]"] == "4.5 [\N{MINUS SIGN}14.6, 23.6]"
