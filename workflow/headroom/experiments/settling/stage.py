"""Measure the agreement of every epoch's head scores with those of the last epoch."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core import ranks
from headroom.core.command import add_run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.heads import KINDS
from headroom.core.statistics import SEED
from headroom.core.table import signature
from headroom.experiments.scores.table import SCORES
from headroom.experiments.settling.table import SETTLING

if TYPE_CHECKING:
    import pandas

OVERLAP_SHARES = (0.25, 0.5)
"""Sizes of the top lists, as shares of the heads of a kind."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("settling", __doc__)
    add_run(parser)
    parser.add_argument("--scores", required=True, type=Path, help="score table of this run, all epochs")
    parser.add_argument("--output", required=True, type=Path, help="settling table to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read one score table and write its settling table."""
    given = build_parser().parse_args(arguments)
    scores = SCORES.read(given.scores).query("half == 'all'")
    named = {"study": given.study, "run": given.run}
    rows = [named | row for row in settling_rows(scores, source=str(given.scores))]
    SETTLING.write(given.output, rows)


def settling_rows(scores: pandas.DataFrame, *, source: str) -> Iterator[dict[str, Any]]:
    """Yield the agreement of every epoch before the last with the last, for every criterion and kind.

    Raises:
        HeadroomError: If there are no scores, or epochs differ in their heads.
    """
    if scores.empty:
        raise HeadroomError(f"{source}: no scores; score at least one epoch")
    for (criterion, normalised), rows in scores.groupby(["criterion", "normalised"], sort=False):
        for kind in ("all", *KINDS):
            chosen = rows if kind == "all" else rows[rows["kind"] == kind]
            if chosen.empty:
                continue
            named = {"kind": kind, "criterion": criterion, "normalised": normalised}
            table = _by_epoch(chosen, f"{source}, criterion {criterion}")
            sampled = {"interval": "bootstrap-heads", "bs": ranks.RESAMPLES, "seed": SEED, "heads": len(table)}
            made = f"{rows['signature'].iloc[0]}|{signature(last_epoch=f'{max(table.columns):g}', **sampled)}"
            yield from (named | row | {"signature": made} for row in _epoch_rows(table))


def _by_epoch(rows: pandas.DataFrame, source: str) -> pandas.DataFrame:
    """Return scores as (heads, epochs), both in table order."""
    order = rows["kind"].map({kind: place for place, kind in enumerate(KINDS)})
    values = rows.assign(order=order)
    table = values.pivot(index=["order", "layer", "head"], columns="epoch", values="value")
    if table.isna().any(axis=None):
        epoch = table.columns[table.isna().any()][0]
        raise HeadroomError(f"{source}: epoch {epoch:g} has no score for some heads; score it again")
    return table.sort_index()


def _epoch_rows(table: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield every statistic for every epoch before the last."""
    heads = len(table)
    last = table[max(table.columns)].to_numpy()
    for epoch in sorted(table.columns)[:-1]:
        scores = table[epoch].to_numpy()
        for statistic in ("spearman", "kendall"):
            found = ranks.correlation(statistic, scores, last)
            yield {"epoch": epoch, "statistic": statistic, "k": "", **found._asdict(), "chance": 0.0}
        for k in overlap_sizes(heads):
            found = ranks.overlap(scores, last, k)
            chance = ranks.chance_overlap(heads, k)
            yield {"epoch": epoch, "statistic": "overlap", "k": k, **found._asdict(), "chance": chance}


def overlap_sizes(heads: int) -> list[int]:
    """Return the sizes of the top lists for a number of heads: a quarter and a half, at least 1."""
    return sorted({max(1, round(share * heads)) for share in OVERLAP_SHARES})
