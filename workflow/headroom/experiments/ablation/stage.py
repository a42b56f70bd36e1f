"""Remove each head on its own and measure the effect, on every given set (Michel et al. 2019, section 3.2)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.heads import HALVES, Head, Site, all_heads
from headroom.core.interventions import Intervention, Replacement
from headroom.core.table import signature
from headroom.experiments.ablation.declared import ABLATION, ABLATION_HALVES, AblationSettings
from headroom.models.command import OneModelJob, Sweep, open_engine

if TYPE_CHECKING:
    from headroom.methods.judging import Judge

logger = logging.getLogger("headroom.experiments.ablation.stage")


class Ablation(OneModelJob, Sweep):
    """Remove each head on its own, on every set."""

    sets: list[str] = Field(["choose", "test"], description="evaluation sets")
    halves: Path | None = Field(None, description="table of effects on halves of the first set; unset for none")
    ablation: AblationSettings = AblationSettings()


def run(job: Ablation) -> None:
    """Ablate every head on every set and write the table."""
    engine = open_engine(job)
    import pandas

    from headroom.experiments.ablation.alike import check_effects
    from headroom.methods.judging import build_judges
    from headroom.methods.repair import replacements_for

    examples = job.ablation.examples
    sets = [engine.judged_set(name, examples) for name in job.sets]
    model, kind = engine.load(job.checkpoint), job.replacement
    replacements = replacements_for(kind, engine, model)
    judges = build_judges(model, sets, job, partial(list_interventions, replacement=kind), "ablation", replacements)
    if job.share:
        return
    leading = job.leading_columns(job.checkpoint) | {"replacement": kind}
    heads = all_heads(judges[0].model.sites)
    rows: list[dict[str, Any]] = []
    for judge in judges:
        rows += [leading | row for row in effects(judge, heads, kind)]
        logger.info("ablated %d heads on %s", len(heads), judge.set.name)
    if alike := check_effects(pandas.DataFrame(rows)).describe():
        logger.info("%s", alike)
    ABLATION.write(job.output, rows)
    if job.halves:
        ABLATION_HALVES.write(job.halves, [leading | row for row in effects_on_halves(judges[0], heads, kind)])


def list_interventions(sites: Sequence[Site], replacement: Replacement = "zero") -> list[Intervention]:
    """Return the removal of each head on its own."""
    return [Intervention.without(head, replacement=replacement) for head in all_heads(sites)]


def effects(judge: Judge, heads: Sequence[Head], replacement: Replacement = "zero") -> list[dict[str, Any]]:
    """Return the effect of removing each head on its own; corrections are over the heads, per metric."""
    from headroom.methods.judging import comparisons

    cases = [(asdict(head), Intervention.without(head, replacement=replacement)) for head in heads]
    return comparisons(judge, cases)


def effects_on_halves(
    judge: Judge, heads: Sequence[Head], replacement: Replacement = "zero"
) -> Iterator[dict[str, Any]]:
    """Yield, for each half of the judge's set, the loss in the main metric without each head."""
    import numpy

    from headroom.core.statistics import harm

    metric = judge.set.metrics[0]
    about = signature(metric=metric, set=judge.set.name)
    halves = ("choose", "score")
    weights = numpy.zeros((2, len(judge.full.sample.statistics[metric])))  # (2, examples)
    for place, half in enumerate(halves):
        weights[place, HALVES[half]] = 1
    full = judge.full.sample.resampled(weights)[metric]  # (2,)
    harms = {}
    for head in sorted(heads):
        alone = judge.outcome(Intervention.without(head, replacement=replacement)).sample.resampled(weights)[metric]
        harms[head] = harm(metric, alone - full)
    for place, half in enumerate(halves):
        for head, values in harms.items():
            row = {**asdict(head), "criterion": "ablation", "half": half, "value": float(values[place])}
            yield row | {"signature": about}
