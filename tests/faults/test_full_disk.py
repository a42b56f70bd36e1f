"""The disk is full at the moment when a stage writes; with free space, the same command finishes."""

from dataclasses import replace
from pathlib import Path

import pytest
from faults.checking import assert_finished, assert_told, assert_whole
from faults.disturbing import disturbed, forget
from faults.moments import (
    CLASSIFIER,
    ENCODER,
    GATES,
    GATES_MODEL,
    PRUNING,
    REPORT,
    TABLE,
    TEXT,
    TRAIN_HANDOVER,
    TRAIN_STATE,
    TRAINED,
    TRANSLATOR,
    TUNE_HANDOVER,
    TUNE_STATE,
    TUNED,
    VOCABULARY,
    Moment,
)
from faults.small_disk import small_disk
from study import Finished, Project

MESSAGE = r"error: .*no space left on the disk.*; free space .*and re-run the same command"

FULL = {
    # Where the job is stopped, so that what it writes next fails, and the directory that is on the full disk.
    TEXT: ("open */.check.target.*", "results/tiny/translation/corpus"),
    VOCABULARY: ("open */.prepare.*/dict.source.txt", "results/tiny/translation/binarised"),
    ENCODER: ("open */.encoder.*/tokenizer_config.json", "results/tiny/entailment/encoder"),
    TRAIN_STATE: ("open */.state2.pt.*", TRAIN_STATE.work),
    TRAIN_HANDOVER: ("place */runs/*/epoch1.pt", f"results/tiny/runs/{TRAINED}"),
    TUNE_STATE: ("call transformers.trainer:Trainer.save_model@2", TUNE_STATE.work),
    TUNE_HANDOVER: ("place */runs/*/epoch1/model.safetensors", f"results/tiny/runs/{TUNED}"),
    PRUNING: ("open */pruning/.*.csv.*", "results/tiny/pruning"),
    GATES: ("open */.epoch2.pt.*", f"results/tiny/pruned_models/{TRANSLATOR}"),
    GATES_MODEL: ("open */new/config.json", f"results/tiny/pruned_models/{CLASSIFIER}"),
    TABLE: ("open */settling/.*.csv.*", "results/tiny/settling"),
    REPORT: ("open */reports/.tiny.html.*", "reports"),
}
WHOLE = (
    replace(TRAIN_STATE, name="training: all on one full disk", stop="open */.state2.pt.*"),
    replace(TABLE, name="settling: all on one full disk", stop="open */settling/.*.csv.*"),
)


@pytest.mark.parametrize(("moment", "fault"), [(moment, "disk full") for moment in FULL], ids=str)
def test_the_disk_of_a_stage_is_full(
    project: Project, finished: Finished, place: Path, moment: Moment, fault: str
) -> None:
    forget(project, moment)
    stop, directory = FULL[moment]
    with small_disk(project.root / directory, place / "aside") as disk:
        with disturbed(project, replace(moment, stop=stop), place) as run:
            disk.fill()
            run.go_on()
            assert run.end() == 1, run.output
        assert_told(project, moment, run.output, MESSAGE)
        disk.free()
        assert_whole(project, finished)
        assert_finished(project, finished, moment, project.snakemake(moment.target))


@pytest.mark.parametrize(("moment", "fault"), [(moment, "disk full") for moment in WHOLE], ids=str)
def test_the_disk_of_everything_is_full(
    project: Project, finished: Finished, place: Path, moment: Moment, fault: str
) -> None:
    """Neither the job's log nor Snakemake's records can be written then; Snakemake's complaints are its own."""
    forget(project, moment)
    with small_disk(project.root, place / "aside") as disk:
        with disturbed(project, moment, place) as run:
            disk.fill()
            run.go_on()
            assert run.end() != 0, run.output
        assert "error: no space left on the disk: cannot write; free space and re-run the same command" in run.output, (
            run.output
        )
        disk.free()
        assert_whole(project, finished)
        assert_finished(project, finished, moment, project.snakemake(moment.target))
