"""Command lines of the stages that load a trained run, for tests, and the text of one."""

from pathlib import Path

from fairseq_models import ToyRun
from headroom.core.files import write_lines
from headroom.data.labelled import LabelledText

STUDY = ["--study", "toy", "--run", "translation.baseline.seed1"]
OWN = ["--study", "own", "--run", "own.baseline.seed1"]
UPDATES = ["--gate-updates", "6", "--updates", "2", "--batch-examples", "12"]
BRIEF_GATES = [*UPDATES, "--judge-on", "check", "--test-examples", "8"]
FEW = ["--resamples", "20"]
QUICK = [*FEW, "--length-factor", "0", "--length-offset", "6"]


def looking_at(toy: ToyRun, *checkpoints: Path, several: bool = False) -> list[str]:
    """Return the flags that name a run, its checkpoints and its data."""
    flag = "--checkpoints" if several else "--checkpoint"
    where = ["--corpus", str(toy.corpus), "--device", "cpu"]
    return [*STUDY, flag, *map(str, checkpoints), *where]


def classifying(corpus: Path, *checkpoints: Path, several: bool = False) -> list[str]:
    """Return the flags that name a run of a classifier, its checkpoints and its labelled text."""
    flag = "--checkpoints" if several else "--checkpoint"
    where = ["--corpus", str(corpus), "--device", "cpu"]
    return ["--engine", "classifier", *OWN, flag, *map(str, checkpoints), *where]


def write_tsv(path: Path, text: LabelledText) -> None:
    """Write labelled text as a user would."""
    columns = [text.first, text.labels] if text.second is None else [text.first, text.second, text.labels]
    names = ["sentence", "label"] if text.second is None else ["sentence1", "sentence2", "label"]
    write_lines(path, ["\t".join(names), *("\t".join(row) for row in zip(*columns))])
