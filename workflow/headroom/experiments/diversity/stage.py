"""Measure the similarity of the heads of every site, at every epoch: of weights, and of behaviour on text."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns, read_epoch
from headroom.core.flags import add_settings, settings_from
from headroom.core.progress import follow_items
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.diversity.declared import DIVERSITY, DiversitySettings

if TYPE_CHECKING:
    from headroom.experiments.diversity.measures import Particles

logger = logging.getLogger("headroom.experiments.diversity.stage")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("diversity", __doc__, engine, several=True)
    parser.add_argument("--set", default="check", help="evaluation set for the comparison")
    parser.add_argument("--output", required=True, help="table of diversity per site")
    add_settings(parser, diversity=DiversitySettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the heads of each checkpoint and write the table."""
    engine, given = given_engine(build_parser, arguments)
    from headroom.experiments.diversity.measures import (
        OF_PARTICLES,
        STEP,
        extract_particles,
        particle_similarity,
        particle_steps,
        text_similarity,
    )

    settings = settings_from(given, "diversity", DiversitySettings)
    examples: Any = engine.examples(given.set, settings.examples)
    rows: list[dict[str, Any]] = []
    before: tuple[float, Particles] | None = None
    for checkpoint in follow_items(given.checkpoints, "diversity", "epochs"):
        model = engine.load(checkpoint, maps=True)
        particles = extract_particles(model)
        found = particle_similarity(particles)
        about = dict.fromkeys(OF_PARTICLES, signature(mean="pairs-of-heads", particles="separate"))
        if before:
            found[STEP] = particle_steps(before[1], particles)
            about[STEP] = signature(since=f"epoch{before[0]}")
        found |= text_similarity(model, engine.example_batches(model, examples, settings.batch_examples))
        on_text = signature(mean="pairs-of-heads", set=given.set, examples=len(examples))
        for measure, sites in found.items():
            for site, value in sites.items():
                row = {"kind": site.kind, "layer": site.layer, "measure": measure, "value": value}
                rows.append(leading_columns(given, checkpoint) | row | {"signature": about.get(measure, on_text)})
        before = read_epoch(checkpoint), particles
        del model  # the next one is loaded
        logger.info("compared the heads of %s", checkpoint)
    DIVERSITY.write(given.output, rows)
