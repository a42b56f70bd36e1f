"""Score the heads of every epoch by every criterion that a pass over examples gives, e.g. gradient importance."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.table import signature
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.engines.head_model import HeadModel
from headroom.methods.criteria import scored
from headroom.methods.halves import HALVES, half_rows
from headroom.methods.scores import NORMALISATIONS, normalised_by_layer
from headroom.settings.experiments import ScoreSettings

logger = logging.getLogger("headroom.stages.scores")


USES = ("model",)


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("scores", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser, several=True)
    parser.add_argument("--set", default="choose", help="evaluation set that heads are scored on")
    parser.add_argument("--output", required=True, help="table of scores")
    parser.add_argument("--halves", help="table of the last checkpoint's scores on halves of the set; unset for none")
    add_settings(parser, scores=ScoreSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Score each checkpoint and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    settings = settings_from(given, "scores", ScoreSettings)
    examples = engine.examples(given.set, settings.examples)
    about = signature(loss=engine.loss, set=given.set, examples=len(examples), batch=settings.batch_examples)
    rows: list[dict[str, Any]] = []
    for checkpoint in given.checkpoints:
        model = engine.load(checkpoint)
        batches = engine.batches(model, examples, settings.batch_examples)
        rows += _rows(given, epoch_of(checkpoint), scored(model, batches), about)
        logger.info("scored %s", checkpoint)
    tables.SCORES.write(given.output, rows)
    if given.halves:
        halves = list(_half_rows(model, batches))
        leading = {"study": given.study, "run": given.run, "epoch": epoch_of(given.checkpoints[-1])}
        tables.SCORES_HALVES.write(given.halves, [{**leading, **row, "signature": about} for row in halves])


def _half_rows(model: HeadModel, batches: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for index, half in enumerate(HALVES):
        for criterion, scores in scored(model, batches, half=index).items():
            yield from half_rows(criterion, half, scores)


def _rows(given: argparse.Namespace, epoch: int, raw: dict[str, Any], about: str) -> Iterator[dict[str, Any]]:
    for criterion, scores in raw.items():
        for normalised, table in zip(NORMALISATIONS, (scores, normalised_by_layer(scores))):
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
