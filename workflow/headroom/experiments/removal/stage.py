"""Find how many heads can go, slice them out, if configured with a repair, save, and check against the masked model."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, format_profile, parse_profile
from headroom.core.interventions import Intervention
from headroom.core.table import signature
from headroom.experiments.pruning.declared import ComparedOrderSettings
from headroom.experiments.removal.declared import REMOVABLE, REMOVAL, RemovalSettings
from headroom.methods.criteria import SCORES, criterion, criterion_scores
from headroom.methods.judging import Judge
from headroom.methods.orders import Order, least_important_first, read_order, read_scores
from headroom.methods.slimming import Tried, find_lack_of_skill, find_removable, remove_first
from headroom.models.command import Judging, OneModelJob, open_engine
from headroom.settings.job import read_epoch

if TYPE_CHECKING:
    from headroom.models.engine import Engine, EvaluationSet, Outcome
    from headroom.models.gates import Replacements
    from headroom.models.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.removal.stage")


class Removal(OneModelJob, Judging):
    """Remove as many heads as a tolerance allows, a share, or named ones; save, reload, check against masking."""

    scores: Path | None = Field(None, description="table of the stage scores, which gives orders of removal")
    ablation: Path | None = Field(None, description="table of the stage ablation, which gives one more")
    heads: str | None = Field(None, description="instead: the heads to remove, e.g. 'E1:2 A3:4'")
    set: str = Field("test", description="set on which removal is tested")
    check: str = Field("check", description="set on which orders of removal are compared")
    smaller: Path = Field(description="directory of the smaller model, which is written, with heads.json")
    removable: Path = Field(description="table of the numbers of heads that were tested")
    output: Path = Field(description="table of checks")
    removal: RemovalSettings = RemovalSettings()
    pruning: ComparedOrderSettings = ComparedOrderSettings()


def run(job: Removal) -> None:
    """Choose heads, slice them out, save, reload, compare, write both tables."""
    engine = open_engine(job)
    import torch

    from headroom.methods.repair import CALIBRATION_SET, calibrate_on

    repair = job.removal.repair
    judged = engine.judged_set(job.set)
    full = engine.load(job.checkpoint)
    replacements = None if repair == "none" else calibrate_on(engine, full)
    held_out = Judge(full, judged, replacements=replacements)
    tried, removed = choose_heads(job, engine, held_out)
    chosen = next(one for one in reversed(tried) if one.removed == removed and one.set == job.set)
    intervention = Intervention(removed, repair=repair)
    smaller = engine.load(job.checkpoint)
    smaller.realise(intervention, replacements)
    smaller.save(job.smaller, describe_loss(job, chosen, judged.metrics[0]))
    del smaller  # another one is loaded
    checks = compare(full, intervention, engine.load(str(job.smaller)), judged, replacements)
    logger.info("removed %d heads; outputs identical: %s", len(removed), bool(checks["identical_outputs"]))
    how = {} if replacements is None else {"repair": repair, "calibration": CALIBRATION_SET}
    leading, about = job.leading_columns(job.checkpoint), signature(set=job.set, torch=torch.__version__, **how)
    gone = {"heads_removed": len(removed), "removed": format_profile(removed), "signature": about}
    total = sum(site.heads for site in full.sites)
    rows = [row | {"heads_total": total, "chosen": int(one is chosen)} for one, row in tabulate(job, tried, judged)]
    REMOVABLE.write(job.removable, [leading | row | {"signature": about} for row in rows])
    REMOVAL.write(job.output, [leading | gone | {"check": name, "value": value} for name, value in checks.items()])


def choose_heads(job: Removal, engine: Engine, held_out: Judge) -> tuple[list[Tried], frozenset[Head]]:
    """Return what was tried, and the heads to remove: named ones, a share of all, or as many as the tolerance allows.

    Raises:
        HeadroomError: If none of these is given, or no table of scores, or a head does not exist.
    """
    settings, model = job.removal, held_out.model
    if job.heads is not None:
        named = parse_profile(job.heads, model.sites)
        return try_first(held_out, Order("given", [(head,) for head in sorted(named)]), len(named), settings)
    if job.scores and settings.share is not None:
        units = read_order(job.scores, epoch=read_epoch(job.checkpoint), settings=job.pruning, model=model)
        return try_first(held_out, Order(job.pruning.main, units, "raw"), round(settings.share * len(units)), settings)
    if job.scores and settings.tolerance is not None:
        judged = engine.judged_set(job.check, job.pruning.test_examples)
        chooser = Judge(model, judged, replacements=held_out.replacements)
        orders = list_orders(job, job.scores, model)
        if lack := find_lack_of_skill(chooser) or find_lack_of_skill(held_out):
            logger.warning("no head is removed: %s", lack)
            return try_first(held_out, orders[0], 0, settings)
        found = find_removable(chooser, held_out, orders, settings.tolerance, settings.repair)
        return [*found.compared, *found.tried], found.removed
    raise HeadroomError(
        "heads to remove: not given; give --heads 'E1:2 A3:4', or --scores TABLE with --tolerance 0.02 or --share 0.5"
    )


def try_first(judge: Judge, order: Order, count: int, settings: RemovalSettings) -> tuple[list[Tried], frozenset[Head]]:
    """Return what removal of the first units of an order costs, and their heads."""
    tried = remove_first(judge, order, count, 1.0, settings.repair)
    return [tried], tried.removed


def list_orders(job: Removal, table: Path, model: HeadModel) -> list[Order]:
    """Return the orders that are compared: by criteria of a table of scores, and by single-head ablation if given."""
    epoch, units, orders = read_epoch(job.checkpoint), model.units(job.pruning.unit), []
    for name in job.pruning.criteria:
        for normalised in job.pruning.normalisations if criterion(name).table == SCORES else ():
            scores = read_scores(table, epoch=epoch, criterion=name, normalised=normalised)
            orders.append(Order(name, least_important_first(scores, units), normalised))
    if job.ablation:
        alone = criterion_scores("ablation", [job.ablation], epoch=epoch)
        orders.append(Order("ablation", least_important_first(alone, units)))
    return orders


def tabulate(job: Removal, tried: Sequence[Tried], judged: EvaluationSet) -> Iterator[tuple[Tried, dict[str, Any]]]:
    """Yield what was tried, each with the columns of its row, once per set, order and number of heads."""
    seen = {(one.set, one.order, one.normalised, len(one.removed)): one for one in tried}
    tolerance = job.removal.tolerance if job.heads is None and job.removal.share is None else None
    for one in seen.values():
        row: dict[str, Any] = {"set": one.set, "order": one.order, "normalised": one.normalised}
        row |= {"heads_removed": len(one.removed), "removed": format_profile(one.removed)}
        row |= {"metric": judged.metrics[0], "value": one.value, "full": one.full, "tolerance": tolerance}
        yield one, row | {"loss": one.loss.value, "low": one.loss.low, "high": one.loss.high}


def describe_loss(job: Removal, chosen: Tried, metric: str) -> list[str]:
    """Return what a model card says of the scores with and without the heads."""
    lost = f"{100 * chosen.loss.value:.1f} % [{100 * chosen.loss.low:.1f}, {100 * chosen.loss.high:.1f}]"
    return [
        f"Study {job.study}, run {job.run}, order of removal: {chosen.order}. On its set {chosen.set}, which chose "
        f"nothing, {metric} is {chosen.value:.4g}, with all heads {chosen.full:.4g}: {lost} of the score (above "
        "chance) is lost, with a 95 % interval.",
        "The removed heads are listed in heads.json.",
    ]


def compare(
    full: HeadModel,
    intervention: Intervention,
    sliced: HeadModel,
    judged: EvaluationSet,
    replacements: Replacements | None = None,
) -> dict[str, float]:
    """Return the checks: masked and sliced model on the same examples, their sizes; with a repair also its effect."""
    import torch

    with torch.inference_mode():
        batches = judged.batches(full)
        with full.gates.applied(intervention, replacements):
            masked = judged.judge(full)
            largest = max(float((full.logits(batch) - sliced.logits(batch)).abs().max()) for batch in batches)
        found = judged.judge(sliced)
        losses = {} if replacements is None else losses_around(full, intervention, found, judged)
    return {
        "identical_outputs": float(masked.answers == found.answers),
        "differing_outputs": float(sum(a != b for a, b in zip(masked.answers, found.answers))),
        "largest_logit_difference": largest,
        "parameters_full": float(full.count_parameters()),
        "parameters_sliced": float(sliced.count_parameters()),
        "examples": float(len(masked.answers)),
        **losses,
    }


def losses_around(
    full: HeadModel, intervention: Intervention, repaired: Outcome, judged: EvaluationSet
) -> dict[str, float]:
    """Return the losses of the full model, without the heads, and without them but repaired."""
    with full.gates.masked(intervention.removed):
        without = judged.judge(full)
    named = {"loss_full": judged.judge(full), "loss_unrepaired": without, "loss_repaired": repaired}
    return {name: outcome.scores["loss"] for name, outcome in named.items()}
