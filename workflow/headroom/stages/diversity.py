"""Measure how alike the heads of every site are, at every epoch: their weights, and what they do with text."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.table import signature
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.methods.diversity import (
    ON_TEXT,
    STEP,
    Found,
    Particles,
    particle_likeness,
    particle_steps,
    particles_of,
    text_likeness,
)
from headroom.settings.experiments import DiversitySettings

logger = logging.getLogger("headroom.stages.diversity")


USES = ("model", "observing")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("diversity", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser, several=True)
    parser.add_argument("--set", default="check", help="evaluation set that heads are compared on")
    parser.add_argument("--output", required=True, help="table of diversity per site")
    add_settings(parser, diversity=DiversitySettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the heads of each checkpoint and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    settings = settings_from(given, "diversity", DiversitySettings)
    examples: Any = engine.examples(given.set, settings.examples)
    rows: list[dict[str, Any]] = []
    before: tuple[int, Particles] | None = None
    for checkpoint in given.checkpoints:
        epoch = epoch_of(checkpoint)
        model = engine.load(checkpoint, maps=True)
        particles = particles_of(model)
        found = particle_likeness(particles)
        if before:
            found[STEP] = particle_steps(before[1], particles)
        found |= text_likeness(model, engine.example_batches(model, examples, settings.batch_examples))
        rows += _rows(given, epoch, found, len(examples), since=before[0] if before else None)
        before = epoch, particles
        logger.info("compared the heads of %s", checkpoint)
    tables.DIVERSITY.write(given.output, rows)


def _rows(
    given: argparse.Namespace, epoch: int, found: Found, examples: int, since: int | None
) -> Iterator[dict[str, Any]]:
    for measure, sites in found.items():
        for site, value in sites.items():
            yield {
                "study": given.study,
                "run": given.run,
                "epoch": epoch,
                "kind": site.kind,
                "layer": site.layer,
                "measure": measure,
                "value": value,
                "signature": _signature(measure, given.set, examples, since),
            }


def _signature(measure: str, name: str, examples: int, since: int | None) -> str:
    """Return what affects a number, but for the model."""
    if measure == STEP:
        return signature(since=f"epoch{since}")
    if measure in ON_TEXT:
        return signature(mean="pairs-of-heads", set=name, examples=examples)
    return signature(mean="pairs-of-heads", particles="separate")


if __name__ == "__main__":
    run(main)
