"""The scores of a run's heads by every criterion that is compared with others, and those on halves of the examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy

from headroom.core import ranks
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.experiments.ablation.declared import ABLATION_HALVES
from headroom.experiments.scores.declared import Rankings
from headroom.methods.criteria import COMPARED, criteria, criterion
from headroom.methods.orders import by_head

if TYPE_CHECKING:
    import pandas

ORDER = ("scores", "ablation", "attention_stats", "relevance", "gates")
"""Experiments whose tables have scores, in the order of the table to write; others come after them."""


class Scored(NamedTuple):
    """The heads of a run by one criterion."""

    name: str
    scores: Mapping[Head, float]
    halves: tuple[Mapping[Head, float], Mapping[Head, float]] | None
    """Scores on the two halves of the examples, if they are known."""
    signature: str
    source: str
    """The file of the scores."""
    place: tuple[str, int]
    """Their run and epoch."""

    def reliability(self, heads: Sequence[Head]) -> float:
        """Return the reliability of the ranks of heads on other examples, 0 to 1; NaN if unknown."""
        if self.halves is None:
            return math.nan
        return ranks.reliability(*(values_of(scores, heads) for scores in self.halves))


def values_of(scores: Mapping[Head, float], heads: Sequence[Head]) -> numpy.ndarray:
    """Return the scores of heads, (heads,)."""
    return numpy.array([scores[head] for head in heads])


def read_criteria(tables: Rankings, halves: Sequence[Path], main: str) -> list[Scored]:
    """Return the criteria of all tables, with the scores on halves of some, in the order of the table to write.

    Raises:
        HeadroomError: If a table cannot be read, is of several runs, or has no score by an expected criterion, or if
            there are fewer than two criteria, or they are of different runs or heads.
    """
    found = [
        scored
        for table, names in group_by_table(main).items()
        for path in getattr(tables, table)
        for scored in _read_scores_in(path, names)
    ]
    if len(found) < 2:
        raise HeadroomError("tables: fewer than two criteria; give more, e.g. of scores and ablation")
    _check_same(found)
    known = {name: scores for path in halves for name, scores in _halves(path).items()}
    return [scored._replace(halves=known.get(scored.name, scored.halves)) for scored in found]


def _check_same(found: Sequence[Scored]) -> None:
    first = found[0]
    for other in found[1:]:
        if other.place != first.place:
            places = (f"{one.source}: of the run {one.place[0]}, epoch {one.place[1]}" for one in (first, other))
            raise HeadroomError(f"{', '.join(places)}; give tables of one run and epoch")
        if odd := sorted(set(first.scores) ^ set(other.scores)):
            has, lacks = (first, other) if odd[0] in first.scores else (other, first)
            raise HeadroomError(
                f"{lacks.source}: no score of head {odd[0]} by {lacks.name}, but {has.source} has one by {has.name}; "
                "give tables of one model"
            )


def group_by_table(main: str = "") -> dict[str, list[str]]:
    """Return the compared criteria by the experiment whose table contains their scores, the main one first."""
    compared = [name for name, one in criteria().items() if one.compared and one.table != COMPARED]
    compared.sort(key=lambda name: name != main)
    named = dict.fromkeys([*ORDER, *(criterion(name).table for name in compared)])
    return {table: [name for name in compared if criterion(name).table == table] for table in named}


def _read_scores_in(path: Path, names: Sequence[str]) -> Iterator[Scored]:
    """Yield the heads by each criterion of a table; gates exist for some methods and heads only."""
    for name in names:
        rows = criterion(name).read(path)
        if rows.empty and criterion(name).needs == "training":
            continue
        yield _check_scored(name, rows[rows["epoch"] == rows["epoch"].max()], path)


def _halves(path: Path) -> dict[str, tuple[dict[Head, float], dict[Head, float]]]:
    """Return, by criterion, the scores on the two halves of the examples."""
    table = ABLATION_HALVES.read(path)
    if table.empty:
        raise HeadroomError(f"{path}: the table is empty; rerun the job that writes it")
    table = table[table["epoch"] == table["epoch"].max()]
    return {str(name): _both(rows) for name, rows in table.groupby("criterion", sort=False)}


def _both(rows: pandas.DataFrame) -> tuple[dict[Head, float], dict[Head, float]]:
    first, second = (rows[rows["half"] == half] for half in ("choose", "score"))
    return by_head(first, first["value"]), by_head(second, second["value"])


def _check_scored(name: str, found: pandas.DataFrame, path: Path) -> Scored:
    rows, halves = found[found["half"] == "all"], _both(found)
    if rows.empty:
        raise HeadroomError(f"{path}: no score by {name}; rerun the job that writes it")
    places = sorted(set(zip(rows["run"], rows["epoch"])))
    if len(places) > 1:
        raise HeadroomError(f"{path}: scores of several runs or epochs, e.g. {places[0]} and {places[1]}; give one")
    scores = by_head(rows, rows["value"])
    if len(scores) < len(rows):
        raise HeadroomError(f"{path}: a head has several scores by {name}; rerun the job that writes it")
    known = halves if set(halves[0]) == set(halves[1]) == set(scores) else None
    return Scored(name, scores, known, str(rows["signature"].iloc[0]), str(path), (places[0][0], int(places[0][1])))
