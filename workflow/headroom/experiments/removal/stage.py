"""Slice heads out of a checkpoint, if configured with a repair, save, reload, and check against the masked model."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, format_profile, parse_profile
from headroom.core.interventions import Intervention
from headroom.core.table import signature
from headroom.experiments.pruning.declared import OrderSettings
from headroom.experiments.removal.declared import REMOVAL, RemovalSettings
from headroom.methods.orders import read_order, take_first
from headroom.models.command import Judging, OneModelJob, open_engine
from headroom.settings.job import read_epoch

if TYPE_CHECKING:
    from headroom.models.engine import EvaluationSet, Outcome
    from headroom.models.gates import Replacements
    from headroom.models.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.removal.stage")


class Removal(OneModelJob, Judging):
    """Slice heads out, save, reload, and check against masking."""

    scores: Path | None = Field(None, description="table of the stage scores, which determines the order")
    heads: str | None = Field(None, description="instead: the heads to remove, e.g. 'E1:2 A3:4'")
    set: str = Field("test", description="set on which sliced and masked model are compared")
    sliced: Path = Field(description="directory of the sliced model, which is written")
    output: Path = Field(description="table of checks")
    removal: RemovalSettings = RemovalSettings()
    pruning: OrderSettings = OrderSettings()


def run(job: Removal) -> None:
    """Slice, save, reload, compare, write the table."""
    engine = open_engine(job)
    import torch

    from headroom.methods.repair import CALIBRATION_SET, calibrate_on

    settings = job.removal
    judged = engine.judged_set(job.set)
    full = engine.load(job.checkpoint)
    intervention = Intervention(chosen_heads(job, full, settings.share), repair=settings.repair)
    replacements = None if settings.repair == "none" else calibrate_on(engine, full)
    sliced = engine.load(job.checkpoint)
    sliced.realise(intervention, replacements)
    sliced.save(job.sliced)
    del sliced  # another one is loaded
    checks = compare(full, intervention, engine.load(str(job.sliced)), judged, replacements)
    logger.info("removed %d heads; outputs identical: %s", len(intervention.removed), bool(checks["identical_outputs"]))
    repair = {} if replacements is None else {"repair": settings.repair, "calibration": CALIBRATION_SET}
    gone = {"heads_removed": len(intervention.removed), "removed": format_profile(intervention.removed)}
    gone |= {"signature": signature(set=job.set, torch=torch.__version__, **repair)}
    rows = [
        job.leading_columns(job.checkpoint) | gone | {"check": name, "value": value} for name, value in checks.items()
    ]
    REMOVAL.write(job.output, rows)


def chosen_heads(job: Removal, model: HeadModel, share: float) -> frozenset[Head]:
    """Return the named heads, or the least important share of all by the score table.

    Raises:
        HeadroomError: If neither heads nor a table is job, or a head does not exist.
    """
    if job.heads is not None:
        return parse_profile(job.heads, model.sites)
    if job.scores is None:
        raise HeadroomError("heads to remove: not given; give --scores TABLE or --heads 'E1:2 A3:4'")
    settings = job.pruning
    order = read_order(job.scores, epoch=read_epoch(job.checkpoint), settings=settings, model=model)
    return take_first(order, round(share * len(order)))


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
