"""Score the heads of a run by a family of criteria, at its last epoch, and measure the cost of each."""

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from headroom.core.command import leading_columns
from headroom.core.flags import add_settings, settings_from
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.bakeoff.settings import BakeoffSettings
from headroom.experiments.bakeoff.table import BAKEOFF_COSTS, BAKEOFF_SCORES
from headroom.methods.criteria import BATCH_EXAMPLES, REFERENCE, family, family_names, score_rows
from headroom.methods.passes import count_passes

logger = logging.getLogger("headroom.experiments.bakeoff.scores")

HALVES = {"all": None, "choose": 0, "score": 1}
"""The examples that scores are computed from: all, or those at even or odd positions of the set."""

CHEAP = 10.0
"""Most passes over the examples of criteria that are also computed on halves; costlier ones have no noise ceiling."""


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("bakeoff_scores", __doc__, engine)
    parser.add_argument("--family", required=True, help=f"family of criteria: one of {', '.join(family_names())}")
    parser.add_argument("--set", default="choose", help="evaluation set for the scores")
    parser.add_argument("--output", required=True, help="table of scores")
    parser.add_argument("--costs", required=True, help="table of costs")
    add_settings(parser, bakeoff=BakeoffSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Score the checkpoint and write both tables."""
    engine, given = given_engine(build_parser, arguments)
    settings = settings_from(given, "bakeoff", BakeoffSettings)
    functions = family(given.family)
    examples = engine.examples(given.set, settings.examples)
    about = signature(loss=engine.loss, set=given.set, examples=len(examples), batch=BATCH_EXAMPLES)
    leading = leading_columns(given, given.checkpoint)
    scores: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    for score, own in functions.items():
        model = engine.load(given.checkpoint, maps=any(one.maps for one in own))
        batches = engine.batches(model, examples, BATCH_EXAMPLES)
        for half, index in HALVES.items():
            with count_passes(model, len(examples)) as passes:
                found = score(model, batches, half=index)
            scores += [leading | row | {"half": half, "signature": about} for row in score_rows(found)]
            if half == "all":
                costs += [leading | passes.cost_row(one, given.family) | {"signature": about} for one in own]
                if passes.forward + passes.backward > CHEAP and REFERENCE not in found:
                    break
        logger.info("%s: %s", given.family, ", ".join(one.name for one in own))
    BAKEOFF_SCORES.write(given.output, scores)
    BAKEOFF_COSTS.write(given.costs, costs)
