"""Score the heads of every epoch by gradient importance, in all granularities from one pass each."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from headroom.ground.command import (
    add_model,
    add_run,
    add_settings,
    epoch_of,
    run,
    settings_from,
    stage_parser,
)
from headroom.ground.tables import signature, write_table
from headroom.methods.importance import gradient_scores, normalised_by_layer
from headroom.methods.pairs import read_pairs
from headroom.models.translation.model import TranslationModel
from headroom.settings.scores import ScoreSettings

logger = logging.getLogger("headroom.score")

COLUMNS = ("study", "run", "epoch", "kind", "layer", "head", "criterion", "normalised", "value", "signature")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.score", __doc__ or "")
    add_run(parser)
    add_model(parser, several=True)
    parser.add_argument("--set", default="choose", help="evaluation set that heads are scored on")
    parser.add_argument("--output", required=True, help="table of scores")
    add_settings(parser, ScoreSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Score each checkpoint and write the table."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, ScoreSettings)
    sources, targets = read_pairs(given.corpus, given.set, settings.sentences)
    rows: list[dict[str, Any]] = []
    for checkpoint in given.checkpoints:
        model = TranslationModel.load(checkpoint, given.vocabulary, given.device)
        batches = model.batches(sources, targets, sentences=settings.batch_sentences)
        rows += _rows(given, epoch_of(checkpoint), gradient_scores(model, batches), len(sources), settings)
        logger.info("scored %s", checkpoint)
    write_table(given.output, rows, COLUMNS)


def _rows(
    given: argparse.Namespace, epoch: int, raw: dict[str, Any], sentences: int, settings: ScoreSettings
) -> Iterator[dict[str, Any]]:
    about = signature(loss="token-sum", set=given.set, sentences=sentences, batch=settings.batch_sentences)
    for criterion, scores in raw.items():
        for normalised, table in (("raw", scores), ("layer", normalised_by_layer(scores))):
            for head in sorted(table):
                yield {
                    "study": given.study,
                    "run": given.run,
                    "epoch": epoch,
                    "kind": head.kind,
                    "layer": head.layer,
                    "head": head.head,
                    "criterion": criterion,
                    "normalised": normalised,
                    "value": table[head],
                    "signature": about,
                }


if __name__ == "__main__":
    run(main)
