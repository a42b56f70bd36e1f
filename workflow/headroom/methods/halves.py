"""Scores of heads on two halves of the examples, which say how well a criterion repeats itself."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from headroom.core.bootstrap import harm
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.methods.judging import Judge

HALVES = ("choose", "score")
"""Examples at even positions of the set, and at odd ones."""

COLUMNS = ("study", "run", "epoch", "kind", "layer", "head", "criterion", "half", "value", "signature")


def half_rows(criterion: str, half: str, scores: Mapping[Head, float]) -> Iterator[dict[str, Any]]:
    """Yield the columns from `kind` to `value` of every head."""
    for head in sorted(scores):
        place = {"kind": head.kind, "layer": head.layer, "head": head.head}
        yield {**place, "criterion": criterion, "half": half, "value": scores[head]}


def ablation_on_halves(judge: Judge, heads: list[Head]) -> Iterator[dict[str, Any]]:
    """Yield, for each half of the judge's set, how much worse the main metric is without each head."""
    metric = judge.set.metrics[0]
    examples = len(judge.full.sample.statistics[metric])
    weights = numpy.stack([numpy.arange(examples) % 2 == half for half in range(2)]).astype(float)  # (2, examples)
    full = judge.full.sample.resampled(weights)[metric]  # (2,)
    alone = {head: judge.outcome(Intervention.without(head)).sample for head in heads}
    harms = {head: harm(metric, sample.resampled(weights)[metric] - full) for head, sample in alone.items()}
    for index, half in enumerate(HALVES):
        yield from half_rows("ablation", half, {head: float(values[index]) for head, values in harms.items()})
