"""What training does to importance (Michel et al. 2019, section 6)."""

import math
from itertools import combinations
from typing import NamedTuple

import numpy
import pandas
from numpy import ndarray

from headroom.claims.evidence import PAPERS_OWN, by_run, curve_by, each_order, number, with_agreement
from headroom.claims.selection import main_criterion, main_metric, measurable, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import UNDECIDED, Number, Reading, above, all_of, below
from headroom.core import ranks
from headroom.core.statistics import Estimate, jackknifed, mean_of

BySite = dict[tuple[str, int], ndarray]
"""By kind and layer the (heads,) scores of a site."""


@each_order("pruning_epochs")
def late_plateau(
    rows: pandas.DataFrame, order: tuple[str, str], *, plateau: float, removed: float, straight: float
) -> Reading | None:
    """Decide whether the last epoch keeps a plateau of the score that the first does not."""
    rows = rows_where(rows, metric=main_metric(rows))
    large = rows[measurable(rows)]
    epochs = sorted(large["epoch"].unique())
    if len(epochs) < 2 or epochs[-1] != rows["epoch"].max():
        return None
    ends = (epochs[0], epochs[-1])
    curves = [curve_by(rows_where(large, epoch=epoch), order) for epoch in ends]
    first, last = (None if curve is None else curve.at(removed) for curve in curves)
    if first is None or last is None or curves[0] is None:
        return None
    bend = number("bend", numpy.abs(curves[0].area - 0.5), "number")
    gained = number("gained", last - first, signed=True)
    kept = number("last", last, epoch=float(ends[1]))
    verdict = all_of(above(kept.found, plateau), above(gained.found, 0.0), below(bend.found, straight))
    return Reading(verdict, (kept, number("first", first, epoch=float(ends[0])), gained, bend))


def settles_early(tables: StudyTables, *, early: float, settled: float) -> list[Reading]:
    """Decide whether heads rank within their sites early in training as at its end, by more than other seeds explain.

    Over all heads, ranks are those of sites: some sites have large scores in every training, also in another one. So
    heads are ranked within their sites, and what two trainings have in common is the control. All runs are judged at
    once.
    """
    every = tables.scores
    runs = list(by_run(every, tables))
    criteria = list(dict.fromkeys(every["criterion"])) if len(every) else []
    chosen = PAPERS_OWN[0] if PAPERS_OWN[0] in criteria else main_criterion(every)
    by_criterion = {name: _settled(runs, name, early, settled) for name in dict.fromkeys([chosen, *criteria])}
    known = [one for one in by_criterion.values() if one]
    return [with_agreement(known)] if by_criterion.get(chosen) else []


class Ranking(NamedTuple):
    """The scores of one run's heads by site, after the first part of training and at its end."""

    epoch: int
    last: int
    early: BySite
    end: BySite


def _settled(runs: list[pandas.DataFrame], criterion: str, early: float, settled: float) -> Reading | None:
    """Read all runs by one criterion; None if none has scores from the first part of training."""
    found = [one for rows in runs if (one := _ranking(_by_site(rows, criterion), early))]
    if not found:
        return None
    same = [float(_within_sites(one.early, one.end).mean()) for one in found]  # (runs,)
    about = {"epoch": float(found[0].epoch), "last": float(found[0].last)}
    own = mean_of(same) if len(found) > 1 else mean_of(_within_sites(found[0].early, found[0].end))
    numbers = [Number("spearman", own, about=about)]
    if len(found) == 1:
        return Reading(UNDECIDED, tuple(numbers))
    alike = {
        frozenset(pair): float(_within_sites(found[pair[0]].end, found[pair[1]].end).mean())
        for pair in combinations(range(len(found)), 2)
    }

    def way(out: int | None = None) -> tuple[float, float]:
        """Return how far runs are beyond the threshold, and the correlation between seeds, without one of the runs."""
        kept = [place for place in range(len(found)) if place != out]
        null = float(numpy.mean([value for pair, value in alike.items() if out not in pair]))
        mean = float(numpy.mean([same[place] for place in kept]))
        return mean - null - settled * (1 - null), null

    beyond, null = way()
    without = [way(out)[0] for out in range(len(found))] if len(found) > 2 else []
    share = (beyond + settled * (1 - null)) / (1 - null)
    numbers += [Number("other_seeds", Estimate(null)), Number("way", Estimate(share), "share")]
    return Reading(above(jackknifed(beyond, without), 0.0), tuple(numbers), seeds=len(found))


def _ranking(own: dict[int, BySite], early: float) -> Ranking | None:
    """Return the first epoch after a share of training and the last one; None without such an epoch."""
    last = max(own, default=0)
    epoch = min((epoch for epoch in own if math.ceil(early * last) <= epoch < last), default=None)
    return None if epoch is None else Ranking(epoch, last, own[epoch], own[last])


def _by_site(rows: pandas.DataFrame, criterion: str) -> dict[int, BySite]:
    """Return by epoch and site the (heads,) raw scores of a criterion, of sites with enough heads to be ranked."""
    rows = rows_where(rows, criterion=criterion, normalised="raw").sort_values("head")
    found: dict[int, BySite] = {}
    for _, heads in rows.groupby(["epoch", "kind", "layer"]):
        first = heads.iloc[0]
        if len(heads) >= ranks.FEWEST_HEADS:
            site = str(first["kind"]), int(first["layer"])
            found.setdefault(int(first["epoch"]), {})[site] = heads["value"].to_numpy(dtype=float)
    return found


def _within_sites(first: BySite, second: BySite) -> ndarray:
    """Return the rank correlation of the heads of every site that both have, (sites,); 0 of scores without ranks."""
    pairs = [(first[site], second[site]) for site in sorted(first) if site in second]
    return numpy.nan_to_num(numpy.array([ranks.correlation("spearman", *pair).value for pair in pairs]))
