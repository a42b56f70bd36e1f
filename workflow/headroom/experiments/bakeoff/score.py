"""Score the heads of one model by named criteria, or by all that apply, and measure the cost of each, by hand.

In a study the stages scores and bakeoff_scores do the same. Criteria that need updates, or that another stage measures,
are skipped with the reason.
"""

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from headroom.core.command import leading_columns
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.core.progress import follow_items
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.bakeoff.table import BAKEOFF_COSTS, BAKEOFF_SCORES
from headroom.experiments.scores.settings import ScoreSettings
from headroom.methods.criteria import (
    Criterion,
    Score,
    criteria,
    criterion,
    family,
    family_names,
    find_family,
    score_rows,
)
from headroom.methods.passes import count_passes

logger = logging.getLogger("headroom.experiments.bakeoff.score")

ALL = "all"


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("score", __doc__, engine)
    parser.add_argument("--criteria", nargs="+", default=[ALL], help="criteria, see docs/criteria.md, or all")
    help_ = "skip criteria that need references: the labels or translations of the set are placeholders"
    parser.add_argument("--no-labels", action="store_true", help=help_)
    parser.add_argument("--set", default="choose", help="evaluation set for the scores")
    parser.add_argument("--output", required=True, help="table of scores")
    parser.add_argument("--costs", required=True, help="table of costs")
    add_settings(parser, scores=ScoreSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Score the model and write both tables.

    Raises:
        HeadroomError: If a criterion is unknown, or none can be computed.
    """
    engine, given = given_engine(build_parser, arguments)
    settings = settings_from(given, "scores", ScoreSettings)
    named = list(criteria() if ALL in given.criteria else dict.fromkeys(given.criteria))
    skipped = {name: why for name in named if (why := reason_to_skip(criterion(name), labelled=not given.no_labels))}
    functions = list(computing([name for name in named if name not in skipped]))
    examples = engine.examples(given.set, settings.examples)
    load = cache(lambda maps: engine.load(given.checkpoint, maps=maps))
    about = signature(loss=engine.loss, set=given.set, examples=len(examples), batch=settings.batch_examples)
    scores: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    for name, score, own in follow_items(functions, "score", "passes of criteria"):
        try:
            model = load(any(one.maps for one in own))
            batches = engine.batches(model, examples, settings.batch_examples)
            with count_passes(model, len(examples)) as passes:
                found = score(model, batches)
        except HeadroomError as error:
            skipped |= {one.name: str(error) for one in own}
            continue
        scores += list(score_rows({one.name: found[one.name] for one in own}))
        costs += [passes.cost_row(one, name) for one in own]
        logger.info("scored by %s: %.1f s", ", ".join(one.name for one in own), passes.seconds)
    report(skipped)
    if not scores:
        raise HeadroomError("--criteria: none of these can be computed here, for the reasons above; name others")
    leading = leading_columns(given)
    BAKEOFF_SCORES.write(given.output, [leading | {"half": "all", "signature": about} | row for row in scores])
    BAKEOFF_COSTS.write(given.costs, [leading | {"signature": about} | row for row in costs])


def reason_to_skip(one: Criterion, *, labelled: bool) -> str:
    """Return why a criterion is not computed here; "" if it is."""
    if not find_family(one.name):
        work = "needs updates of the model" if one.needs == "training" else "is measured by another stage"
        return f"{work}: python -m headroom {one.table}"
    return "" if labelled or not one.labels else "needs labels or references"


def computing(named: Sequence[str]) -> Iterator[tuple[str, Score, list[Criterion]]]:
    """Yield the functions that compute criteria, each with its family and those of the criteria that it returns."""
    for name in family_names():
        for score, every in family(name).items():
            own = [one for one in every if one.name in named]
            if own:
                yield name, score, own


def report(skipped: Mapping[str, str]) -> None:
    """Log a line for every criterion that is skipped."""
    for name, why in skipped.items():
        logger.info("skipped %s: %s", name, why)
