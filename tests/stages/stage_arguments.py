"""Command lines of the stages that load a trained run, for tests."""

from pathlib import Path

from fairseq_models import ToyRun

STUDY = ["--study", "toy", "--run", "translation.baseline.seed1"]
UPDATES = ["--gate-updates", "6", "--updates", "2", "--batch-examples", "12"]
BRIEF_GATES = [*UPDATES, "--judge-on", "check", "--test-examples", "8"]
QUICK = ["--resamples", "20", "--length-factor", "0", "--length-offset", "6"]


def looking_at(toy: ToyRun, *checkpoints: Path, several: bool = False) -> list[str]:
    """Return the flags that name a run, its checkpoints and its data."""
    flag = "--checkpoints" if several else "--checkpoint"
    where = ["--vocabulary", str(toy.data), "--corpus", str(toy.corpus), "--device", "cpu"]
    return [*STUDY, flag, *map(str, checkpoints), *where]
