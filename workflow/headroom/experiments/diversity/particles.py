"""Measure the heads of every site as particles, at every epoch: norm, kernel, direction of repulsion."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.table import signature
from headroom.experiments.diversity.declared import PARTICLES
from headroom.models.command import EpochsJob, open_engine

if TYPE_CHECKING:
    from headroom.core.heads import Site
    from headroom.models.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.diversity.particles")


class Particles(EpochsJob):
    """Measure heads as particles, at every epoch."""

    output: Path = Field(description="table of particles per site and projection")


def run(job: Particles) -> None:
    """Measure the heads of each checkpoint and write the table."""
    engine = open_engine(job)
    about = signature(particles="separate", median="pairs")
    rows: list[dict[str, Any]] = []
    for checkpoint in job.checkpoints:
        for (site, projection), values in measure_heads(engine.load(checkpoint)).items():
            place = {"kind": site.kind, "layer": site.layer, "projection": projection, "signature": about}
            for measure, value in values.items():
                rows.append(job.leading_columns(checkpoint) | place | {"measure": measure, "value": value})
        logger.info("measured the heads of %s", checkpoint)
    PARTICLES.write(job.output, rows)


def measure_heads(model: HeadModel) -> dict[tuple[Site, str], dict[str, float]]:
    """Return the measures of every projection of every site with more than one head, by site and projection."""
    from headroom.experiments.diversity.geometry import PROJECTIONS, geometry
    from headroom.experiments.diversity.measures import extract_particles

    return {
        (site, projection): geometry(system)
        for site, systems in extract_particles(model).items()
        for projection, system in zip(PROJECTIONS, systems)
    }
