"""Fine-tune one classifier: a checkpoint per epoch, resumable at any moment."""

import argparse
import hashlib
import json
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

from headroom.core import tables
from headroom.core.command import add_run, add_settings, add_until, run, settings_from, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, link, sha256
from headroom.core.table import signature
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record
from headroom.engines.classification.records import read_record
from headroom.engines.classification.states import CONFIGURATION, MODEL_FILES, TOKENIZER, claim
from headroom.engines.classification.trainer import load_tokenizer
from headroom.engines.classification.training import Task, check_training, fine_tune
from headroom.engines.epochs import Notify, epoch_rows, loaded_code, progress_lines
from headroom.engines.head_model import pick_device
from headroom.engines.processes import check_processes, run_together
from headroom.methods.trainer_arms import changes_of
from headroom.settings.arms import add_arm, arm_from
from headroom.settings.models import FineTuningSettings

logger = logging.getLogger("headroom.stages.fine_tuning")


_SETS = ("train", "choose", "check")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("fine_tuning", __doc__ or "")
    add_run(parser)
    parser.add_argument("--corpus", type=Path, required=True, help="directory of the labelled corpus")
    parser.add_argument("--encoder", type=Path, required=True, help="directory written by headroom encoder")
    parser.add_argument("--work", type=Path, required=True, help="directory for resumable state, of this run alone")
    parser.add_argument("--checkpoints", type=Path, required=True, help="directory for epoch<e>/, one per epoch")
    parser.add_argument("--output", required=True, help="table of losses, accuracy and speed per epoch")
    parser.add_argument("--seed", type=int, default=1, help="seed of fresh weights, data order and dropout")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="where to train")
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="processes that share every batch, on CUDA each on a GPU of its own",
    )
    add_until(parser)
    add_arm(parser)
    add_settings(parser, training=FineTuningSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, then hand over checkpoints and table."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "training", FineTuningSettings)
    task = read_task(given.corpus, given.encoder)
    check_processes(given.processes, given.device)
    check_training(settings, seed=given.seed, device=given.device, processes=given.processes)
    load_tokenizer(given.encoder, settings.max_length)
    if claim(given.work, fingerprint(settings, given)):
        logger.info("%s holds training of other settings, data or code: starting clean", given.work)
    last = min(given.until or settings.epochs, settings.epochs)
    training = {"settings": settings, "until": last, "seed": given.seed, "device": given.device, "work": given.work}
    run_together(
        partial(take_part, task=task, changes=changes_of(arm_from(given), given.seed), **training),
        count=given.processes,
        device=given.device,
        notify=progress_lines(logger, last, "examples"),
    )
    records = [read_record(given.work, epoch) for epoch in range(1, last + 1)]
    if not given.until:
        hand_over(given.work, given.checkpoints, last)
    leading = {"study": given.study, "run": given.run}
    tables.TRAINING.write(given.output, epoch_rows(records, leading, signature_of(given, settings)))


def take_part(notify: Notify, **training: Any) -> None:
    """Fine-tune, in this process or as one of several."""
    fine_tune(notify=notify, **training)


def read_task(corpus: Path, encoder: Path) -> Task:
    """Return encoder and data; every epoch is judged on both halves of the validation set.

    Raises:
        HeadroomError: If a set is not sound, or the encoder was prepared for other labels.
    """
    labels = read_labelled_record(corpus)["labels"]
    if read_labels(encoder) != labels:
        raise HeadroomError(
            f"{encoder} was prepared for the labels {', '.join(read_labels(encoder))}, and {corpus} has "
            f"{', '.join(labels)}: run headroom encoder again"
        )
    train, choose, check = (read_labelled(corpus / f"{name}.tsv", labels) for name in _SETS)
    second = None if choose.second is None or check.second is None else choose.second + check.second
    return Task(encoder, train, LabelledText(choose.first + check.first, second, choose.labels + check.labels))


def read_labels(directory: Path) -> list[str]:
    """Return the labels that an encoder was prepared for, in the order of the classifier's outputs.

    Raises:
        HeadroomError: If the directory is none that `headroom encoder` wrote.
    """
    missing = [name for name in (CONFIGURATION, *TOKENIZER) if not (directory / name).is_file()]
    if missing:
        raise HeadroomError(f"{directory} has no {missing[0]}: give the directory that headroom encoder wrote")
    try:
        named = json.loads((directory / CONFIGURATION).read_text("utf-8"))["id2label"]
        return [named[str(index)] for index in range(len(named))]
    except (ValueError, KeyError) as error:
        raise HeadroomError(f"{directory / CONFIGURATION} names no labels: run headroom encoder again") from error


def fingerprint(settings: FineTuningSettings, given: argparse.Namespace) -> str:
    """Return a hash of all that makes the weights: settings, data, encoder and the code that is loaded.

    The number of epochs is part of it: the learning rate falls to zero at the last one.
    """
    files = [given.corpus / f"{name}.tsv" for name in _SETS]
    files += [given.encoder / name for name in MODEL_FILES if (given.encoder / name).is_file()]
    parts = {
        "settings": settings.model_dump(),
        "arm": arm_from(given).model_dump(),
        "seed": given.seed,
        "device": pick_device(given.device).type,
        "processes": given.processes,
        "files": {path.name: sha256(path) for path in files},
        "code": loaded_code(),
        "versions": [torch.__version__, transformers.__version__],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def hand_over(work: Path, checkpoints: Path, epochs: int) -> None:
    """Put every epoch's model into the outputs, as hard links where the file system has them."""
    for epoch in range(1, epochs + 1):
        for name in MODEL_FILES:
            with atomic_path(checkpoints / f"epoch{epoch}" / name) as temporary:
                link(work / f"epoch{epoch}" / name, temporary)


def signature_of(given: argparse.Namespace, settings: FineTuningSettings) -> str:
    """Return what affects the table."""
    several = {"processes": given.processes} if given.processes > 1 else {}
    return signature(
        seed=given.seed,
        arm=given.arm[0],
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        max_length=settings.max_length,
        **several,
        torch=torch.__version__,
        transformers=transformers.__version__,
    )


if __name__ == "__main__":
    run(main)
