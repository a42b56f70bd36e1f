"""Import a released model as a run: of fairseq with its vocabulary, or in the Hub's format."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import write_record
from headroom.core.flags import add_settings, settings_from
from headroom.engines.command import LIBRARIES, add_engine, chosen_engine, import_part
from headroom.settings.models import HubModelSettings, ReleasedModel

_log = logging.getLogger("headroom.preparation.released")


def model_of(engine: str) -> type[ReleasedModel | HubModelSettings]:
    """Return the settings of an engine's released models: fairseq's own, or those of the Hub's format."""
    return ReleasedModel if engine == "fairseq" else HubModelSettings


def build_parser(engine_name: str = "fairseq") -> argparse.ArgumentParser:
    """Return the command line for an engine."""
    parser = stage_parser("released", __doc__)
    add_engine(parser, LIBRARIES, "fairseq")
    help_ = "output directory of the models, epoch1/ and so on"
    parser.add_argument("--checkpoints", type=Path, required=True, help=help_)
    if engine_name == "fairseq":
        parser.add_argument("--downloads", type=Path, help="directory of archives; default: beside the models")
    elif engine_name == "classifier":
        parser.add_argument("--corpus", type=Path, required=True, help="directory of the labelled corpus")
    elif engine_name == "seq2seq":
        parser.add_argument("--corpus", type=Path, help="directory of the parallel corpus; unset to check no lines")
    parser.add_argument("--mirror", help="of fairseq: directory or address with released/<archive>, tried first")
    add_settings(parser, released=model_of(engine_name))
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Import the models of a series; no other engine than the chosen one is loaded."""
    given = build_parser(chosen_engine(arguments, LIBRARIES, "fairseq")).parse_args(arguments)
    take = import_part(given.engine, "released").take  # the rule names it
    settings = settings_from(given, "released", model_of(given.engine))
    takes = ("downloads", "mirror") if given.engine == "fairseq" else ("corpus",)
    places = {name: getattr(given, name) for name in takes if hasattr(given, name)}
    found: list[str] = []
    for number, model in enumerate(settings.series, 1):
        place = given.checkpoints / f"epoch{number}"
        found.append(take(model, checkpoint=place, **places))
        _log.info("wrote %s: %s", place, found[-1])
        if found[-1] != found[0]:
            raise HeadroomError(
                f"released.earlier: not checkpoints of one training, the first has {found[0]}, number {number} has "
                f"{found[-1]}; give those of one"
            )
    write_record(given.checkpoints)
