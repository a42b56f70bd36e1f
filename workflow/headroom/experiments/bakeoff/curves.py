"""Pruning curves of one order for the comparison of criteria: scored once or again, without repair and with each."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns, read_epoch
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.bakeoff.settings import BakeoffSettings
from headroom.experiments.bakeoff.table import BAKEOFF_CURVES
from headroom.experiments.pruning.settings import OrderSettings
from headroom.methods.criteria import BATCH_EXAMPLES, REFERENCE, criterion, criterion_scores, find_family
from headroom.methods.orders import (
    CONTROLS,
    REVERSE,
    Order,
    control_orders,
    least_important_first,
    profiles,
    read_compared,
    rescore_order,
    step_sizes,
)

if TYPE_CHECKING:
    from headroom.engines.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.bakeoff.curves")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("bakeoff_curves", __doc__, engine)
    parser.add_argument("--order", required=True, help=f"a criterion, or a control: {', '.join(CONTROLS)}")
    parser.add_argument("--scores", nargs="*", default=[], help="tables with the scores of the criterion")
    parser.add_argument("--score-on", default="choose", help="set for re-scoring and repairs")
    parser.add_argument("--judge-on", default="test", help="set for the curves")
    parser.add_argument("--output", required=True, help="table of curves; resampled scores are written next to it")
    add_settings(parser, bakeoff=BakeoffSettings, pruning=OrderSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the curves and write the table."""
    engine, given = given_engine(build_parser, arguments)
    from headroom.core.resamples import Resamples, resamples_beside
    from headroom.methods.judging import Judge, curve, follow
    from headroom.methods.repair import calibrate_on

    settings = settings_from(given, "bakeoff", BakeoffSettings)
    judged = engine.judged_set(given.judge_on, settings.test_examples)
    model = engine.load(given.checkpoint)
    found = list(orders(engine, given, settings, model))
    judge = Judge(model, judged, replacements=calibrate_on(engine, model) if settings.repairs else None)
    ways = [(order, repair) for order in found for repair in ("none", *settings.repairs)]
    points = [Intervention(gone, repair=repair) for order, repair in ways for gone in profiles(order, settings.step)]
    follow([judge], points, "bakeoff_curves", f"profiles by {given.order}")
    leading = leading_columns(given) | {"scope": "all"}
    resamples = Resamples()
    rows: list[dict[str, Any]] = []
    for order, repair in ways:
        drawn = curve(judge, order, settings.step, resamples, repair=repair)
        rows += [leading | row | {"repair": repair} for row in drawn]
    BAKEOFF_CURVES.write(given.output, rows)
    resamples.write(resamples_beside(given.output))


def orders(engine: Engine, given: argparse.Namespace, settings: BakeoffSettings, model: HeadModel) -> Iterator[Order]:
    """Yield the orders that `--order` names: draws of random orders, another control, or a criterion's."""
    units = model.units(settings_from(given, "pruning", OrderSettings).unit)
    if given.order == REVERSE:
        yield Order(REVERSE, least_important_first(read_order_scores(given, REFERENCE), units)[::-1])
        return
    if given.order in CONTROLS:
        yield from control_orders(given.order, units, draws=settings.random_draws)
        return
    one = criterion(given.order)
    yield Order(given.order, least_important_first(read_order_scores(given, given.order), units))
    if given.order in settings.rescored:
        model = engine.load(given.checkpoint, maps=one.maps) if one.maps else model
        batches = engine.batches(model, engine.examples(given.score_on, settings.examples), BATCH_EXAMPLES)
        score = one.score
        if score is None:
            raise HeadroomError(f"bakeoff.rescored: {given.order} cannot be scored again; leave it out")
        sizes = step_sizes(len(units), settings.step)
        again = rescore_order(units, sizes, lambda gone: score(model, batches, gone)[given.order])
        yield Order(given.order, again, ranking="rescored")


def read_order_scores(given: argparse.Namespace, name: str) -> Mapping[Head, float | tuple[float, float]]:
    """Return the scores of a criterion from the tables given; see `criterion_scores`."""
    epoch = read_epoch(given.checkpoint)
    if not find_family(name):
        return criterion_scores(name, given.scores, epoch=epoch, chosen_on=given.score_on)
    return read_compared(given.scores, epoch=epoch, criterion=name)
