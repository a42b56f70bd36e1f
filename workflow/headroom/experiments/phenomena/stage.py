"""Measure accuracy per phenomenon: of a model, without its encoder heads, and without the heads of each relation."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, all_heads, format_profile
from headroom.core.interventions import Intervention
from headroom.core.table import signature
from headroom.experiments.phenomena.declared import PHENOMENA, PhenomenaSettings
from headroom.experiments.roles.declared import ROLES
from headroom.models.command import OneModelJob, open_engine
from headroom.settings.base import SamplingSettings

if TYPE_CHECKING:
    import pandas

logger = logging.getLogger("headroom.experiments.phenomena.stage")

RANDOM_DRAWS = 5
"""Draws of as many other encoder heads as each relation has, as for the random orders of curves."""
ENCODER = "encoder"
"""The group of all encoder heads."""


class Phenomena(OneModelJob):
    """Measure accuracy per phenomenon, also without heads."""

    set: str = Field("test", description="evaluation set")
    roles: Path = Field(description="table of roles")
    output: Path = Field(description="table of accuracies")
    phenomena: PhenomenaSettings = PhenomenaSettings()
    sampling: SamplingSettings = SamplingSettings()


def run(job: Phenomena) -> None:
    """Judge the cases under every removal, and write the table."""
    engine = open_engine(job)
    if job.engine != "seq2seq":
        raise HeadroomError(f"--engine {job.engine}: has no phenomena; give a translation model")
    from headroom.experiments.phenomena.forced_choice import ForcedChoices, compare_cases, random_groups, read_cases

    settings = job.phenomena
    resamples = job.sampling.resamples
    text: Any = engine.examples(job.set, settings.examples)
    cases = read_cases(Path(job.corpus) / f"{job.set}.phenomena.csv", len(text))
    roles = ROLES.read(job.roles)
    model: Any = engine.load(job.checkpoint)
    choices = ForcedChoices(model, text, cases)
    full = choices.correct()
    about = signature(set=job.set, sentences=len(text), resamples=resamples, forcing="teacher", score="contrast")
    rows: list[dict[str, Any]] = []
    for group, heads in groups(model.sites, roles).items():
        own = choices.correct(Intervention(heads))
        others = random_groups(model.sites, heads, RANDOM_DRAWS, group) if group != ENCODER else []
        drawn = [choices.correct(Intervention(other)) for other in others]
        leading = job.leading_columns(job.checkpoint) | {
            "set": job.set,
            "group": group,
            "removed": format_profile(heads),
        }
        found = compare_cases(cases, len(text), full=full, own=own, drawn=drawn, resamples=resamples)
        rows += [leading | row | {"signature": about} for row in found]
        logger.info("without %d heads (%s), and %d draws", len(heads), group, len(drawn))
    PHENOMENA.write(job.output, rows)


def groups(sites: Sequence[Site], roles: pandas.DataFrame) -> Mapping[str, frozenset[Head]]:
    """Return the heads that are removed together, by name: those of the encoder, and those of each relation.

    Args:
        sites: The model's sites.
        roles: Rows of the table `roles` of the model.
    """
    return {ENCODER: frozenset(all_heads(sites, "E")), **dict(_of_relations(roles))}


def _of_relations(roles: pandas.DataFrame) -> Iterator[tuple[str, frozenset[Head]]]:
    """Yield relations and the heads with a role for them, in either direction, of the trained model on gold trees."""
    gold = roles[(roles["role"] == "syntactic") & (roles["trees"] == "gold") & (roles["model"] == "trained")]
    relations = gold["target"].str.rpartition(":")[0] if len(gold) else gold["target"]
    for relation, rows in gold.groupby(relations, sort=True):
        names = zip(rows["kind"], rows["layer"], rows["head"])
        yield str(relation), frozenset(Head(kind, int(layer), int(head)) for kind, layer, head in names)
