"""Remove each head alone and see what it costs, on every set given (Michel et al. 2019, section 3.2)."""

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from headroom.ground.command import (
    add_model,
    add_run,
    add_settings,
    epoch_of,
    run,
    settings_from,
    stage_parser,
)
from headroom.ground.heads import Head, all_heads
from headroom.ground.tables import write_table
from headroom.methods.evaluation import Judge, comparisons, load_set
from headroom.models.translation.model import TranslationModel
from headroom.settings.decoding import DecodingSettings, SamplingSettings

logger = logging.getLogger("headroom.ablate")

_MEASURED = ("set", "metric", "value", "full", "delta", "low", "high", "p", "p_holm")
COLUMNS = ("study", "run", "epoch", "kind", "layer", "head", *_MEASURED, "signature")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.ablate", __doc__ or "")
    add_run(parser)
    add_model(parser)
    parser.add_argument("--sets", nargs="+", default=["choose", "test"], help="evaluation sets")
    parser.add_argument("--output", required=True, help="table of effects")
    add_settings(parser, DecodingSettings)
    add_settings(parser, SamplingSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Ablate every head on every set and write the table."""
    given = build_parser().parse_args(arguments)
    decoding = settings_from(given, DecodingSettings)
    resamples = settings_from(given, SamplingSettings).resamples
    sets = [load_set(given.corpus, name, decoding, resamples=resamples) for name in given.sets]
    model = TranslationModel.load(given.checkpoint, given.vocabulary, given.device)
    leading = {"study": given.study, "run": given.run, "epoch": epoch_of(given.checkpoint)}
    rows: list[dict[str, Any]] = []
    for judged in sets:
        rows += [{**leading, **row} for row in effects(Judge(model, judged), all_heads(model.sites))]
        logger.info("ablated %d heads on %s", len(all_heads(model.sites)), judged.name)
    write_table(given.output, rows, COLUMNS)


def effects(judge: Judge, heads: Sequence[Head]) -> list[dict[str, Any]]:
    """Return what removing each head alone does; Holm's correction is over the heads, per metric."""
    return comparisons(
        judge,
        [({"kind": head.kind, "layer": head.layer, "head": head.head}, frozenset([head])) for head in heads],
    )


if __name__ == "__main__":
    run(main)
