"""Remove each head alone and see what it costs, on every set given (Michel et al. 2019, section 3.2)."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from headroom.core import tables
from headroom.core.bootstrap import harm
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.heads import Head, all_heads
from headroom.core.interventions import Intervention
from headroom.core.table import signature
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.methods.halves import HALVES, half_rows
from headroom.methods.judging import Judge, comparisons
from headroom.methods.shards import add_shards, judged_share, read_shards, write_shard
from headroom.settings.experiments import AblationSettings

logger = logging.getLogger("headroom.stages.ablation")


USES = ("model", "judging")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("ablation", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument("--sets", nargs="+", default=["choose", "test"], help="evaluation sets")
    parser.add_argument("--output", required=True, help="table of effects")
    parser.add_argument("--halves", help="table of effects on halves of the first set; unset for none")
    add_shards(parser)
    add_settings(parser, ablation=AblationSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Ablate every head on every set and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    examples = settings_from(given, "ablation", AblationSettings).examples
    sets = [engine.judged_set(name, examples) for name in given.sets]
    model = engine.load(given.checkpoint)
    heads = all_heads(model.sites)
    known = read_shards(given.merge)
    judges = [Judge(model, judged, known.get(judged.name)) for judged in sets]
    if given.shard:
        alone = [Intervention.without(head) for head in heads]
        write_shard(given.output, {judge.set.name: judged_share(judge, alone, given.shard) for judge in judges})
        return
    leading = {"study": given.study, "run": given.run, "epoch": epoch_of(given.checkpoint)}
    rows: list[dict[str, Any]] = []
    for judge in judges:
        rows += [{**leading, **row} for row in effects(judge, heads)]
        logger.info("ablated %d heads on %s", len(heads), judge.set.name)
    tables.ABLATION.write(given.output, rows)
    if given.halves:
        about = signature(metric=judges[0].set.metrics[0], set=judges[0].set.name)
        halves = [{**leading, **row, "signature": about} for row in effects_on_halves(judges[0], heads)]
        tables.ABLATION_HALVES.write(given.halves, halves)


def effects(judge: Judge, heads: Sequence[Head]) -> list[dict[str, Any]]:
    """Return what removing each head alone does; corrections are over the heads, per metric."""
    return comparisons(
        judge,
        [({"kind": head.kind, "layer": head.layer, "head": head.head}, Intervention.without(head)) for head in heads],
    )


def effects_on_halves(judge: Judge, heads: Sequence[Head]) -> Iterator[dict[str, Any]]:
    """Yield, for each half of the judge's set, how much worse the main metric is without each head."""
    metric = judge.set.metrics[0]
    examples = len(judge.full.sample.statistics[metric])
    weights = numpy.stack([numpy.arange(examples) % 2 == half for half in range(2)]).astype(float)  # (2, examples)
    full = judge.full.sample.resampled(weights)[metric]  # (2,)
    alone = {head: judge.outcome(Intervention.without(head)).sample for head in heads}
    harms = {head: harm(metric, sample.resampled(weights)[metric] - full) for head, sample in alone.items()}
    for index, half in enumerate(HALVES):
        yield from half_rows("ablation", half, {head: float(values[index]) for head, values in harms.items()})


if __name__ == "__main__":
    run(main)
