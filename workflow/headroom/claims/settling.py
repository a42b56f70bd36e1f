"""What training does to importance (Michel et al. 2019, section 6)."""

import math
from dataclasses import replace

import numpy
import pandas
from numpy import ndarray

from headroom.claims.evidence import PAPERS_OWN, by_run, curve_by, each_order, number, with_agreement
from headroom.claims.selection import main_criterion, main_metric, measurable, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import UNDECIDED, Number, Reading, above, all_of, below
from headroom.core import ranks
from headroom.core.statistics import Estimate, mean_of


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
    heads are ranked within their sites, and what two trainings have in common is the control.
    """
    every = tables.scores
    runs = list(by_run(every, tables))
    criteria = list(dict.fromkeys(every["criterion"])) if len(every) else []
    chosen = PAPERS_OWN[0] if PAPERS_OWN[0] in criteria else main_criterion(every)
    found = []
    for rows in runs:
        others = [one for one in runs if one["run"].iloc[0] != rows["run"].iloc[0]]
        by_criterion = {
            name: _settled(rows, others, name, early, settled) for name in dict.fromkeys([chosen, *criteria])
        }
        known = [one for one in by_criterion.values() if one]
        if by_criterion.get(chosen):
            found.append(replace(with_agreement(known), run=str(rows["run"].iloc[0])))
    return found


def _settled(
    rows: pandas.DataFrame, others: list[pandas.DataFrame], criterion: str, early: float, settled: float
) -> Reading | None:
    """Read one run by one criterion; None without a score from the first part of training."""
    own = _by_site(rows, criterion)
    last = max(own, default=0)
    epoch = min((epoch for epoch in own if math.ceil(early * last) <= epoch < last), default=None)
    if epoch is None:
        return None
    same = _within_sites(own[epoch], own[last])  # (sites,)
    about = {"epoch": float(epoch), "last": float(last)}
    numbers = [Number("spearman", mean_of(same), about=about)]
    ends = [_by_site(one, criterion) for one in others]
    nulls = [_within_sites(end[max(end)], own[last]) for end in ends if end]
    if not nulls:
        return Reading(UNDECIDED, tuple(numbers))
    null = numpy.mean(nulls, axis=0)  # (sites,)
    way = mean_of(same - null - settled * (1 - null))
    share = float((same - null).mean() / (1 - null).mean())
    numbers += [Number("other_seeds", mean_of(null)), Number("way", Estimate(share), "share")]
    return Reading(above(way, 0.0), tuple(numbers))


def _by_site(rows: pandas.DataFrame, criterion: str) -> dict[int, dict[tuple[str, int], ndarray]]:
    """Return by epoch and site the (heads,) raw scores of a criterion, of sites with enough heads to be ranked."""
    rows = rows_where(rows, criterion=criterion, normalised="raw").sort_values("head")
    found: dict[int, dict[tuple[str, int], ndarray]] = {}
    for _, heads in rows.groupby(["epoch", "kind", "layer"]):
        first = heads.iloc[0]
        if len(heads) >= ranks.FEWEST_HEADS:
            site = str(first["kind"]), int(first["layer"])
            found.setdefault(int(first["epoch"]), {})[site] = heads["value"].to_numpy(dtype=float)
    return found


def _within_sites(first: dict[tuple[str, int], ndarray], second: dict[tuple[str, int], ndarray]) -> ndarray:
    """Return the rank correlation of the heads of every site that both have, (sites,); 0 of scores without ranks."""
    pairs = [(first[site], second[site]) for site in sorted(first) if site in second]
    return numpy.nan_to_num(numpy.array([ranks.correlation("spearman", *pair).value for pair in pairs]))
