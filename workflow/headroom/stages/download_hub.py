"""Load a labelled data set of the Hugging Face Hub and write it as a corpus."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.data.hub import load_hub
from headroom.data.labelled import halves, write_labelled_corpus
from headroom.settings.labelled import HubCorpus, Metric

SEVERAL = ("sentences", "labels", "metrics")
"""Flags that take several values."""

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("download_hub", __doc__)
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    group = parser.add_argument_group(f"settings ({HubCorpus.__name__})", HubCorpus.__doc__)
    for name, field in HubCorpus.model_fields.items():
        if name in ("source", "far"):
            continue
        group.add_argument(
            f"--{name}",
            nargs="+" if name in SEVERAL else None,
            choices=get_args(Metric) if name == "metrics" else None,
            required=field.is_required(),
            default=None if field.is_required() else field.default,
            metavar=None if name == "metrics" else "VALUE",
            help=str(field.description).replace("%", "%%"),
        )
    group.add_argument(
        "--far",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "SPLIT"),
        help="a split of another domain, and the name it gets; may be given several times",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Load every split, and only then write the corpus."""
    given = build_parser().parse_args(arguments)
    settings = _settings(given)
    loaded = load_hub(settings)
    valid = halves(loaded.sets["valid"], settings.valid)
    rest = {name: text for name, text in loaded.sets.items() if name not in ("train", "valid")}
    write_labelled_corpus(
        given.output,
        {"train": loaded.sets["train"], **valid, **rest},
        labels=loaded.labels,
        metrics=settings.metrics,
        far=settings.far_names,
        about={**settings.model_dump(mode="json"), "licences": [loaded.licence]},
    )
    _log.info("wrote %s to %s", settings.dataset, given.output)


def _settings(given: argparse.Namespace) -> HubCorpus:
    names = [name for name, _ in given.far]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise HeadroomError(f"--far {repeated[0]}: the name is given twice")
    chosen = {name: getattr(given, name) for name in HubCorpus.model_fields if name not in ("source", "far")}
    try:
        return HubCorpus.model_validate({**chosen, "far": dict(given.far)})
    except ValidationError as error:
        first = error.errors()[0]
        flag = f"--{first['loc'][0]}" if first["loc"] else "--metrics"
        raise HeadroomError(f"{flag}: {first['msg'].removeprefix('Value error, ')}") from error


if __name__ == "__main__":
    run(main)
