"""Measure the overlap of the most important heads between seeds and between arms."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core import ranks
from headroom.core.command import stage_parser
from headroom.core.heads import Head, single_units
from headroom.core.table import signature
from headroom.experiments.arms.table import OVERLAP
from headroom.experiments.arms.tables import add_main, groups, joint_signature, main_criteria, main_scores, read_runs
from headroom.experiments.scores.table import SCORES
from headroom.methods.orders import by_head, least_important_first

if TYPE_CHECKING:
    import pandas

SHARES = (0.25, 0.5)
"""Sizes of the sets of heads kept, as shares of all heads."""


@dataclass(frozen=True)
class Ranked:
    """The heads of one run, the least important first."""

    run: str
    task: str
    arm: str
    seed: int
    criterion: str
    order: list[Head]
    signature: str


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("overlap", __doc__)
    parser.add_argument("--study", required=True, help="name of the study, a column of the table")
    parser.add_argument("--scores", required=True, nargs="+", type=Path, help="score tables, one per run")
    add_main(parser)
    parser.add_argument("--output", required=True, type=Path, help="overlap table to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the score tables of all runs and write the overlap table."""
    given = build_parser().parse_args(arguments)
    runs = rank_runs(read_runs(given.scores, SCORES), main_criteria(given.main))
    rows = [{"study": given.study} | row for pair in pairs(runs) for row in overlap_rows(*pair)]
    OVERLAP.write(given.output, rows)


def rank_runs(scores: pandas.DataFrame, mains: Mapping[str, str]) -> list[Ranked]:
    """Return the heads of every run by their importance at its last epoch, in the order of the table's runs."""
    chosen = main_scores(scores, scores["task"].map(mains))
    found = []
    for (name, task, arm, seed), rows in groups(chosen, "run", "task", "arm", "seed"):
        important = by_head(rows, rows["value"])
        about = signature(normalised="raw", epoch=f"{rows['epoch'].iloc[0]:g}", heads=len(rows))
        about = f"{joint_signature(rows['signature'].astype(str))}|{about}"
        order = [head for (head,) in least_important_first(important, single_units(important))]
        found.append(Ranked(name, task, arm, int(seed), mains[task], order, about))
    return found


def pairs(runs: Sequence[Ranked]) -> Iterator[tuple[Ranked, Ranked]]:
    """Yield every two runs of a task that differ either in seed or in arm, and have the same heads."""
    for first, second in itertools.combinations(runs, 2):
        differs_in_one = (first.arm == second.arm) != (first.seed == second.seed)
        if first.task == second.task and differs_in_one and set(first.order) == set(second.order):
            yield first, second


def overlap_rows(first: Ranked, second: Ranked) -> Iterator[dict[str, Any]]:
    """Yield the overlap of the most important heads of two runs, for every share of `SHARES`."""
    heads = len(first.order)
    for share in SHARES:
        kept = max(1, round(share * heads))
        common = set(first.order[-kept:]) & set(second.order[-kept:])
        yield {
            "task": first.task,
            "criterion": first.criterion,
            "share": share,
            "kept": kept,
            "run": first.run,
            "other": second.run,
            "arm": first.arm,
            "other_arm": second.arm,
            "value": len(common) / kept,
            "chance": ranks.chance_overlap(heads, kept),
            "signature": joint_signature([first.signature, second.signature]),
        }
