"""Relevance of every head for what a model says, by layer-wise relevance propagation (Voita et al. 2019, section 4)."""

import argparse
import logging
import math
from collections.abc import Iterator, Sequence
from typing import Any

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.heads import HALVES
from headroom.core.table import signature
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.methods.relevance import MEASURES, Relevances, estimates, relevances
from headroom.settings.experiments import RelevanceSettings

logger = logging.getLogger("headroom.stages.relevance")


USES = ("model",)


CONSERVED = 1e-3
"""Relative error from which relevance is not conserved: an operation leaks it."""


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("relevance", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument("--set", default="check", help="evaluation set whose outputs are explained")
    parser.add_argument("--output", required=True, help="table of relevance")
    add_settings(parser, relevance=RelevanceSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Explain a checkpoint's outputs and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    settings = settings_from(given, "relevance", RelevanceSettings)
    examples = engine.examples(given.set, settings.examples)
    model = engine.load(given.checkpoint)
    batches = engine.batches(model, examples, settings.batch_examples)
    found = relevances(model, batches, epsilon=settings.epsilon)
    if not found.conservation_error <= CONSERVED:
        logger.warning(
            "warning: relevance is not conserved: over all inputs it differs from the logit by %.2g of it; the model "
            "has an operation that the rules of relevance don't know, and its relevances are not to be trusted",
            found.conservation_error,
        )
    leading = {"study": given.study, "run": given.run, "epoch": epoch_of(given.checkpoint)}
    about = signature(lrp="epsilon", epsilon=settings.epsilon, logit="top-1", set=given.set, examples=len(examples))
    tables.RELEVANCE.write(given.output, [leading | row | {"signature": about} for row in _rows(found)])


def _rows(found: Relevances) -> Iterator[dict[str, Any]]:
    for measure in MEASURES:
        for half in HALVES:
            for head, estimate in sorted(estimates(found, measure, half).items()):
                named = {"kind": head.kind, "layer": head.layer, "head": head.head, "measure": measure, "half": half}
                interval = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
                yield named | interval | {"count": estimate.steps}
    nowhere = {"kind": "", "layer": "", "head": "", "low": math.nan, "high": math.nan}
    error = {"measure": "conservation-error", "half": "all", "value": found.conservation_error}
    yield nowhere | error | {"count": int(found.steps.sum())}


if __name__ == "__main__":
    run(main)
