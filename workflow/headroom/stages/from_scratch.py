"""Judge a model that was trained without some heads against one that has them all."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headroom.core import tables
from headroom.core.command import leading_columns
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, format_profile
from headroom.engines.engine import Engine, given_engine, model_parser

if TYPE_CHECKING:
    from headroom.engines.head_model import HeadModel

USES = ("model", "judging")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("from_scratch", __doc__, engine)
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
    engine, given = given_engine(build_parser, arguments)
    from headroom.methods.continued_training import compared

    judged = engine.judged_set(given.judge_on, given.test_examples)
    full, other = (engine.load(place) for place in (given.checkpoint, given.other))
    removed = removed_from(other, full)
    heads = len(all_heads(full.sites))
    way = {"method": given.method, "scope": "all", "setting": given.setting, "draw": 0, "start": "", "updates": ""}
    left = {"kept": heads - len(removed), "heads": heads, "removed": format_profile(removed)}
    leading = leading_columns(given) | way | left | {"undecided": "", "gates": "hard"}
    before = judged.judge(full)
    rows = [leading | row for row in compared(judged, before, judged.judge(other), "trained:anew")]
    tables.PRUNED_MODELS.write(given.output, rows)


def removed_from(other: HeadModel, full: HeadModel) -> frozenset[Head]:
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
