"""Measure the heads of every site as particles, at every epoch: norm, kernel, direction of repulsion."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns, read_epoch
from headroom.core.errors import HeadroomError
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.diversity.table import PARTICLES

if TYPE_CHECKING:
    from headroom.core.heads import Site
    from headroom.engines.head_model import HeadModel

    Measured = dict[tuple[Site, str], dict[str, float]]
    """By site and projection, a number per measure."""

logger = logging.getLogger("headroom.experiments.diversity.particles")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("particles", __doc__, engine, several=True)
    parser.add_argument("--output", required=True, help="table of particles per site and projection")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the heads of each checkpoint, the run's first epoch first, and write the table."""
    engine, given = given_engine(build_parser, arguments)
    from headroom.experiments.diversity.geometry import NORM_RATIO

    checkpoints = sorted(given.checkpoints, key=read_epoch)
    usual = signature(particles="separate", median="pairs")
    about = {NORM_RATIO: signature(since=f"epoch{read_epoch(checkpoints[0])}")}
    rows: list[dict[str, Any]] = []
    first: Measured | None = None
    for checkpoint in checkpoints:
        found = measure_heads(engine.load(checkpoint))
        first = found if first is None else first
        check_alike(found, first)
        for (site, projection), values in found.items():
            place = {"kind": site.kind, "layer": site.layer, "projection": projection}
            start = first[site, projection]["norm"]
            for measure, value in {**values, NORM_RATIO: values["norm"] / start if start else None}.items():
                row = {**place, "measure": measure, "value": value, "signature": about.get(measure, usual)}
                rows.append(leading_columns(given, checkpoint) | row)
        logger.info("measured the heads of %s", checkpoint)
    PARTICLES.write(given.output, rows)


def measure_heads(model: HeadModel) -> Measured:
    """Return the measures of every projection of every site with more than one head."""
    from headroom.experiments.diversity.geometry import PROJECTIONS, geometry
    from headroom.experiments.diversity.measures import extract_particles

    return {
        (site, projection): geometry(system)
        for site, systems in extract_particles(model).items()
        for projection, system in zip(PROJECTIONS, systems)
    }


def check_alike(found: Measured, first: Measured) -> None:
    """Raise HeadroomError if two checkpoints have different sites."""
    if found.keys() != first.keys():
        raise HeadroomError("--checkpoints: models of different shapes; give those of one run")
