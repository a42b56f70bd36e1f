"""Judge a model that was trained without some heads against one that has them all."""

import argparse
from collections.abc import Sequence
from typing import Any

from headroom.core import tables
from headroom.core.command import add_run, epoch_of, run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.heads import all_heads, format_profile
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.engines.head_model import HeadModel
from headroom.methods.pruned_models import compared

USES = ("model", "judging")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("from_scratch", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument("--other", required=True, help="the model that was trained without some heads")
    parser.add_argument("--method", default="scratch", help="how it came about, a column of the table")
    parser.add_argument("--setting", type=float, default=0.0, help="lambda whose layout it has, a column of the table")
    parser.add_argument("--judge-on", default="test", help="set that both are judged on")
    parser.add_argument("--test-examples", type=int, help="examples of that set, from its start; unset for all")
    parser.add_argument("--output", required=True, help="table of pruned models")
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge both on the same examples and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    judged = engine.judged_set(given.judge_on, given.test_examples)
    full, other = (engine.load(place) for place in (given.checkpoint, given.other))
    removed = removed_from(other, full)
    heads = all_heads(full.sites)
    leading: dict[str, Any] = {
        "study": given.study,
        "run": given.run,
        "epoch": epoch_of(given.checkpoint),
        "method": given.method,
        "scope": "all",
        "setting": given.setting,
        "draw": 0,
        "kept": len(heads) - len(removed),
        "heads": len(heads),
        "undecided": "",
        "start": "",
        "gates": "hard",
        "removed": format_profile(removed),
        "updates": "",
    }
    before = judged.judge(full)
    rows = [{**leading, **row} for row in compared(judged, before, judged.judge(other), "trained:anew")]
    tables.PRUNED_MODELS.write(given.output, rows)


def removed_from(other: HeadModel, full: HeadModel) -> frozenset[Any]:
    """Return the heads that a model lacks.

    Raises:
        HeadroomError: If the two were not made with the same sites.
    """
    if other.sites != full.sites:
        raise HeadroomError(
            f"--other has the sites {' '.join(map(str, other.sites))}, --checkpoint {' '.join(map(str, full.sites))}: "
            "give two models of one shape"
        )
    return frozenset(all_heads(other.sites)) - {head for live in other.live_sites for head in live.kept_heads()}


if __name__ == "__main__":
    run(main)
