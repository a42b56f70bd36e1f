"""Remove each head on its own and measure the effect, on every given set (Michel et al. 2019, section 3.2)."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import HALVES, Head, Site, all_heads
from headroom.core.interventions import Intervention, Replacement, add_replacement, add_shards
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.ablation.declared import ABLATION, ABLATION_HALVES, AblationSettings

if TYPE_CHECKING:
    from headroom.methods.judging import Judge

logger = logging.getLogger("headroom.experiments.ablation.stage")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("ablation", __doc__, engine)
    parser.add_argument("--sets", nargs="+", default=["choose", "test"], help="evaluation sets")
    parser.add_argument("--output", required=True, help="table of effects")
    parser.add_argument("--halves", help="table of effects on halves of the first set; unset for none")
    add_replacement(parser)
    add_shards(parser)
    add_settings(parser, ablation=AblationSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Ablate every head on every set and write the table."""
    engine, given = given_engine(build_parser, arguments)
    import pandas

    from headroom.experiments.ablation.alike import check_effects
    from headroom.methods.judging import build_judges
    from headroom.methods.repair import replacements_for

    examples = settings_from(given, "ablation", AblationSettings).examples
    sets = [engine.judged_set(name, examples) for name in given.sets]
    model, kind = engine.load(given.checkpoint), given.replacement
    replacements = replacements_for(kind, engine, model)
    judges = build_judges(model, sets, given, partial(list_interventions, replacement=kind), "ablation", replacements)
    if given.shard:
        return
    leading = leading_columns(given) | {"replacement": kind}
    heads = all_heads(judges[0].model.sites)
    rows: list[dict[str, Any]] = []
    for judge in judges:
        rows += [leading | row for row in effects(judge, heads, kind)]
        logger.info("ablated %d heads on %s", len(heads), judge.set.name)
    if alike := check_effects(pandas.DataFrame(rows)).describe():
        logger.info("%s", alike)
    ABLATION.write(given.output, rows)
    if given.halves:
        ABLATION_HALVES.write(given.halves, [leading | row for row in effects_on_halves(judges[0], heads, kind)])


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
