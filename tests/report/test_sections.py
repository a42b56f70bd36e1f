"""What sections have beside the study: the numbers of the papers, tests that are compared, means over trainings."""

from pathlib import Path

import pytest
from headroom.experiments.ablation import page as ablation
from headroom.experiments.gates import page as gates
from headroom.experiments.keep_one import page as keep_one
from headroom.figures.names import METHOD_NAMES
from headroom.figures.spec import Figure, Section, Table, cells, list_figures
from headroom.figures.views import views_with
from tables import (
    ENCODER,
    OTHER_RUN,
    RUN,
    Row,
    classified,
    curve,
    effects,
    gated,
    pruned,
    role,
    sites,
    study,
)


def rows_of(table: Table) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the cells of a table by heading, by the first two cells of their row."""
    headings, _, rows = cells(table)
    return {tuple(row[:2]): dict(zip(headings, row, strict=True)) for row in rows}


def fold(section: Section, start: str) -> list[Table]:
    return next(list(one.tables) for one in section.folds if one.label.startswith(start))


def test_effects_stand_beside_the_paper_on_one_scale(tmp_path: Path) -> None:
    section = ablation.section(study(tmp_path, ablation=effects([-1.0, 0.5])))
    frame = next(one.figure for one in section.folds if one.figure and one.figure.name == "ablation_effects").frame
    assert frame is not None
    assert list(frame[frame["by"] == "here"]["delta"]) == [-1.0, 0.5]
    (paper,) = frame[(frame["by"] == "paper") & (frame["kind"] == "A")][["delta", "low", "high"]].to_numpy().tolist()
    assert paper == pytest.approx([-0.0832, -0.4050, 0.2386], abs=1e-4)  # −0.030 ± 0.116 of 36.05


def test_divergence_and_perplexity_stand_beside_the_score_where_they_were_measured(tmp_path: Path) -> None:
    plain = ablation.section(study(tmp_path, ablation=effects([-1.0, 0.5])))
    labels = [one.label for one in plain.folds]
    assert not any(label.startswith("Divergence") for label in labels)
    assert cells(fold(plain, "All heads")[0])[0][-1] == "p (Holm)"
    measured = [
        row | {"metric": metric, "full": full, "chance": 0.0, "delta": delta, "low": delta - 0.25, "high": delta + 0.25}
        for metric, full, deltas in (("loss", 2.0, (0.5, 0.25)), ("bits", 1.0, (0.25, 0.25)), ("kl", 0.0, (0.25, 0.5)))
        for row, delta in zip(effects([-1.0, 0.5]), deltas, strict=True)
    ]
    measured = [row | {"value": row["full"] + row["delta"]} for row in measured]
    section = ablation.section(study(tmp_path / "2", ablation=[*effects([-1.0, 0.5]), *measured]))
    (first, *_) = rows_of(fold(section, "All heads")[0]).values()
    shown = [first[f"{name} [95 % interval]"] for name in ("KL (nats)", "bits per byte", "perplexity")]
    assert shown == ["0.250 [0.000, 0.500]", "1.25 [1.00, 1.50]", "12.2 [9.5, 15.6]"]
    drawn = next(one.figure for one in section.folds if one.label.startswith("Divergence"))
    assert drawn is not None
    assert "KL 0.250 [0.000, 0.500] nats per" in str(drawn.panels[0].drawing)


def test_improving_heads_are_tested_again(tmp_path: Path) -> None:
    on_choose = [row | {"set": "choose"} for row in effects([2.0, 1.0, 3.0, -1.0], p=0.001)]
    on_test = list(effects([0.5, -0.5, 1.0, 9.0], p=0.5))
    tables = study(tmp_path, ablation=[*on_choose, *on_test])
    found = ablation.improving(tables)
    assert list(found["name"]) == ["E1:3", "E1:1", "E1:2"]
    assert list(found["delta_first"]) == [3.0, 2.0, 1.0]
    assert list(found["delta_second"]) == [1.0, 0.5, -0.5]
    assert list(found["p_second"]) == [0.5] * 3
    shown = ablation.list_retested(tables, views_with(tables, "ablation"))
    assert shown is not None
    assert cells(shown.tables[0])[0][1] == "change on choose [95 % interval]"
    alone = study(tmp_path / "2", ablation=on_test)
    assert ablation.list_retested(alone, views_with(alone, "ablation")) is None


def test_tests_are_counted_with_and_without_correction(tmp_path: Path) -> None:
    tested = [
        row | {"p_mcnemar": exact, "p_unpaired": 0.2, "p_holm": 0.03}
        for row, exact in zip(classified(effects([-1.0, -2.0, 0.5], p=0.002)), (0.001, 0.008, 0.9), strict=True)
    ]
    tables = study(tmp_path, ablation=tested)
    shown = ablation.tests_compared(tables, views_with(tables, "ablation"))
    assert shown is not None
    rows = rows_of(shown.tables[0])
    counts = {test: list(row.values())[2:] for (_, test), row in rows.items()}
    assert counts["unpaired t-test (the paper’s)"] == ["0", "0", "0", "0"]
    assert counts["approximate randomisation"] == ["3", "2", "3", "0"]  # p_bh is 0.002, p_holm 0.03
    assert counts["McNemar’s exact test"] == ["2", "2", "1", "1"]  # Holm and Benjamini-Hochberg: 0.003 and 0.012
    plain = study(tmp_path / "2", ablation=effects([1.0]))
    assert ablation.tests_compared(plain, views_with(plain, "ablation")) is None


def kept_heads() -> list[Row]:
    """Two layers: in the first another head is best on each set, in the second the same is best on both."""
    rows = []
    for layer, head, on, delta, p in (
        (1, 2, "test", -0.1, 0.4),
        (1, 3, "choose", -0.8, 0.001),
        (2, 1, "choose test", 0.3, 0.004),
        (2, 4, "", -9, 0.001),
    ):
        (row,) = sites([delta], kind="E", chosen_on=on, p=p)
        rows.append(row | {"layer": layer, "head": head})
    return rows


def test_heads_kept_are_shown_by_both_choices(tmp_path: Path) -> None:
    section = keep_one.section(study(tmp_path, keep_one=classified(kept_heads())))
    other, same = fold(section, "All sites")

    def shown(table: Table) -> list[list[str]]:
        return table.frame[["site", "head", "delta", "p_holm", "paper"]].astype(str).to_numpy().tolist()

    # Holm over two sites: twice the smaller p, and the larger
    assert shown(other) == [["E1", "3", "-0.8", "0.002", "−0.19 (E11)"], ["E2", "1", "0.3", "0.004", "−0.15 (E12)"]]
    assert shown(same) == [["E1", "2", "-0.1", "0.4", "−0.19 (E11)"], ["E2", "1", "0.3", "0.008", "−0.12 (E12)"]]
    assert cells(other)[0][-1] == "paper, table 5 and table 6"


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
