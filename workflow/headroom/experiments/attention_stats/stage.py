"""Measure where every head points: confidence, relative positions, dependency relations, rare words.

The trained model is measured, and as a control an untrained one of the same shape.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from headroom.core.statistics import count_clusters
from headroom.core.table import signature
from headroom.data.trees import ParsedSentence, check_relations, read_trees
from headroom.experiments.attention_stats.declared import (
    ATTENTION_STATS,
    BATCH_EXAMPLES,
    DISTANCES,
    AttentionStatsSettings,
)
from headroom.models.command import OneModelJob, open_engine
from headroom.models.engine import Engine
from headroom.settings.base import SamplingSettings

if TYPE_CHECKING:
    from headroom.methods.pointing import Measured

logger = logging.getLogger("headroom.experiments.attention_stats.stage")

MODELS = ("trained", "untrained")

FRESH = 1
"""Seed of the weights of the untrained model."""


class AttentionStats(OneModelJob):
    """Measure where every head points."""

    treebank: Path | None = Field(None, description="sentences in CoNLL-U; unset for no relations")
    models: list[Literal["trained", "untrained"]] = Field(["trained"], description="models to measure")
    name: str = Field("trained", description="name of the trained model in the table")
    set: str = Field("check", description="evaluation set for the measurements")
    output: Path = Field(description="output table")
    distances: Path | None = Field(None, description="table of the distances of related words; unset for none")
    attention_stats: AttentionStatsSettings = AttentionStatsSettings()
    sampling: SamplingSettings = SamplingSettings()


def run(job: AttentionStats) -> None:
    """Measure each model and write the table."""
    engine = open_engine(job)
    settings = job.attention_stats
    resamples = job.sampling.resamples
    treebank = read_trees(job.treebank) if job.treebank else []
    if treebank:
        check_relations(settings.relations, treebank)
    examples = engine.examples(job.set, settings.examples)
    pointing = Pointing(engine, job, settings, resamples, examples, treebank[: settings.examples])
    rows: list[dict[str, Any]] = []
    for model in job.models:
        rows += pointing.rows(model)
        logger.info("measured the %s model of %s", model, job.checkpoint)
    ATTENTION_STATS.write(job.output, rows)
    if job.distances:
        DISTANCES.write(job.distances, pointing.distances())


@dataclass(frozen=True)
class Pointing:
    """The data and settings of the measurements."""

    engine: Engine
    job: AttentionStats
    settings: AttentionStatsSettings
    resamples: int
    examples: Any
    treebank: Sequence[ParsedSentence]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of one of `MODELS`."""
        leading = self.job.leading_columns(self.job.checkpoint) | {
            "model": self.job.name if name == "trained" else name
        }
        weights = f"|weights:fresh,seed{FRESH}" if name == "untrained" else ""
        found = []
        for one in self._measured(FRESH if name == "untrained" else None):
            columns = asdict(one)
            place = columns.pop("head") or {"kind": "", "layer": None, "head": None}
            found.append(leading | place | columns | {"signature": self._signature(one) + weights})
        return found

    def distances(self) -> list[dict[str, Any]]:
        """Return the rows of the distances of related words; none without a treebank."""
        from headroom.methods.syntax import relation_distances

        if not self.treebank:
            return []
        model = self.engine.load(self.job.checkpoint, maps=True)
        batches = self.engine.sentence_batches(model, [one.text for one in self.treebank], BATCH_EXAMPLES)
        found = relation_distances(batches, self.treebank, relations=self.settings.relations, resamples=self.resamples)
        about = signature(sentences=len(self.treebank), resamples=self.resamples)
        return [self.job.leading_columns(self.job.checkpoint) | asdict(one) | {"signature": about} for one in found]

    def _measured(self, fresh: int | None) -> list[Measured]:
        """Return the measurements of a model; `fresh` is a seed of untrained weights."""
        from headroom.methods.pointing import token_pointing
        from headroom.methods.syntax import relation_pointing

        engine, settings, resamples = self.engine, self.settings, self.resamples
        model = engine.load(self.job.checkpoint, fresh=fresh, maps=True)
        heads = {live.site: live.kept_heads() for live in model.live_sites if live.kept}
        batches = engine.example_batches(model, self.examples, BATCH_EXAMPLES)
        tokens, frequent = engine.frequencies(model), settings.frequent_tokens
        drawn = {"resamples": resamples, "clusters": self.examples.clusters}
        found = token_pointing(batches, heads, frequencies=tokens, frequent=frequent, **drawn)
        if not any(one.measure == "rare" for one in found):
            logger.warning("rare words: omitted, no training text or no sentence with a sufficiently rare token")
        if self.treebank:
            batches = engine.sentence_batches(model, [one.text for one in self.treebank], BATCH_EXAMPLES)
            found += relation_pointing(batches, self.treebank, heads, relations=settings.relations, resamples=resamples)
        return found

    def _signature(self, one: Measured) -> str:
        """Return the signature of a number, except for the model."""
        from headroom.methods.syntax import SHUFFLE_SEED

        if one.measure in ("relation", "mean-margin"):
            moved = {"moved": f"seed{SHUFFLE_SEED}"} if one.trees == "shuffled" else {}
            words = {"from": "mean-of-tokens", "to": "sum-of-tokens"}
            return signature(sentences=len(self.treebank), **words, **moved, resamples=self.resamples)
        on_set = {"set": self.job.set, "examples": len(self.examples)}
        if one.measure == "offset":
            return signature(**on_set)
        on_set |= count_clusters(self.examples.clusters)
        rare = {"frequent": self.settings.frequent_tokens} if one.measure == "rare" else {}
        return signature(**on_set, **rare, resamples=self.resamples)
