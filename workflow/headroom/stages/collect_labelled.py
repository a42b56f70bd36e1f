"""Check labelled text of your own and write it as a corpus."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.data.labelled import halves, read_labelled, write_labelled_corpus
from headroom.settings.labelled import LabelledFilesCorpus, Metric

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("collect_labelled", __doc__)
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    fields = LabelledFilesCorpus.model_fields
    files = parser.add_argument_group("files", LabelledFilesCorpus.__doc__)
    for name in ("train", "valid", "test"):
        files.add_argument(f"--{name}", required=name != "train", metavar="TSV", help=fields[name].description)
    files.add_argument(
        "--far",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "TSV"),
        help="test examples of another domain; may be given several times",
    )
    files.add_argument("--labels", nargs="+", required=True, metavar="NAME", help=fields["labels"].description)
    files.add_argument(
        "--metrics",
        nargs="+",
        choices=get_args(Metric),
        default=list(fields["metrics"].default),
        help=fields["metrics"].description,
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read and check every file, and only then write the corpus."""
    given = build_parser().parse_args(arguments)
    settings = _settings(given)
    texts = {name.removeprefix("far."): read_labelled(path, settings.labels) for name, path in settings.paths.items()}
    valid = halves(texts.pop("valid"), settings.valid)
    nothing = texts["test"].taken([])
    sets = {"train": texts.pop("train", nothing), **valid, **texts}
    write_labelled_corpus(
        given.output,
        sets,
        labels=settings.labels,
        metrics=settings.metrics,
        far=settings.far_names,
        about=settings.model_dump(mode="json"),
    )
    _log.info("wrote %d training examples to %s", len(sets["train"]), given.output)


def _settings(given: argparse.Namespace) -> LabelledFilesCorpus:
    names = [name for name, _ in given.far]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise HeadroomError(f"--far {repeated[0]}: the name is given twice")
    chosen = {name: getattr(given, name) for name in ("train", "valid", "test", "labels", "metrics")}
    try:
        return LabelledFilesCorpus.model_validate({**chosen, "far": dict(given.far)})
    except ValidationError as error:
        first = error.errors()[0]
        flag = f"--{first['loc'][0]}" if first["loc"] else "--labels"
        raise HeadroomError(f"{flag}: {first['msg'].removeprefix('Value error, ')}") from error


if __name__ == "__main__":
    run(main)
