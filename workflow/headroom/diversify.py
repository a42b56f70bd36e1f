"""Measure how alike the heads of every site are, at every epoch."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from headroom.ground.command import (
    add_run,
    add_settings,
    add_translation_model,
    epoch_of,
    run,
    settings_from,
    stage_parser,
)
from headroom.ground.files import read_lines
from headroom.ground.heads import Site
from headroom.ground.tables import signature, write_table
from headroom.methods.diversity import head_diversity
from headroom.models.translation.model import TranslationModel
from headroom.settings.diversity import DiversitySettings

logger = logging.getLogger("headroom.diversify")

COLUMNS = ("study", "run", "epoch", "kind", "layer", "measure", "value", "signature")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.diversify", __doc__ or "")
    add_run(parser)
    add_translation_model(parser, several=True)
    parser.add_argument("--set", default="check", help="evaluation set that heads are compared on")
    parser.add_argument("--output", required=True, help="table of diversity per site")
    add_settings(parser, DiversitySettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the heads of each checkpoint and write the table."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, DiversitySettings)
    sources, targets = (
        read_lines(f"{given.corpus}/{given.set}.{side}")[: settings.sentences] for side in ("source", "target")
    )
    rows: list[dict[str, Any]] = []
    for checkpoint in given.checkpoints:
        model = TranslationModel.load(checkpoint, given.vocabulary, given.device)
        batches = model.batches(sources, targets, sentences=settings.batch_sentences)
        rows += _rows(given, epoch_of(checkpoint), head_diversity(model, batches), len(sources))
        logger.info("compared the heads of %s", checkpoint)
    write_table(given.output, rows, COLUMNS)


def _rows(
    given: argparse.Namespace, epoch: int, found: dict[str, dict[Site, float]], sentences: int
) -> Iterator[dict[str, Any]]:
    on_text = signature(mean="pairs-of-heads", set=given.set, sentences=sentences)
    for measure, sites in found.items():
        about = signature(mean="pairs-of-heads") if measure == "v_projection_cosine" else on_text
        for site, value in sites.items():
            yield {
                "study": given.study,
                "run": given.run,
                "epoch": epoch,
                "kind": site.kind,
                "layer": site.layer,
                "measure": measure,
                "value": value,
                "signature": about,
            }


if __name__ == "__main__":
    run(main)
