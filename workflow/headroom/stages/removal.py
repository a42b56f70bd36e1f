"""Remove heads for real: slice them out of a checkpoint, save, reload, and check against the masked model."""

import argparse
import logging
from collections.abc import Sequence
from typing import Any

import torch

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, format_profile, parse_profile
from headroom.core.table import signature
from headroom.engines.engine import Engine, EvaluationSet, add_task, chosen_engine
from headroom.engines.head_model import HeadModel
from headroom.methods.orders import least_important_first, read_scores, removed_first
from headroom.settings.experiments import MainSettings, RemovalSettings

logger = logging.getLogger("headroom.stages.removal")


USES = ("model", "judging")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("removal", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument("--scores", help="table written by headroom scores, which says what goes first")
    parser.add_argument("--heads", help="instead: the heads to remove, e.g. 'E1:2 A3:4'")
    parser.add_argument("--set", default="test", help="set on which sliced and masked model are compared")
    parser.add_argument("--sliced", required=True, help="where the sliced checkpoint goes")
    parser.add_argument("--output", required=True, help="table of checks")
    add_settings(parser, removal=RemovalSettings, pruning=MainSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Slice, save, reload, compare, write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    share = settings_from(given, "removal", RemovalSettings).share
    judged = engine.judged_set(given.set)
    full = engine.load(given.checkpoint)
    removed = chosen_heads(given, full, share)
    sliced = engine.load(given.checkpoint)
    sliced.remove(removed)
    sliced.save(given.sliced)
    checks = compare(full, removed, engine.load(given.sliced), judged)
    logger.info("removed %d heads; outputs identical: %s", len(removed), bool(checks["identical_outputs"]))
    leading = {
        "study": given.study,
        "run": given.run,
        "epoch": epoch_of(given.checkpoint),
        "heads_removed": len(removed),
        "removed": format_profile(removed),
        "signature": signature(set=given.set, torch=torch.__version__),
    }
    tables.REMOVAL.write(given.output, [{**leading, "check": name, "value": value} for name, value in checks.items()])


def chosen_heads(given: argparse.Namespace, model: HeadModel, share: float) -> frozenset[Head]:
    """Return the heads named, or the least important share of all by the score table.

    Raises:
        HeadroomError: If neither heads nor a table is given, or a head does not exist.
    """
    if given.heads is not None:
        return parse_profile(given.heads, model.sites)
    if given.scores is None:
        raise HeadroomError("say what to remove: --scores TABLE or --heads 'E1:2 A3:4'")
    main = settings_from(given, "pruning", MainSettings).main
    scores = read_scores(given.scores, epoch=epoch_of(given.checkpoint), criterion=main)
    heads = all_heads(model.sites)
    return removed_first(least_important_first(scores, heads), round(share * len(heads)))


@torch.inference_mode()
def compare(full: HeadModel, removed: frozenset[Head], sliced: HeadModel, judged: EvaluationSet) -> dict[str, Any]:
    """Return the checks: masked and sliced model on the same examples, and their sizes."""
    batches = judged.batches(full)
    with full.gates.masked(removed):
        expected = judged.judge(full).answers
        largest = max(float((full.logits(batch) - sliced.logits(batch)).abs().max()) for batch in batches)
    found = judged.judge(sliced).answers
    return {
        "identical_outputs": float(expected == found),
        "differing_outputs": float(sum(a != b for a, b in zip(expected, found))),
        "largest_logit_difference": largest,
        "parameters_full": float(parameters(full)),
        "parameters_sliced": float(parameters(sliced)),
        "examples": float(len(expected)),
    }


def parameters(model: HeadModel) -> int:
    """Return the number of distinct parameters."""
    return sum(parameter.numel() for parameter in model.model.parameters())


if __name__ == "__main__":
    run(main)
