"""The section about the trained models on small tables, worked out by hand."""

from pathlib import Path

from claims.claim_tables import CLASSIFIER, Row, study
from headroom.experiments.training import section as training
from headroom.figures.spec import cells


def trained(run: str, *losses: float, **measures: float) -> list[Row]:
    rows = [
        {"run": run, "epoch": epoch, "measure": measure, "value": value}
        for epoch, loss in enumerate(losses, start=1)
        for measure, value in {"valid_loss": loss, "train_loss": loss + 0.5, "seconds": 60.0 * epoch}.items()
    ]
    return [*rows, *({"run": run, "epoch": len(losses), "measure": one, "value": of} for one, of in measures.items())]


def test_what_training_came_to(tmp_path: Path) -> None:
    rows = [*trained(CLASSIFIER, 0.9, 0.7, valid_accuracy=0.75), *trained("translation.baseline.seed1", 4.0, 3.0, 2.0)]
    (fold,) = training.section(study(tmp_path, training=rows)).folds
    headings, _, shown = cells(fold.tables[0])
    time = "time for all epochs"
    assert headings == ["task", "run", "training loss", "validation loss", "validation accuracy", time]
    assert shown == [
        ["translation", "baseline, seed 1", "2.50", "2.00", "–", "6 min 0 s"],
        ["SST-2", "baseline, seed 1", "1.20", "0.700", "0.750", "3 min 0 s"],
    ]
    assert fold.figure is not None
    assert [panel.label for panel in fold.figure.panels] == ["Translation", "SST-2"]
