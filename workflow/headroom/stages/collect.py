"""Check parallel text of your own and write it as a corpus."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.data.parallel import Origin, ParallelText, halves, read_parallel, write_corpus
from headroom.settings.parallel import FilesCorpus, Pair

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("collect", __doc__)
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    files = parser.add_argument_group("files", "UTF-8, one sentence a line, both sides aligned by line")
    for name in ("train", "valid", "test"):
        files.add_argument(
            f"--{name}",
            nargs=2,
            required=name != "train",
            metavar=("SOURCE", "TARGET"),
            help=FilesCorpus.model_fields[name].description,
        )
    files.add_argument(
        "--far",
        nargs=3,
        action="append",
        default=[],
        metavar=("NAME", "SOURCE", "TARGET"),
        help="test pairs of another domain; may be given several times",
    )
    for name in ("source_language", "target_language"):
        field = FilesCorpus.model_fields[name]
        flag = "--" + name.replace("_", "-")
        files.add_argument(flag, default=field.default, metavar="NAME", help=field.description)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read and check every pair of files, and only then write the corpus."""
    given = build_parser().parse_args(arguments)
    settings = _settings(given)
    texts = {name: read_parallel(pair.source, pair.target) for name, pair in settings.pairs.items()}
    valid = halves(texts.pop("valid"), settings.valid.source)
    sets = {"train": texts.pop("train", ParallelText([], [])), **valid, **texts}
    about = Origin(settings.source_language, settings.target_language, settings.model_dump(mode="json"))
    write_corpus(given.output, sets, far=settings.far_names, about=about)
    _log.info("wrote %d training pairs to %s", len(sets["train"]), given.output)


def _settings(given: argparse.Namespace) -> FilesCorpus:
    names = [name for name, _, _ in given.far]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise HeadroomError(f"--far {repeated[0]}: the name is given twice")
    try:
        return FilesCorpus.model_validate(
            {
                "source_language": given.source_language,
                "target_language": given.target_language,
                **{name: _pair(getattr(given, name)) for name in ("train", "valid", "test") if getattr(given, name)},
                "far": {name: _pair(pair) for name, *pair in given.far},
            }
        )
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise HeadroomError(f"--far: {reason}") from error


def _pair(paths: Sequence[str]) -> Pair:
    return Pair(source=paths[0], target=paths[1])


if __name__ == "__main__":
    run(main)
