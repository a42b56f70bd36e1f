"""Train one run, a checkpoint per epoch, resumable at any moment: a translation model or a classifier."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core.command import add_run, add_until, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import write_record
from headroom.core.flags import add_settings, settings_from
from headroom.core.imports import without_collection
from headroom.engines.command import add_engine, chosen_engine, import_part
from headroom.experiments.training.declared import TRAINING
from headroom.settings.arms import ArmSettings
from headroom.settings.models import FineTuningSettings, ModelSettings, TrainingSettings

if TYPE_CHECKING:
    from headroom.engines.training import Training

logger = logging.getLogger("headroom.experiments.training.stage")


_SECTIONS: dict[str, dict[str, Any]] = {
    "fairseq": {"model": ModelSettings, "training": TrainingSettings},
    "classifier": {"training": FineTuningSettings},
}
"""By engine that trains, the sections of the configuration for it."""


def build_parser(engine_name: str = "fairseq") -> argparse.ArgumentParser:
    """Return the command line for an engine."""
    parser = stage_parser("training", __doc__)
    add_engine(parser, _SECTIONS, "fairseq")
    add_run(parser)
    for name, needed, text in _inputs(engine_name):
        parser.add_argument(f"--{name}", type=Path, required=needed, help=text)
    if engine_name == "fairseq":
        help_ = "from 1: remove as many heads as --profile names, of this random draw; 0 for the named ones"
        parser.add_argument("--random-draw", type=int, default=0, help=help_)
    parser.add_argument("--work", type=Path, required=True, help="directory of the resumable state of this run")
    parser.add_argument(
        "--checkpoints", type=Path, help="directory for one checkpoint per epoch; required without --until"
    )
    parser.add_argument("--last-only", action="store_true", help="write only the last epoch's checkpoint")
    parser.add_argument("--output", required=True, help="table of losses and speed per epoch")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights, data order and dropout")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="where to train")
    help_ = "processes that share the batches of every update, on CUDA with one GPU each"
    parser.add_argument("--processes", type=int, default=1, help=help_)
    add_until(parser)
    parser.add_argument("--arm", help="name of the arm in the table; default: its method")
    add_settings(parser, **_SECTIONS.get(engine_name, {}), arm=ArmSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, then write checkpoints and table."""
    given = build_parser(chosen_engine(arguments, _SECTIONS, "fairseq")).parse_args(arguments)
    with without_collection():
        from headroom.engines.training import carry_out, epoch_rows
    training = build_training(given)
    if not given.until and not given.checkpoints:
        raise HeadroomError("--checkpoints: missing; give their directory, or --until the epoch at which to stop")
    places = {"work": given.work, "checkpoints": given.checkpoints, "last_only": given.last_only}
    records = carry_out(training, until=given.until, logger=logger, **places)
    if given.checkpoints and not given.until:
        write_record(given.checkpoints)
    leading = {"study": given.study, "run": given.run}
    signature = training.signature(given.arm or settings_from(given, "arm", ArmSettings).method)
    TRAINING.write(given.output, epoch_rows(records, leading, signature))


def build_training(given: argparse.Namespace) -> Training:
    """Return the training of the command line; no other engine than the chosen one is loaded."""
    with without_collection():
        arms = import_part(given.engine, "arms")  # the rule names it
    parts = {name: getattr(given, name) for name, _, _ in _inputs(given.engine)}
    if given.engine == "fairseq":
        parts["random_draw"] = given.random_draw
    parts |= {name: settings_from(given, name, model) for name, model in _SECTIONS[given.engine].items()}
    parts |= {name: getattr(given, name) for name in ("seed", "device", "processes")}
    training: Training = arms.training(**parts, arm=settings_from(given, "arm", ArmSettings))
    return training


def _inputs(engine: str) -> list[tuple[str, bool, str]]:
    """Return the flags of the inputs: name, whether it is required, help."""
    if engine == "fairseq":
        return [
            ("data", True, "output directory of the stage vocabulary"),
            ("profile", False, "file with the names of heads to remove before training; unset for all heads"),
        ]
    return [
        ("corpus", True, "directory of the labelled corpus"),
        ("encoder", True, "output directory of the stage encoder"),
    ]
