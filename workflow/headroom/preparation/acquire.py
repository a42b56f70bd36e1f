"""Acquire text or trees: generated, from the catalogue, the Hugging Face Hub or sacrebleu, or local files."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Union, get_args

from pydantic import Field

from headroom.core.command import stage_parser
from headroom.core.flags import add_settings, settings_from
from headroom.data.corpora import Request
from headroom.data.providers import Kind, provide
from headroom.settings.documents import DocumentCorpus
from headroom.settings.labelled import CatalogueTreebank, LabelledCorpus, TreebankFile
from headroom.settings.parallel import Corpus

Treebank = Annotated[Union[CatalogueTreebank, TreebankFile], Field(discriminator="source")]  # noqa: UP007

SECTIONS: dict[Kind, tuple[str, Any]] = {
    "parallel": ("corpus", Corpus),
    "labelled": ("corpus", LabelledCorpus),
    "documents": ("corpus", DocumentCorpus),
    "trees": ("treebank", Treebank),
}
"""The section of the configuration of each kind, and its model."""

_log = logging.getLogger(__name__)


def build_parser(kind: Kind | None = None) -> argparse.ArgumentParser:
    """Return the command line of this stage, with the settings of a kind if it is known."""
    parser = stage_parser("acquire", f"{__doc__} `--kind KIND --help` shows the settings of a kind.")
    parser.add_argument("--kind", choices=get_args(Kind), required=True, help="kind of data")
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus; file of the trees")
    parser.add_argument("--mirror", help="directory or address laid out <dataset>/<file>, tried before downloads")
    parser.add_argument("--catalogue", type=Path, help="catalogue to use instead of the project's")
    if kind == "trees":
        parser.add_argument("--relations", nargs="*", default=(), help="relations that the trees must contain")
    if kind == "documents":
        parser.add_argument("--pairs", type=Path, help="TSV with columns group, good and bad, copied beside the text")
    if kind:
        add_settings(parser, **dict([SECTIONS[kind]]))
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Acquire and validate everything before writing; downloads are kept in `downloads/` next to the output."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--kind", choices=get_args(Kind))
    given = build_parser(first.parse_known_args(arguments)[0].kind).parse_args(arguments)
    section, model = SECTIONS[given.kind]
    settings = settings_from(given, section, model)
    known = {name: value for name, value in vars(given).items() if name in ("relations", "pairs")}
    request = Request(given.output.parent / "downloads", given.mirror, given.catalogue, **known)
    count = provide(given.kind, settings, request).write(given.output, settings, request)
    _log.info("wrote %d examples to %s", count, given.output)
