"""Pruning curves: the metric against the number of heads removed, by every order and its controls."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from headroom.core.command import read_epoch
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import Head, Unit
from headroom.core.interventions import Intervention, add_replacement, add_shards
from headroom.core.progress import follow_items
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.pruning.settings import PruningSettings
from headroom.experiments.pruning.table import PRUNING, PRUNING_REPLACED
from headroom.experiments.scores.settings import ScoreSettings
from headroom.methods.criteria import SCORES, Scores, criteria, criterion, criterion_scores, score_heads
from headroom.methods.orders import (
    Order,
    least_important_first,
    profiles,
    random_order,
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
    parser.add_argument("--scores", required=True, help="table of the stage scores")
    for table in dict.fromkeys(one.table for one in criteria().values() if one.table != SCORES):
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
        "--only-main",
        choices=["true", "false"],
        default="false",
        help="only the fixed raw order of the main criterion, without controls (for curves at every epoch)",
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
    from headroom.methods.repair import replacements_for

    pruning, scoring = settings_from(given, "pruning", PruningSettings), settings_from(given, "scores", ScoreSettings)
    check_criteria(pruning)
    judged = engine.judged_set(given.judge_on, pruning.test_examples)
    known = read_shards(given.merge)
    judged_by_epoch: dict[str, Judged] = {}
    rows: list[dict[str, Any]] = []
    resamples = Resamples()
    for checkpoint in follow_items(given.checkpoints, "pruning", "epochs"):
        model = engine.load(checkpoint)
        epoch = read_epoch(checkpoint)
        replacements = replacements_for(given.replacement, engine, model)
        judge = Judge(model, judged, known.get(f"epoch {epoch}"), replacements=replacements)
        rescore = rescorer(engine, given, scoring, model)
        scopes = [one for name in given.scopes for one in (map(str, model.sites) if name == "sites" else [name])]
        found = {  # all of them first, so that errors in tables are reported before any evaluation
            scope: list(orders(given, pruning, epoch, model.units(pruning.unit, scope), rescore))
            for scope in follow_items(scopes, "pruning", f"scopes ordered at epoch {epoch}")
        }
        curves = [order for own in found.values() for order in own]
        points = [
            Intervention(gone, replacement=given.replacement)
            for order in curves
            for gone in profiles(order, pruning.step)
        ]
        share = given.shard.share(filter(None, points)) if given.shard else points
        follow([judge], share, "pruning", f"profiles of epoch {epoch}")
        if given.shard:
            judged_by_epoch[f"epoch {epoch}"] = judge_share(judge, points, given.shard)
            continue
        for scope, own in found.items():
            leading = {"study": given.study, "run": given.run, "epoch": epoch, "scope": scope}
            leading |= {} if given.replacement == "zero" else {"replacement": given.replacement}
            for order in own:
                drawn = curve(judge, order, pruning.step, resamples, replacement=given.replacement)
                rows += [{**leading, **row} for row in drawn]
            logger.info("epoch %g, scope %s: done", epoch, scope)
    if given.shard:
        write_shard(given.output, judged_by_epoch)
    else:
        table = PRUNING if given.replacement == "zero" else PRUNING_REPLACED
        table.write(given.output, rows)
        resamples.write(resamples_beside(given.output))


def check_criteria(pruning: PruningSettings) -> None:
    """Raise HeadroomError, with the flag, for an unknown criterion, before reading text or loading a model."""
    for flag, names in (("--criteria", pruning.criteria), ("--main", (pruning.main,))):
        if unknown := [name for name in names if name not in criteria()]:
            raise HeadroomError(f"{flag}: unknown criterion '{unknown[0]}'; use one of {', '.join(criteria())}")


def orders(
    given: argparse.Namespace, pruning: PruningSettings, epoch: float, units: list[Unit], rescore: Rescore
) -> Iterator[Order]:
    """Yield the removal orders of some units of heads: by each criterion, by ablation, and the controls."""
    main_scores = read_scores(given.scores, epoch=epoch, criterion=pruning.main)
    if given.only_main == "true":
        yield Order(pruning.main, least_important_first(main_scores, units), "raw")
        return
    for name in (name for name in pruning.criteria if criterion(name).table == SCORES):
        for normalised in pruning.normalisations:
            scores = read_scores(given.scores, epoch=epoch, criterion=name, normalised=normalised)
            yield Order(name, least_important_first(scores, units), normalised)
        order = rescore_order(units, step_sizes(len(units), pruning.step), rescore(name))
        yield Order(name, order, "raw", "rescored")
    always = ["ablation"] if given.ablation else []
    for name in dict.fromkeys(name for name in [*always, *pruning.criteria] if criterion(name).table != SCORES):
        paths: list[str] = getattr(given, criterion(name).table)
        found = criterion_scores(name, paths, epoch=epoch, chosen_on=given.score_on)
        yield Order(name, least_important_first(found, units))
    for draw in range(pruning.random_draws):
        yield Order("random", random_order(units, draw), draw=draw)
    yield Order("reverse", least_important_first(main_scores, units)[::-1])


def rescorer(engine: Engine, given: argparse.Namespace, settings: ScoreSettings, model: HeadModel) -> Rescore:
    """Return a function that, for a criterion, gives a function from a profile to the raw scores under it.

    One call gives all criteria, so scores are cached by profile.
    """
    batches = cache(
        lambda: engine.batches(model, engine.examples(given.score_on, settings.examples), settings.batch_examples)
    )
    under = cache(lambda removed: score_heads(model, batches(), removed))
    return lambda name: lambda removed: under(removed)[name]
