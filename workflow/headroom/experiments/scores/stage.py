"""Score the heads of every epoch by the criteria of one pass over examples, e.g. gradient importance."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from headroom.core.command import leading_columns
from headroom.core.flags import add_settings, settings_from
from headroom.core.progress import follow_items
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.scores.settings import ScoreSettings
from headroom.experiments.scores.table import SCORES, SCORES_HALVES
from headroom.methods.criteria import NORMALISATIONS, Scores, normalise_by_layer, score_heads

logger = logging.getLogger("headroom.experiments.scores.stage")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("scores", __doc__, engine, several=True)
    parser.add_argument("--set", default="choose", help="evaluation set for the scores")
    parser.add_argument("--output", required=True, help="table of scores")
    parser.add_argument("--halves", help="table of the last checkpoint's scores on halves of the set; unset for none")
    add_settings(parser, scores=ScoreSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Score each checkpoint and write the table."""
    engine, given = given_engine(build_parser, arguments)
    settings = settings_from(given, "scores", ScoreSettings)
    examples = engine.examples(given.set, settings.examples)
    asked = {"loss": engine.loss, "set": given.set, "examples": len(examples), "batch": settings.batch_examples}
    about = signature(**asked)
    rows: list[dict[str, Any]] = []
    for checkpoint in follow_items(given.checkpoints, "scores", "epochs"):
        leading = leading_columns(given, checkpoint)
        model = engine.load(checkpoint)
        batches = engine.batches(model, examples, settings.batch_examples)
        if cut := engine.count_cut(model, examples):
            about = signature(**asked, cut=cut)
            logger.warning("set %s: %d examples exceed the positions of the model and are cut", given.set, cut)
        rows += [leading | row | {"signature": about} for row in _rows(score_heads(model, batches))]
        logger.info("scored %s", checkpoint)
    SCORES.write(given.output, rows)
    if given.halves:
        halves = [leading | row | {"signature": about} for row in _half_rows(model, batches)]
        SCORES_HALVES.write(given.halves, halves)


def _half_rows(model: Any, batches: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for index, half in enumerate(("choose", "score")):
        for criterion, scores in score_heads(model, batches, half=index).items():
            for head in sorted(scores):
                yield {**asdict(head), "criterion": criterion, "half": half, "value": scores[head]}


def _rows(raw: dict[str, Scores]) -> Iterator[dict[str, Any]]:
    for criterion, scores in raw.items():
        for normalised, table in zip(NORMALISATIONS, (scores, normalise_by_layer(scores))):
            for head in sorted(table):
                yield {**asdict(head), "criterion": criterion, "normalised": normalised, "value": table[head]}
