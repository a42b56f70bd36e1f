"""The section about when heads settle on small tables, worked out by hand."""

from pathlib import Path

from claims.claim_tables import Row, curve, study
from headroom.experiments.settling import section as settling
from headroom.figures.spec import cells

DUST = 5.33e-14


def pruned_epochs(*full: float) -> list[Row]:
    """A curve per epoch which keeps 90 % of the full score with 40 % removed, and dust with half."""
    kept = [1.0, 1.0, 0.99, 0.97, 0.9, DUST, *[0.0] * 5]
    rows = []
    for epoch, score in enumerate(full, start=1):
        for share, row in zip(kept, curve(range(11)), strict=True):
            rows.append(row | {"epoch": epoch, "full": score, "value": share * score})
    return rows


def test_an_epoch_without_a_score_has_no_percentage(tmp_path: Path) -> None:
    (fold,) = settling.section(study(tmp_path, pruning_epochs=pruned_epochs(0.02, 30.0, 60.0))).folds
    headings, _, rows = cells(fold.tables[0])
    assert headings == ["task", "run", "epoch", "full model", "20 %", "40 %", "50 %", "60 %", "80 %"]
    assert rows[0] == ["translation", "baseline, seed 1", "2", "30.0", "99.0", "90.0", "0.0", "0.0", "0.0"]
    assert [row[2] for row in rows if row[1] != "paper"] == ["2", "3"]
    assert rows[2] == ["translation", "paper", "1", "–", "80.3", "70.7", "62.7", "55.0", "29.3"]
    inside = [row | {"epoch": 0.125} for row in pruned_epochs(20.0)]
    (fold,) = settling.section(study(tmp_path / "2", pruning_epochs=[*inside, *pruned_epochs(30.0, 60.0, 60.0)])).folds
    assert [row[2] for row in cells(fold.tables[0])[2] if row[1] != "paper"] == ["0.125", "1", "2", "3"]
    figure = fold.figure
    assert figure is not None
    assert figure.frame is not None
    last = figure.frame.groupby("run")["done"].max()
    assert last.tolist() == [100, 100]  # epoch 3 of ours and epoch 40 of the paper
