"""Keep one head per site, chosen and evaluated on the same or two sets (Michel et al. 2019, Tables 2, 3, 5, 6)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.heads import Head, Site
from headroom.core.interventions import Intervention, Replacement
from headroom.experiments.keep_one.declared import KEEP_ONE, KeepOneSettings
from headroom.models.command import OneModelJob, Sweep, open_engine

if TYPE_CHECKING:
    from headroom.methods.judging import Judge

logger = logging.getLogger("headroom.experiments.keep_one.stage")


class KeepOne(OneModelJob, Sweep):
    """Keep each head as the only one of its site, on every set."""

    sets: list[str] = Field(["choose", "test"], description="sets on which every head is tested and chosen")
    keep_one: KeepOneSettings = KeepOneSettings()


def run(job: KeepOne) -> None:
    """Evaluate every head as its site's only one on every set, find the best ones, write the table."""
    engine = open_engine(job)
    from headroom.methods.judging import build_judges
    from headroom.methods.repair import replacements_for

    examples = job.keep_one.examples
    sets = [engine.judged_set(name, examples) for name in job.sets]
    model, kind = engine.load(job.checkpoint), job.replacement
    replacements = replacements_for(kind, engine, model)
    judges = build_judges(model, sets, job, partial(list_interventions, replacement=kind), "keep_one", replacements)
    if job.share:
        return
    leading = job.leading_columns(job.checkpoint) | {"replacement": kind}
    sites = judges[0].model.sites
    chosen = {judge.set.name: [best_head(judge, site, kind) for site in sites] for judge in judges}
    rows: list[dict[str, Any]] = []
    for judge in judges:
        logger.info("chose %s on %s", " ".join(map(str, chosen[judge.set.name])), judge.set.name)
        rows += [leading | row for row in effects(judge, sites, chosen, kind)]
    KEEP_ONE.write(job.output, rows)


def list_interventions(sites: Sequence[Site], replacement: Replacement = "zero") -> list[Intervention]:
    """Return the removal of the other heads of its site, for every head."""
    return [all_but(head, site, replacement) for site in sites for head in site.head_names()]


def all_but(head: Head, site: Site, replacement: Replacement = "zero") -> Intervention:
    """Return the removal of the other heads of a head's site."""
    return Intervention(frozenset(site.head_names()) - {head}, replacement=replacement)


def best_head(judge: Judge, site: Site, replacement: Replacement = "zero") -> Head:
    """Return the head with the highest main metric as the only one of its site; ties are broken by the loss."""
    main = judge.set.metrics[0]

    def quality(head: Head) -> tuple[float, float]:
        scores = judge.outcome(all_but(head, site, replacement)).scores
        return scores[main], -scores["loss"]

    return max(site.head_names(), key=quality)


def effects(
    judge: Judge, sites: Sequence[Site], chosen: dict[str, list[Head]], replacement: Replacement = "zero"
) -> list[dict[str, Any]]:
    """Return the effect of keeping each head as the only one of its site; corrections are over all heads, per metric.

    Args:
        judge: The model on a set.
        sites: The model's sites.
        chosen: The best head of every site, by the set that chooses.
        replacement: The replacement of the z of the other heads.
    """
    from headroom.methods.judging import comparisons

    cases = []
    for head, own in ((head, site) for site in sites for head in site.head_names()):
        chosen_on = " ".join(name for name, best in chosen.items() if head in best)
        cases.append(({**asdict(head), "chosen_on": chosen_on}, all_but(head, own, replacement)))
    return comparisons(judge, cases)
