"""Import a released model as a run: a translation model with its vocabulary, or a classifier."""

import argparse
import importlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headroom.core.command import stage_parser
from headroom.core.flags import add_settings, settings_from
from headroom.engines.command import add_task, chosen_task
from headroom.settings.models import ReleasedClassifier, ReleasedModel

_log = logging.getLogger("headroom.stages.released")

_MODELS: dict[str, Any] = {"translation": ReleasedModel, "classification": ReleasedClassifier}


def build_parser(task: str = "translation") -> argparse.ArgumentParser:
    """Return the command line for a task."""
    parser = stage_parser("released", __doc__)
    add_task(parser)
    parser.add_argument("--checkpoint", type=Path, required=True, help="output path of the model: epoch1.pt or epoch1/")
    if task == "translation":
        parser.add_argument(
            "--vocabulary", type=Path, required=True, help="directory for dictionaries, byte-pair codes and moses.json"
        )
        parser.add_argument("--mirror", help="directory or address with released/<archive>, tried before the network")
    else:
        parser.add_argument("--corpus", type=Path, required=True, help="directory of the labelled corpus")
    add_settings(parser, released=_MODELS[task])
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Import the model with the engine of its task; no other engine is loaded."""
    given = build_parser(chosen_task(arguments)).parse_args(arguments)
    take = importlib.import_module(f"headroom.engines.{given.task}.released").take  # the rule names it
    settings = settings_from(given, "released", _MODELS[given.task])
    places = {name: getattr(given, name) for name in ("vocabulary", "mirror", "corpus") if hasattr(given, name)}
    _log.info("wrote %s: %s", given.checkpoint, take(settings, checkpoint=given.checkpoint, **places))
