"""Train one run: a translation model with a checkpoint per epoch, resumable at any moment."""

import argparse
import hashlib
import json
import logging
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from headroom.core import tables
from headroom.core.command import add_run, add_settings, add_until, run, settings_from, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, link, read_lines, sha256
from headroom.core.table import signature
from headroom.engines.epochs import Notify, epoch_rows, loaded_code, progress_lines
from headroom.engines.processes import check_processes, run_together
from headroom.engines.translation.fairseq import VERSION as ENGINE_VERSION
from headroom.engines.translation.fairseq_task import fairseq_arguments
from headroom.engines.translation.training import read_record, train
from headroom.methods.fairseq_arms import arm_arguments
from headroom.settings.arms import add_arm, arm_from, shaped
from headroom.settings.models import ModelSettings, TrainingSettings

logger = logging.getLogger("headroom.stages.training")


_NEEDED = ("dict.source.txt", "dict.target.txt", "train.source-target.source.idx", "valid.source-target.source.idx")
_OURS = re.compile(r"((epoch|state)\d+\.(pt|json)|fingerprint)|\.(epoch|state|fingerprint).*")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("training", __doc__ or "")
    add_run(parser)
    parser.add_argument("--data", required=True, help="directory written by headroom vocabulary")
    parser.add_argument("--work", required=True, help="directory for resumable state, of this run alone")
    parser.add_argument("--checkpoints", required=True, help="directory for epoch<e>.pt, one per epoch")
    parser.add_argument("--output", required=True, help="table of losses and speed per epoch")
    parser.add_argument("--profile", help="file with names of heads that the model shall not have; unset for all heads")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights, data order and dropout")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="where to train")
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="processes that share the batches of every update, on CUDA each on a GPU of its own",
    )
    add_until(parser)
    add_arm(parser)
    add_settings(parser, model=ModelSettings)
    add_settings(parser, training=TrainingSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, then hand over checkpoints and table."""
    given = build_parser().parse_args(arguments)
    arm, training = arm_from(given), settings_from(given, "training", TrainingSettings)
    model = shaped(settings_from(given, "model", ModelSettings), arm)
    data, work = Path(given.data), Path(given.work)
    check_processes(given.processes, given.device)
    command = fairseq_arguments(
        data=data,
        model=model,
        training=training,
        seed=given.seed,
        device=given.device,
        arm=arm_arguments(arm, given.seed),
        processes=given.processes,
    )
    last = min(given.until or training.epochs, training.epochs)
    profile = read_profile(given.profile)
    claim_work(work, fingerprint([*command, *([f"profile {profile}"] if profile else [])], data))
    run_together(
        partial(take_part, arguments=command, epochs=last, work=work, profile=profile),
        count=given.processes,
        device=given.device,
        notify=progress_lines(logger, last, "words"),
    )
    records = [read_record(work, epoch) for epoch in range(1, last + 1)]
    if not given.until:
        hand_over(work, Path(given.checkpoints), last)
    leading = {"study": given.study, "run": given.run}
    tables.TRAINING.write(given.output, epoch_rows(records, leading, signature_of(given, training)))


def take_part(notify: Notify, **training: Any) -> None:
    """Train, in this process or as one of several, which import this module, and with it the arms, for this."""
    train(notify=notify, **training)


def read_profile(path: str | None) -> str:
    """Return the profile in a file, as `headroom gates` writes it; no head without a file."""
    return " ".join(read_lines(path)) if path else ""


def fingerprint(command: list[str], data: Path) -> str:
    """Return a hash of all that makes the weights: settings, data and the code that is loaded.

    The number of epochs is not part of it, so that more epochs go on from where training ended.

    Raises:
        HeadroomError: If `data` is not a prepared directory.
    """
    missing = [name for name in _NEEDED if not (data / name).is_file()]
    if missing:
        raise HeadroomError(f"{data} has no {missing[0]}: give the directory that headroom vocabulary wrote")
    files = sorted(path for path in data.iterdir() if path.is_file())
    parts = {
        "command": command[1:],
        "data": {path.name: sha256(path) for path in files},
        "code": loaded_code(),
        "versions": [torch.__version__, ENGINE_VERSION],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def claim_work(work: Path, expected: str) -> None:
    """Make `work` this run's: states of another fingerprint are removed, so that they cannot be resumed.

    What a kill left half-written goes too. Files that training does not write are not touched.
    """
    stamp = work / "fingerprint"
    known = stamp.is_file() and stamp.read_text("utf-8") == expected
    ours = [path for path in work.iterdir() if _OURS.fullmatch(path.name)] if work.is_dir() else []
    if ours and not known:
        logger.info("%s holds training of other settings, data or code: starting clean", work)
    for path in ours:
        if not known or path.name.startswith("."):
            path.unlink()
    with atomic_path(stamp) as temporary:
        temporary.write_text(expected, "utf-8")


def hand_over(work: Path, checkpoints: Path, epochs: int) -> None:
    """Put every epoch's model into the outputs, as hard links where the file system has them."""
    for epoch in range(1, epochs + 1):
        source = work / f"epoch{epoch}.pt"
        with atomic_path(checkpoints / source.name) as temporary:
            link(source, temporary)


def signature_of(given: argparse.Namespace, training: TrainingSettings) -> str:
    """Return what affects the table."""
    several = {"processes": given.processes} if given.processes > 1 else {}
    return signature(
        seed=given.seed, arm=given.arm[0], max_tokens=training.max_tokens, **several, torch=torch.__version__
    )


if __name__ == "__main__":
    run(main)
