"""Pruning curves: the metric against the number of heads removed, by criteria and controls, also with repairs."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns, read_epoch
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import Head, Unit
from headroom.core.interventions import REPAIRS, Intervention, add_replacement, add_shards
from headroom.core.progress import follow_items
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.pruning.declared import PRUNING, PruningSettings
from headroom.experiments.scores.declared import ScoreSettings
from headroom.methods.criteria import SCORES, Scores, criteria, criterion, criterion_scores
from headroom.methods.orders import (
    CONTROLS,
    REVERSE,
    Order,
    control_orders,
    least_important_first,
    profiles,
    read_scores,
    rescore_order,
    step_sizes,
)

if TYPE_CHECKING:
    from headroom.engines.head_model import HeadModel
    from headroom.methods.judging import Judged

logger = logging.getLogger("headroom.experiments.pruning.stage")

Rescore = Callable[[str], Callable[[frozenset[Head]], Scores]]
"""From a criterion to a function from a profile to the raw scores under it."""


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("pruning", __doc__, engine, several=True)
    help_ = f"orders of removal: criteria (as --criteria), or controls: {', '.join(CONTROLS)}"
    parser.add_argument("--orders", nargs="+", help=f"{help_}; unset for the criteria, random and {REVERSE}")
    parser.add_argument("--rescored", nargs="*", default=[], help="criteria that also score again after every step")
    parser.add_argument("--repairs", nargs="*", default=[], choices=REPAIRS, help="repairs, each with its curves")
    parser.add_argument("--scores", nargs="*", default=[], help="tables of the stage scores")
    for table in dict.fromkeys(one.table for one in criteria().values() if not one.score):
        names = ", ".join(name for name, one in criteria().items() if one.table == table)
        help_ = f"{table} tables of this run, for the orders {names}"
        parser.add_argument(f"--{table.replace('_', '-')}", nargs="*", default=[], help=help_)
    parser.add_argument("--score-on", default="choose", help="set for re-scoring and for the ablation order")
    parser.add_argument("--judge-on", default="test", help="set for the curves")
    parser.add_argument(
        "--scopes",
        nargs="+",
        default=["all"],
        metavar="SCOPE",
        help="heads that compete, each with its curves: all, a kind (E, A, D), a site (A3), or `sites` for every site",
    )
    parser.add_argument(
        "--output", required=True, help="table of curves; resampled scores are written next to it as .npz"
    )
    add_replacement(parser)
    add_shards(parser)
    add_settings(parser, pruning=PruningSettings)
    add_settings(parser, scores=ScoreSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the curves of each checkpoint and write the table."""
    engine, given = given_engine(build_parser, arguments)
    from headroom.core.resamples import Resamples, resamples_beside
    from headroom.methods.judging import Judge, curve, follow, judge_share, read_shards, write_shard
    from headroom.methods.repair import calibrate_on, replacements_for

    pruning, scoring = settings_from(given, "pruning", PruningSettings), settings_from(given, "scores", ScoreSettings)
    names = given.orders or [*pruning.criteria, "random", REVERSE]
    for name in (pruning.main, *given.rescored, *(name for name in names if name not in CONTROLS)):
        if not criterion(name).score and name in given.rescored:
            raise HeadroomError(f"--rescored {name}: cannot be scored again; leave it out")
    judged = engine.judged_set(given.judge_on, pruning.test_examples)
    known = read_shards(given.merge)
    judged_by_epoch: dict[str, Judged] = {}
    rows: list[dict[str, Any]] = []
    resamples = Resamples()
    for checkpoint in follow_items(given.checkpoints, "pruning", "epochs"):
        model = engine.load(checkpoint)
        epoch = read_epoch(checkpoint)
        replacements = (
            calibrate_on(engine, model) if given.repairs else replacements_for(given.replacement, engine, model)
        )
        judge = Judge(model, judged, known.get(f"epoch {epoch}"), replacements=replacements)
        rescore = rescorer(engine, given, scoring, checkpoint, model)
        scopes = [one for name in given.scopes for one in (map(str, model.sites) if name == "sites" else [name])]
        found = [  # all of them first, so that errors in tables are reported before any evaluation
            (scope, order, {"replacement": given.replacement, "repair": repair})
            for scope in follow_items(scopes, "pruning", f"scopes ordered at epoch {epoch}")
            for name in names
            for order in orders(name, given, pruning, epoch, model.units(pruning.unit, scope), rescore)
            for repair in ("none", *given.repairs)
        ]
        points = [Intervention(gone, **how) for _, order, how in found for gone in profiles(order, pruning.step)]
        share = given.shard.share(filter(None, points)) if given.shard else points
        follow([judge], share, "pruning", f"profiles of epoch {epoch}")
        if given.shard:
            judged_by_epoch[f"epoch {epoch}"] = judge_share(judge, points, given.shard)
            continue
        for scope, order, how in found:
            leading = {**leading_columns(given, checkpoint), "scope": scope, **how}
            rows += [leading | row for row in curve(judge, order, pruning.step, resamples, **how)]
        logger.info("epoch %g: done", epoch)
    if given.shard:
        write_shard(given.output, judged_by_epoch)
    else:
        PRUNING.write(given.output, rows)
        resamples.write(resamples_beside(given.output))


def orders(
    name: str, given: argparse.Namespace, pruning: PruningSettings, epoch: float, units: list[Unit], rescore: Rescore
) -> Iterator[Order]:
    """Yield the removal orders of some units of heads by a criterion or a control.

    By a criterion that is scored at every epoch there is one for each normalisation, or one of raw scores without any.
    """
    if name == REVERSE:
        main_scores = read_scores(*given.scores, epoch=epoch, criterion=pruning.main)
        yield Order(REVERSE, least_important_first(main_scores, units)[::-1])
        return
    if name in CONTROLS:
        yield from control_orders(name, units, draws=pruning.random_draws)
        return
    one = criterion(name)
    if not one.score:
        paths: list[str] = getattr(given, one.table)
        found = criterion_scores(name, paths, epoch=epoch, chosen_on=given.score_on)
        yield Order(name, least_important_first(found, units))
        return
    ways = pruning.normalisations if one.table == SCORES else ()
    for normalised in ways or ("",):
        scores = read_scores(*given.scores, epoch=epoch, criterion=name, normalised=normalised or "raw")
        yield Order(name, least_important_first(scores, units), normalised)
    if name in given.rescored:
        order = rescore_order(units, step_sizes(len(units), pruning.step), rescore(name))
        yield Order(name, order, "raw" if ways else "", "rescored")


def rescorer(
    engine: Engine, given: argparse.Namespace, settings: ScoreSettings, checkpoint: str, model: HeadModel
) -> Rescore:
    """Return a function that, for a criterion, gives a function from a profile to the raw scores under it.

    One call may give several criteria, so scores are cached by profile.
    """
    examples = cache(lambda: engine.examples(given.score_on, settings.examples))
    load = cache(lambda maps: engine.load(checkpoint, maps=True) if maps else model)
    batches = cache(lambda maps: engine.batches(load(maps), examples(), settings.batch_examples))
    under = cache(lambda score, maps, removed: score(load(maps), batches(maps), removed))
    return lambda name: lambda removed: under(criterion(name).score, criterion(name).maps, removed)[name]
