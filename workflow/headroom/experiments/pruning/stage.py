"""Pruning curves: the metric against the number of heads removed, by criteria and controls, also with repairs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Unit
from headroom.core.interventions import Intervention, Repair
from headroom.core.progress import follow_items
from headroom.experiments.pruning.declared import PRUNING, PruningSettings
from headroom.experiments.scores.declared import Rankings, ScoreSettings
from headroom.methods.criteria import SCORES, Scores, criterion, criterion_scores
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
from headroom.models.command import EpochsJob, Sweep, open_engine
from headroom.models.engine import Engine
from headroom.settings.job import read_epoch

if TYPE_CHECKING:
    from headroom.methods.judging import Judged
    from headroom.models.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.pruning.stage")

Rescore = Callable[[str], Callable[[frozenset[Head]], Scores]]
"""From a criterion to a function from a profile to the raw scores under it."""


class Pruning(EpochsJob, Sweep, Rankings):
    """Remove more and more heads, by every order and its controls."""

    orders: list[str] | None = Field(
        None,
        description=f"orders of removal: criteria, or controls: {', '.join(CONTROLS)}; unset for the criteria, random "
        f"and {REVERSE}",
    )
    rescored: list[str] = Field([], description="criteria that also score again after every step")
    repairs: list[Repair] = Field([], description="repairs, each with its curves")
    score_on: str = Field("choose", description="set for re-scoring and for the ablation order")
    judge_on: str = Field("test", description="set for the curves")
    scopes: list[str] = Field(
        ["all"],
        description="heads that compete, each with its curves: all, a kind (E, A, D), a site (A3), or `sites`: each",
    )
    pruning: PruningSettings = PruningSettings()
    scoring: ScoreSettings = ScoreSettings()


def run(job: Pruning) -> None:
    """Measure the curves of each checkpoint and write the table."""
    engine = open_engine(job)
    from headroom.core.resamples import Resamples, resamples_beside
    from headroom.methods.judging import Judge, curve, follow, judge_share, read_shards, write_shard
    from headroom.methods.repair import calibrate_on, replacements_for

    pruning, scoring = job.pruning, job.scoring
    names = job.orders or [*pruning.criteria, "random", REVERSE]
    for name in (pruning.main, *job.rescored, *(name for name in names if name not in CONTROLS)):
        if not criterion(name).score and name in job.rescored:
            raise HeadroomError(f"--rescored {name}: cannot be scored again; leave it out")
    judged = engine.judged_set(job.judge_on, pruning.test_examples)
    known = read_shards(job.merge)
    judged_by_epoch: dict[str, Judged] = {}
    rows: list[dict[str, Any]] = []
    resamples = Resamples()
    for checkpoint in follow_items(job.checkpoints, "pruning", "epochs"):
        model = engine.load(checkpoint)
        epoch = read_epoch(checkpoint)
        replacements = calibrate_on(engine, model) if job.repairs else replacements_for(job.replacement, engine, model)
        judge = Judge(model, judged, known.get(f"epoch {epoch}"), replacements=replacements)
        rescore = rescorer(engine, job, scoring, checkpoint, model)
        scopes = [one for name in job.scopes for one in (map(str, model.sites) if name == "sites" else [name])]
        repairs: list[Repair] = ["none", *job.repairs]
        found = [  # all of them first, so that errors in tables are reported before any evaluation
            (scope, order, dict[str, Any](replacement=job.replacement, repair=repair))
            for scope in follow_items(scopes, "pruning", f"scopes ordered at epoch {epoch}")
            for name in names
            for order in orders(name, job, pruning, epoch, model.units(pruning.unit, scope), rescore)
            for repair in repairs
        ]
        points = [Intervention(gone, **how) for _, order, how in found for gone in profiles(order, pruning.step)]
        share = job.share.share(filter(None, points)) if job.share else points
        follow([judge], share, "pruning", f"profiles of epoch {epoch}")
        if job.share:
            judged_by_epoch[f"epoch {epoch}"] = judge_share(judge, points, job.share)
            continue
        for scope, order, how in found:
            leading = {**job.leading_columns(checkpoint), "scope": scope, **how}
            rows += [leading | row for row in curve(judge, order, pruning.step, resamples, **how)]
        logger.info("epoch %g: done", epoch)
    if job.share:
        write_shard(job.output, judged_by_epoch)
    else:
        PRUNING.write(job.output, rows)
        resamples.write(resamples_beside(job.output))


def orders(
    name: str, job: Pruning, pruning: PruningSettings, epoch: float, units: list[Unit], rescore: Rescore
) -> Iterator[Order]:
    """Yield the removal orders of some units of heads by a criterion or a control.

    By a criterion that is scored at every epoch there is one for each normalisation, or one of raw scores without any.
    """
    if name == REVERSE:
        main_scores = read_scores(*job.scores, epoch=epoch, criterion=pruning.main)
        yield Order(REVERSE, least_important_first(main_scores, units)[::-1])
        return
    if name in CONTROLS:
        yield from control_orders(name, units, draws=pruning.random_draws)
        return
    one = criterion(name)
    if not one.score:
        found = criterion_scores(name, getattr(job, one.table), epoch=epoch, chosen_on=job.score_on)
        yield Order(name, least_important_first(found, units))
        return
    ways = pruning.normalisations if one.table == SCORES else ()
    for normalised in ways or ("",):
        scores = read_scores(*job.scores, epoch=epoch, criterion=name, normalised=normalised or "raw")
        yield Order(name, least_important_first(scores, units), normalised)
    if name in job.rescored:
        order = rescore_order(units, step_sizes(len(units), pruning.step), rescore(name))
        yield Order(name, order, "raw" if ways else "", "rescored")


def rescorer(engine: Engine, job: Pruning, settings: ScoreSettings, checkpoint: str, model: HeadModel) -> Rescore:
    """Return a function that, for a criterion, gives a function from a profile to the raw scores under it.

    One call may give several criteria, so scores are cached by profile.
    """
    examples = cache(lambda: engine.examples(job.score_on, settings.examples))
    load = cache(lambda maps: engine.load(checkpoint, maps=True) if maps else model)
    batches = cache(lambda maps: engine.batches(load(maps), examples(), settings.batch_examples))
    under = cache(lambda score, maps, removed: score(load(maps), batches(maps), removed))
    return lambda name: lambda removed: under(criterion(name).score, criterion(name).maps, removed)[name]
