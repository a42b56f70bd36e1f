"""Compute the relevance of heads for the output by layer-wise relevance propagation (Voita et al. 2019, section 4)."""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.heads import HALVES
from headroom.core.progress import follow_items
from headroom.core.statistics import count_clusters
from headroom.core.table import signature
from headroom.experiments.attention_stats.declared import BATCH_EXAMPLES, RELEVANCE, RelevanceSettings
from headroom.models.command import OneModelJob, open_engine

if TYPE_CHECKING:
    from headroom.methods.relevance import Relevances

logger = logging.getLogger("headroom.experiments.attention_stats.relevance")

CONSERVED = 1e-3
"""Maximum relative error of the conservation of relevance; larger errors indicate an unsupported operation."""


class RelevanceJob(OneModelJob):
    """Propagate relevance to heads, layer by layer."""

    set: str = Field("check", description="evaluation set whose outputs are explained")
    output: Path = Field(description="table of relevance")
    relevance: RelevanceSettings = RelevanceSettings()


def run(job: RelevanceJob) -> None:
    """Explain a checkpoint's outputs and write the table."""
    engine = open_engine(job)
    from headroom.methods.propagation import choose_rule
    from headroom.methods.relevance import relevances

    settings = job.relevance
    examples = engine.examples(job.set, settings.examples)
    model = engine.load(job.checkpoint)
    batches = engine.batches(model, examples, BATCH_EXAMPLES)
    found = relevances(model, follow_items(batches, "relevance", "batches"), rule=choose_rule(settings))
    if not found.conservation_error <= CONSERVED:
        logger.warning(
            "warning: relevance is not conserved, the relative error is %.2g; the model contains an operation that the "
            "rules do not cover, do not rely on these relevances",
            found.conservation_error,
        )
    by = {"examples": len(examples), **count_clusters(examples.clusters)}
    about = signature(**_rule(settings), logit="top-1", set=job.set, **by)
    found_by_head = _rows(found, examples.clusters)
    rows = [job.leading_columns(job.checkpoint) | row | {"signature": about} for row in found_by_head]
    RELEVANCE.write(job.output, rows)


def _rule(settings: RelevanceSettings) -> dict[str, Any]:
    from headroom.methods.propagation import EPSILON

    named = {"lrp": settings.rule, "epsilon": EPSILON}
    return named if settings.rule == "epsilon" else named | {"alpha": settings.alpha, "beta": 1 - settings.alpha}


def _rows(found: Relevances, clusters: Sequence[Hashable]) -> Iterator[dict[str, Any]]:
    from headroom.methods.relevance import MEASURES, estimates

    for measure in MEASURES:
        for half in HALVES:
            for head, estimate in sorted(estimates(found, measure, half, clusters).items()):
                found_here = dict(zip(("value", "low", "high", "count"), estimate))
                yield {**asdict(head), "measure": measure, "half": half, **found_here}
    blank = {"kind": "", "layer": "", "head": "", "low": math.nan, "high": math.nan}
    error = {"measure": "conservation-error", "half": "all", "value": found.conservation_error}
    yield blank | error | {"count": int(found.steps.sum())}
