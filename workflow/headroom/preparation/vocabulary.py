"""Learn the joint vocabulary of a corpus and binarise its training and validation pairs for fairseq."""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pydantic import Field

from headroom.core.errors import HeadroomError, disk_is_full
from headroom.core.files import atomic_path, cannot_write, read_lines, sha256, write_lines
from headroom.data.corpora import read_corpus_record
from headroom.data.parallel import SIDES, ParallelText, read_parallel
from headroom.data.subwords import Pieces, train_pieces
from headroom.settings.job import Job
from headroom.settings.parallel import VocabularySettings

BINARISED = tuple(
    f"{split}.source-target.{side}.{kind}" for split in ("train", "valid") for side in SIDES for kind in ("bin", "idx")
)
FILES = ("sentencepiece.model", "dict.source.txt", "dict.target.txt", *BINARISED, "prepared.json")
"""The output files of this stage."""

_log = logging.getLogger(__name__)


class Vocabulary(Job):
    """Learn subword tokens and binarise parallel text."""

    corpus: Path = Field(description="directory of the corpus")
    output: Path = Field(description="directory of the binarised set")
    vocabulary: VocabularySettings = VocabularySettings()


def run(job: Vocabulary) -> None:
    """Write the files named in `FILES`; `prepared.json` is written last."""
    settings = job.vocabulary
    read_corpus_record(job.corpus)
    texts = _read(job.corpus)
    _clear(job.output)
    with tempfile.TemporaryDirectory(dir=job.output, prefix=".prepare.") as name:
        directory = Path(name)
        sentences = texts["train"].source + texts["train"].target
        train_pieces(sentences, directory / "sentencepiece.model", settings)
        record = _binarise(texts, directory, settings)
        for file in FILES[:-1]:
            with atomic_path(job.output / file) as temporary:
                shutil.copyfile(directory / file, temporary)
    record["sha256"] = {file: sha256(job.output / file) for file in FILES[:-1]}
    write_lines(job.output / "prepared.json", [json.dumps(record, indent=2)])


def _clear(output: Path) -> None:
    """Create the output directory; remove the record of an earlier set first, then its files and temporary files."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        (output / "prepared.json").unlink(missing_ok=True)
        for left in output.glob(".prepare.*"):
            shutil.rmtree(left)
    except OSError as error:
        raise cannot_write(output, error) from error


def _read(corpus: Path) -> dict[str, ParallelText]:
    """Return train, and as valid both halves of the validation set, choose first."""
    names = ("train", "choose", "check")
    train, choose, check = (read_parallel(corpus / f"{name}.source", corpus / f"{name}.target") for name in names)
    valid = ParallelText(choose.source + check.source, choose.target + check.target)
    return {"train": train, "valid": valid}


def _binarise(texts: dict[str, ParallelText], directory: Path, settings: VocabularySettings) -> dict[str, object]:
    """Encode, run fairseq-preprocess inside `directory`, and return the content of `prepared.json`."""
    tokens = Pieces(directory / "sentencepiece.model")
    counts: dict[str, object] = {}
    for split, text in texts.items():
        for side in SIDES:
            encoded = tokens.encode_lines(getattr(text, side))
            write_lines(directory / f"{split}.{side}", encoded)
            counts[f"{split}.{side}"] = sum(line.count(" ") + 1 for line in encoded)
    output = _preprocess(directory)
    return {
        "vocabulary": settings.model_dump(),
        "types": sum(not line.startswith("madeupword") for line in read_lines(directory / "dict.source.txt")),
        "sentences": {split: len(text) for split, text in texts.items()},
        "tokens": counts,
        "unknown_share": _unknown_shares(output),
    }


def _preprocess(directory: Path) -> str:
    command = [
        sys.executable, "-m", "fairseq_cli.preprocess", "--source-lang", "source", "--target-lang", "target",
        "--trainpref", str(directory / "train"), "--validpref", str(directory / "valid"),
        "--destdir", str(directory), "--joined-dictionary", "--workers", "1",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode < 0:
        raise HeadroomError(f"fairseq-preprocess: killed by signal {-done.returncode}; give the job more memory")
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().split("\n")[-1]
        failure = RuntimeError(f"fairseq-preprocess: exit status {done.returncode}, {last}")
        if disk_is_full(failure):
            raise cannot_write(directory.parent, failure) from failure
        raise HeadroomError(str(failure))
    return done.stdout + done.stderr


def _unknown_shares(output: str) -> dict[str, float]:
    """Return the share of unknown tokens per split and side, reported by fairseq-preprocess."""
    found = re.findall(r"/(train|valid)\.(source|target): .*?, ([\d.]+)% replaced", output)
    return {f"{split}.{side}": float(percent) / 100 for split, side, percent in found}
