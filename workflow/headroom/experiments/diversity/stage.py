"""Measure the similarity of the heads of every site, at every epoch: of weights, also as particles, and on text."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.progress import follow_items
from headroom.core.table import signature
from headroom.experiments.diversity.declared import DIVERSITY, PARTICLES, DiversitySettings
from headroom.models.command import EpochsJob, open_engine
from headroom.settings.job import read_epoch

if TYPE_CHECKING:
    from headroom.experiments.diversity.measures import Particles

logger = logging.getLogger("headroom.experiments.diversity.stage")


class Diversity(EpochsJob):
    """Measure the similarity of the heads of every site, at every epoch."""

    set: str = Field("check", description="evaluation set for the comparison")
    output: Path = Field(description="table of diversity per site")
    particles: Path = Field(description="table of heads as particles, per site and projection")
    diversity: DiversitySettings = DiversitySettings()


def run(job: Diversity) -> None:
    """Compare the heads of each checkpoint and write both tables."""
    engine = open_engine(job)
    from headroom.experiments.diversity.geometry import PROJECTIONS, geometry
    from headroom.experiments.diversity.measures import (
        OF_PARTICLES,
        STEP,
        extract_particles,
        particle_similarity,
        particle_steps,
        text_similarity,
    )

    settings = job.diversity
    examples: Any = engine.examples(job.set, settings.examples)
    rows: list[dict[str, Any]] = []
    measured: list[dict[str, Any]] = []
    as_particles = signature(particles="separate", median="pairs")
    before: tuple[float, Particles] | None = None
    for checkpoint in follow_items(job.checkpoints, "diversity", "epochs"):
        model = engine.load(checkpoint, maps=True)
        particles = extract_particles(model)
        found = particle_similarity(particles)
        about = dict.fromkeys(OF_PARTICLES, signature(mean="pairs-of-heads", particles="separate"))
        if before:
            found[STEP] = particle_steps(before[1], particles)
            about[STEP] = signature(since=f"epoch{before[0]}")
        found |= text_similarity(model, engine.example_batches(model, examples, settings.batch_examples))
        on_text = signature(mean="pairs-of-heads", set=job.set, examples=len(examples))
        for measure, sites in found.items():
            for site, value in sites.items():
                row = {"kind": site.kind, "layer": site.layer, "measure": measure, "value": value}
                rows.append(job.leading_columns(checkpoint) | row | {"signature": about.get(measure, on_text)})
        for site, systems in particles.items():
            for projection, system in zip(PROJECTIONS, systems):
                place = {"kind": site.kind, "layer": site.layer, "projection": projection, "signature": as_particles}
                row = job.leading_columns(checkpoint) | place
                measured += [row | {"measure": name, "value": value} for name, value in geometry(system).items()]
        before = read_epoch(checkpoint), particles
        del model  # the next one is loaded
        logger.info("compared the heads of %s", checkpoint)
    DIVERSITY.write(job.output, rows)
    PARTICLES.write(job.particles, measured)
