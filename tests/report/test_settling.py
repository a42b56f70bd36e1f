"""The section about when heads settle on small tables, worked out by hand."""

from pathlib import Path

from claims.claim_tables import CLASSIFIER, Row, curve, study
from headroom.report.sections import settling
from headroom.report.spec import cells

DUST = 5.33e-14


def pruned_epochs(*full: float) -> list[Row]:
    """A curve per epoch which keeps 90 % of the full score with 40 % removed, and dust with half."""
    kept = [1.0, 1.0, 0.99, 0.97, 0.9, DUST, *[0.0] * 5]
    rows = []
    for epoch, score in enumerate(full, start=1):
        for share, row in zip(kept, curve(range(11)), strict=True):
            rows.append(row | {"epoch": epoch, "full": score, "value": share * score})
    return rows


def agreement(kind: str, *values: float, statistic: str = "spearman", **more: object) -> list[Row]:
    usual = {"criterion": "gradient-example", "normalised": "raw", "kind": kind, "statistic": statistic}
    bounds = [{"value": value, "low": value - 0.1, "high": value + 0.1} for value in values]
    return [usual | {"epoch": epoch} | row | more for epoch, row in enumerate(bounds, start=1)]


def test_an_epoch_without_a_score_has_no_percentage(tmp_path: Path) -> None:
    (fold,) = settling.section(study(tmp_path, pruning_epochs=pruned_epochs(0.02, 30.0, 60.0))).folds
    headings, _, rows = cells(fold.tables[0])
    assert headings == ["task", "run", "epoch", "full model", "20 %", "40 %", "50 %", "60 %", "80 %"]
    assert rows[0] == ["translation", "baseline, seed 1", "2", "30.0", "99.0", "90.0", "0.0", "0.0", "0.0"]
    assert [row[2] for row in rows if row[1] != "paper"] == ["2", "3"]
    assert rows[2] == ["translation", "paper", "1", "–", "80.3", "70.7", "62.7", "55.0", "29.3"]
    figure = fold.figure
    assert figure is not None
    assert figure.frame is not None
    last = figure.frame.groupby("run")["done"].max()
    assert last.tolist() == [100, 100]  # epoch 3 of ours and epoch 40 of the paper


def test_ranks_are_shown_by_kind_with_the_interval_of_all_heads(tmp_path: Path) -> None:
    both = [*agreement("E", 0.2, 0.9), *agreement("A", 0.4, 0.8), *agreement("all", 0.3, 0.7)]
    several = both + agreement("all", 0.5, 0.75, statistic="overlap", k=18, chance=0.25)
    single = [row | {"run": CLASSIFIER} for row in [*agreement("E", 0.6), *agreement("all", 0.6)]]
    section = settling.section(study(tmp_path, settling=several + single))
    assert section.figure is not None
    names = ["E encoder self-attention", "A encoder-decoder attention", "all heads"]
    assert [key.name for key in section.figure.key] == names
    assert [panel.label for panel in section.figure.panels] == ["Translation", "SST-2"]
    (fold,) = section.folds
    _, _, rows = cells(fold.tables[0])
    shown = [row[3:] for row in rows]
    assert shown[1] == ["spearman", "–", "0.700 [0.600, 0.800]", "0"]
    assert shown[2] == ["overlap", "18", "0.500 [0.400, 0.600]", "0.250"]
    assert len(shown) == 5
