"""Slice heads out of a checkpoint, save, reload, and check against the masked model."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headroom.core import tables
from headroom.core.command import epoch_of, leading_columns
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import Head, all_heads, format_profile, parse_profile
from headroom.core.table import signature
from headroom.engines.engine import Engine, given_engine, model_parser
from headroom.methods.orders import least_important_first, read_scores, removed_first
from headroom.settings.experiments import MainSettings, RemovalSettings

if TYPE_CHECKING:
    from headroom.engines.engine import EvaluationSet
    from headroom.engines.head_model import HeadModel

logger = logging.getLogger("headroom.stages.removal")

USES = ("model", "judging")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("removal", __doc__, engine)
    parser.add_argument("--scores", help="table of the stage scores, which determines the order")
    parser.add_argument("--heads", help="instead: the heads to remove, e.g. 'E1:2 A3:4'")
    parser.add_argument("--set", default="test", help="set on which sliced and masked model are compared")
    parser.add_argument("--sliced", required=True, help="output path of the sliced checkpoint")
    parser.add_argument("--output", required=True, help="table of checks")
    add_settings(parser, removal=RemovalSettings, pruning=MainSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Slice, save, reload, compare, write the table."""
    engine, given = given_engine(build_parser, arguments)
    import torch

    share = settings_from(given, "removal", RemovalSettings).share
    judged = engine.judged_set(given.set)
    full = engine.load(given.checkpoint)
    removed = chosen_heads(given, full, share)
    sliced = engine.load(given.checkpoint)
    sliced.remove(removed)
    sliced.save(given.sliced)
    checks = compare(full, removed, engine.load(given.sliced), judged)
    logger.info("removed %d heads; outputs identical: %s", len(removed), bool(checks["identical_outputs"]))
    about = signature(set=given.set, torch=torch.__version__)
    gone = {"heads_removed": len(removed), "removed": format_profile(removed), "signature": about}
    rows = [leading_columns(given) | gone | {"check": name, "value": value} for name, value in checks.items()]
    tables.REMOVAL.write(given.output, rows)


def chosen_heads(given: argparse.Namespace, model: HeadModel, share: float) -> frozenset[Head]:
    """Return the named heads, or the least important share of all by the score table.

    Raises:
        HeadroomError: If neither heads nor a table is given, or a head does not exist.
    """
    if given.heads is not None:
        return parse_profile(given.heads, model.sites)
    if given.scores is None:
        raise HeadroomError("heads to remove: not given; give --scores TABLE or --heads 'E1:2 A3:4'")
    main = settings_from(given, "pruning", MainSettings).main
    scores = read_scores(given.scores, epoch=epoch_of(given.checkpoint), criterion=main)
    heads = all_heads(model.sites)
    return removed_first(least_important_first(scores, heads), round(share * len(heads)))


def compare(full: HeadModel, removed: frozenset[Head], sliced: HeadModel, judged: EvaluationSet) -> dict[str, float]:
    """Return the checks: masked and sliced model on the same examples, and their sizes."""
    import torch

    with torch.inference_mode():
        batches = judged.batches(full)
        with full.gates.masked(removed):
            expected = judged.judge(full).answers
            largest = max(float((full.logits(batch) - sliced.logits(batch)).abs().max()) for batch in batches)
        found = judged.judge(sliced).answers
    return {
        "identical_outputs": float(expected == found),
        "differing_outputs": float(sum(a != b for a, b in zip(expected, found))),
        "largest_logit_difference": largest,
        "parameters_full": float(sum(parameter.numel() for parameter in full.model.parameters())),
        "parameters_sliced": float(sum(parameter.numel() for parameter in sliced.model.parameters())),
        "examples": float(len(expected)),
    }
