"""Measure the heads of every site as particles, at every epoch: norm, kernel, direction of repulsion."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.diversity.declared import PARTICLES

if TYPE_CHECKING:
    from headroom.core.heads import Site
    from headroom.engines.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.diversity.particles")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("particles", __doc__, engine, several=True)
    parser.add_argument("--output", required=True, help="table of particles per site and projection")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the heads of each checkpoint and write the table."""
    engine, given = given_engine(build_parser, arguments)
    about = signature(particles="separate", median="pairs")
    rows: list[dict[str, Any]] = []
    for checkpoint in given.checkpoints:
        for (site, projection), values in measure_heads(engine.load(checkpoint)).items():
            place = {"kind": site.kind, "layer": site.layer, "projection": projection, "signature": about}
            for measure, value in values.items():
                rows.append(leading_columns(given, checkpoint) | place | {"measure": measure, "value": value})
        logger.info("measured the heads of %s", checkpoint)
    PARTICLES.write(given.output, rows)


def measure_heads(model: HeadModel) -> dict[tuple[Site, str], dict[str, float]]:
    """Return the measures of every projection of every site with more than one head, by site and projection."""
    from headroom.experiments.diversity.geometry import PROJECTIONS, geometry
    from headroom.experiments.diversity.measures import extract_particles

    return {
        (site, projection): geometry(system)
        for site, systems in extract_particles(model).items()
        for projection, system in zip(PROJECTIONS, systems)
    }
