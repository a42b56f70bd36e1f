"""Remove heads for real: slice them out of a checkpoint, save, reload, and check against the masked model."""

import argparse
import logging
from collections.abc import Sequence
from typing import Any

import torch

from headroom.ground.command import (
    add_model,
    add_run,
    add_settings,
    epoch_of,
    run,
    settings_from,
    stage_parser,
)
from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Head, all_heads, format_profile, parse_profile
from headroom.ground.tables import signature, write_table
from headroom.methods.orders import least_important_first, read_scores, removed_first
from headroom.methods.pairs import read_pairs
from headroom.models.translation.model import TranslationModel
from headroom.settings.decoding import DecodingSettings
from headroom.settings.removal import RemovalSettings

logger = logging.getLogger("headroom.remove")

COLUMNS = ("study", "run", "epoch", "heads_removed", "removed", "check", "value", "signature")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.remove", __doc__ or "")
    add_run(parser)
    add_model(parser)
    parser.add_argument("--scores", help="table written by headroom.score, which says what goes first")
    parser.add_argument("--criterion", default="gradient-example", help="criterion of that table (raw)")
    parser.add_argument("--heads", help="instead: the heads to remove, e.g. 'E1:2 A3:4'")
    parser.add_argument("--set", default="test", help="set on which sliced and masked model are compared")
    parser.add_argument("--sliced", required=True, help="where the sliced checkpoint goes")
    parser.add_argument("--output", required=True, help="table of checks")
    add_settings(parser, RemovalSettings)
    add_settings(parser, DecodingSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Slice, save, reload, compare, write the table."""
    given = build_parser().parse_args(arguments)
    decoding, share = settings_from(given, DecodingSettings), settings_from(given, RemovalSettings).share
    pairs = read_pairs(given.corpus, given.set)
    full = TranslationModel.load(given.checkpoint, given.vocabulary, given.device)
    removed = chosen_heads(given, full, share)
    sliced = TranslationModel.load(given.checkpoint, given.vocabulary, given.device)
    sliced.remove(removed)
    sliced.save(given.sliced)
    reloaded = TranslationModel.load(given.sliced, given.vocabulary, given.device)
    checks = compare(full, removed, reloaded, pairs, decoding)
    logger.info("removed %d heads; translations identical: %s", len(removed), bool(checks["identical_translations"]))
    leading = {
        "study": given.study,
        "run": given.run,
        "epoch": epoch_of(given.checkpoint),
        "heads_removed": len(removed),
        "removed": format_profile(removed),
        "signature": signature(set=given.set, beam=1, torch=torch.__version__),
    }
    write_table(given.output, [{**leading, "check": name, "value": value} for name, value in checks.items()], COLUMNS)


def chosen_heads(given: argparse.Namespace, model: TranslationModel, share: float) -> frozenset[Head]:
    """Return the heads named, or the least important share of all by the score table.

    Raises:
        HeadroomError: If neither heads nor a table is given, or a head does not exist.
    """
    if given.heads is not None:
        return parse_profile(given.heads, model.sites)
    if given.scores is None:
        raise HeadroomError("say what to remove: --scores TABLE or --heads 'E1:2 A3:4'")
    scores = read_scores(given.scores, epoch=epoch_of(given.checkpoint), criterion=given.criterion)
    heads = all_heads(model.sites)
    return removed_first(least_important_first(scores, heads), round(share * len(heads)))


@torch.inference_mode()
def compare(
    full: TranslationModel,
    removed: frozenset[Head],
    sliced: TranslationModel,
    pairs: tuple[list[str], list[str]],
    decoding: DecodingSettings,
) -> dict[str, Any]:
    """Return the checks: masked and sliced model on the same sentences, and their sizes."""
    batches = full.batches(*pairs, sentences=64)
    with full.gates.masked(removed):
        expected = full.translate(batches, decoding)
        largest = max(float((_logits(full, batch) - _logits(sliced, batch)).abs().max()) for batch in batches)
    found = sliced.translate(batches, decoding)
    return {
        "identical_translations": float(expected == found),
        "differing_translations": float(sum(a != b for a, b in zip(expected, found))),
        "largest_logit_difference": largest,
        "parameters_full": float(parameters(full)),
        "parameters_sliced": float(parameters(sliced)),
        "sentences": float(len(pairs[0])),
    }


def parameters(model: TranslationModel) -> int:
    """Return the number of distinct parameters."""
    return sum(parameter.numel() for parameter in model.model.parameters())


def _logits(model: TranslationModel, batch: Any) -> torch.Tensor:
    return model.model(batch.source, batch.lengths, batch.previous)[0]  # (B, T, V)


if __name__ == "__main__":
    run(main)
