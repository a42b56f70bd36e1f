"""The section about learned gates on small tables: its numbers, worked out by hand."""

import math
from pathlib import Path

import pytest
from claims.claim_tables import (
    ENCODER,
    OTHER_RUN,
    RUN,
    Row,
    classified,
    curve,
    gated,
    pruned,
    role,
    study,
)
from claims.test_gate_claims import kinds, swept
from headroom.experiments.gates import section as gates
from headroom.experiments.gates.equal_heads import compare_at_equal_heads
from headroom.figures.names import METHOD_NAMES
from headroom.figures.spec import Figure, Section, cells, list_figures


def figure(section: Section, name: str) -> Figure:
    return next(one for one in list_figures(section) if one.name == name)


def table(section: Section, name: str) -> list[dict[str, str]]:
    """Return the rows of a table of a section, each by heading."""
    (one,) = [own for fold in section.folds for own in fold.tables if own.name == name]
    headings, _, rows = cells(one)
    return [dict(zip(headings, row, strict=True)) for row in rows]


def doubtful() -> list[Row]:
    return [
        pruned(12, -1.0, setting=0.1, undecided=7),
        pruned(20, -1.0, setting=0.05),
        pruned(48, 0.5, method="continued", undecided="", start="falling"),
    ]


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


def test_classifiers_count_from_chance_and_have_no_paper(tmp_path: Path) -> None:
    rows = classified([pruned(12, -5.0) | {"chance": 50.0}])
    frame = figure(gates.section(study(tmp_path, pruned_models=rows)), "gates").frame
    assert frame is not None
    assert list(frame["score"]) == pytest.approx([90.0])  # 45 of the 50 points above chance


def test_models_of_all_runs_are_in_the_table(tmp_path: Path) -> None:
    other = pruned(3, -4.0, heads=4, scope="all") | {"run": OTHER_RUN, "removed": "A1:1"}
    soft = pruned(12, -1.5, setting=0.1, gates="soft")
    sweep = gated(["E1:1", "E1:2", "D1:1"], heads=["E1:1", "E1:2", "A1:1", "D1:1"], scope="all", run=OTHER_RUN)
    tables = study(tmp_path, pruned_models=[other, *doubtful(), soft], gates=sweep)
    found = table(gates.section(tables), "pruned")
    assert [row["run"] for row in found] == ["baseline, seed 1"] * 3 + ["baseline, seed 2"]
    assert [row["heads kept"] for row in found] == ["12 of 48", "20 of 48", "48 of 48", "3 of 4 (2 E + 0 A + 1 D)"]
    assert [row["hard less soft"] for row in found] == ["0.500", "–", "–", "–"]
    assert found[0]["change [95 % interval]"] == "−1.00 [−2.00, 0.00]"


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


def test_functions_that_heads_take_over_are_named(tmp_path: Path) -> None:
    model = "hard-concrete.E.0.12"
    held = [role("E1:1", "-1"), role("E1:2", "-1", model=model), role("E1:2", "nsubj:to-dependent", model=model)]
    rows = study(tmp_path, pruned_models=[pruned(12, -1.0, removed="E1:1")], roles=held)
    (row,) = table(gates.section(rows), "drift")
    assert (row["lost all heads"], row["taken over"]) == ("−1", "−1")
    assert row["roles that are new"] == "E1:2: −1; E1:2: verb → subject"


def test_kinds_and_layers_keep_shares_of_their_heads(tmp_path: Path) -> None:
    tables = study(tmp_path, gates=swept(kinds(8, 8, 8), kinds(4, 8, 6)))
    section = gates.section(tables)
    found = table(section, "retention")
    ours = next(row for row in found if row["removed (%)"] == "25.0")
    assert (ours["models"], ours["E (%)"], ours["A (%)"], ours["D (%)"]) == ("translation", "50.0", "100.0", "75.0")
    assert (ours["E1 (%)"], ours["E2 (%)"], ours["D2 (%)"]) == ("100.0", "0.0", "50.0")
    theirs = [row for row in found if row["models"] == "paper, WMT"]
    assert (len(theirs), theirs[2]["E (%)"], theirs[2]["D5–6 (%)"]) == (14, "50.0", "56.2")
    first, *_ = figure(section, "gate_survival").panels
    assert "E1:1: 100" in first.drawing
    assert "E2:4: 50" in first.drawing  # kept at the first of two settings


def test_ways_to_choose_heads_are_compared_at_as_many_heads(tmp_path: Path) -> None:
    def run(name: str, gain: float) -> list[Row]:
        rows = [pruned(12, -8.0), pruned(36, -2.0), pruned(48, gain, method="continued")]
        rows += [pruned(24, -3.0 + gain, method="gradient"), pruned(24, -6.0, method="random", draw=1)]
        rows += [pruned(24, -8.0, method="random", draw=2), pruned(6, -9.0, method="random", draw=1)]
        rows.append(pruned(36, -5.0, method="scratch", setting=0.36))
        return [row | {"run": name, "low": row["value"], "high": row["value"]} for row in rows]

    tables = study(tmp_path, pruned_models=[*run(RUN, 0.0), *run(OTHER_RUN, 2.0)])
    found = compare_at_equal_heads(tables.views["translation"])
    rows = {(one.method, one.kept_heads): one for one in found.itertuples()}
    assert len(rows) == 5  # six heads are fewer than gates have left; one comparison a way has no row of all
    # half of the heads, half of the way from 12 to 36: 95 of 100 BLEU
    assert rows["hard-concrete", 50.0].value == pytest.approx(95.0)
    assert (rows["random", 50.0].value, rows["random", 50.0].delta) == pytest.approx((93.0, -2.0))
    assert (rows["gradient", 50.0].value, rows["gradient", 50.0].delta) == pytest.approx((98.0, 3.0))
    gradient = rows["gradient", 50.0]
    assert (gradient.delta_low, gradient.delta_high) == pytest.approx((3 - 12.706, 3 + 12.706), abs=0.001)
    assert rows["scratch", 75.0].delta == pytest.approx(-3.0)
    assert math.isnan(rows["continued", 100.0].delta)


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
