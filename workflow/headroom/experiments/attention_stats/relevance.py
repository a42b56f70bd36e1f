"""Compute the relevance of heads for the output by layer-wise relevance propagation (Voita et al. 2019, section 4)."""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import HALVES
from headroom.core.progress import follow_items
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.attention_stats.declared import BATCH_EXAMPLES, RELEVANCE, RelevanceSettings

if TYPE_CHECKING:
    from headroom.methods.relevance import Relevances

logger = logging.getLogger("headroom.experiments.attention_stats.relevance")

CONSERVED = 1e-3
"""Maximum relative error of the conservation of relevance; larger errors indicate an unsupported operation."""


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("relevance", __doc__, engine)
    parser.add_argument("--set", default="check", help="evaluation set whose outputs are explained")
    parser.add_argument("--output", required=True, help="table of relevance")
    add_settings(parser, relevance=RelevanceSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Explain a checkpoint's outputs and write the table."""
    engine, given = given_engine(build_parser, arguments)
    from headroom.methods.propagation import choose_rule
    from headroom.methods.relevance import relevances

    settings = settings_from(given, "relevance", RelevanceSettings)
    examples = engine.examples(given.set, settings.examples)
    model = engine.load(given.checkpoint)
    batches = engine.batches(model, examples, BATCH_EXAMPLES)
    found = relevances(model, follow_items(batches, "relevance", "batches"), rule=choose_rule(settings))
    if not found.conservation_error <= CONSERVED:
        logger.warning(
            "warning: relevance is not conserved, the relative error is %.2g; the model contains an operation that the "
            "rules do not cover, do not rely on these relevances",
            found.conservation_error,
        )
    about = signature(**_rule(settings), logit="top-1", set=given.set, examples=len(examples))
    rows = [leading_columns(given) | row | {"signature": about} for row in _rows(found)]
    RELEVANCE.write(given.output, rows)


def _rule(settings: RelevanceSettings) -> dict[str, Any]:
    from headroom.methods.propagation import EPSILON

    named = {"lrp": settings.rule, "epsilon": EPSILON}
    return named if settings.rule == "epsilon" else named | {"alpha": settings.alpha, "beta": 1 - settings.alpha}


def _rows(found: Relevances) -> Iterator[dict[str, Any]]:
    from headroom.methods.relevance import MEASURES, estimates

    for measure in MEASURES:
        for half in HALVES:
            for head, estimate in sorted(estimates(found, measure, half).items()):
                found_here = dict(zip(("value", "low", "high", "count"), estimate))
                yield {**asdict(head), "measure": measure, "half": half, **found_here}
    blank = {"kind": "", "layer": "", "head": "", "low": math.nan, "high": math.nan}
    error = {"measure": "conservation-error", "half": "all", "value": found.conservation_error}
    yield blank | error | {"count": int(found.steps.sum())}
