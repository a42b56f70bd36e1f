"""What agrees: effects in two domains and by two replacements, two criteria, and two epochs of training."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy
import pandas
from numpy import ndarray

from headroom.claims.evidence import (
    PAPERS_OWN,
    Curve,
    by_run,
    curve_by,
    each_order,
    estimate_in,
    number,
    with_agreement,
)
from headroom.claims.verdict import Number, Reading, above, below, mean_over_runs
from headroom.core import ranks
from headroom.core.statistics import Estimate, mean_of_groups
from headroom.study.selection import (
    SELF_ATTENTION,
    examined_kind,
    last_epochs,
    main_criterion,
    main_metric,
    main_set,
    measurable,
    rows_where,
    with_scale,
)
from headroom.study.tables import StudyTables, task_of

Order = tuple[str, str]
"""A criterion and its normalisation."""

BySite = dict[tuple[str, int], ndarray]
"""By kind and layer the (heads,) scores of a site."""


def across_domains(tables: StudyTables, *, weak: float, worst: float) -> list[Reading]:
    """Decide whether the effects of removing a head correlate across domains, for every far set of every run."""
    found = []
    for rows in by_run(rows_where(tables.agreement, between="set", kind="all", a="test"), tables):
        run, rows = str(rows["run"].iloc[0]), last_epochs(rows)
        rows = rows_where(rows, of=rows["of"].iloc[0])
        for far, pair in rows.groupby("b"):
            reading = _of_pair(pandas.DataFrame(pair), weak, worst)
            found += [replace(reading, run=run, part=str(far))] if reading else []
    return found


def _of_pair(rows: pandas.DataFrame, weak: float, worst: float) -> Reading | None:
    """Read one run's agreement with one far set."""
    pearson = rows_where(rows, statistic="pearson")
    parts: tuple[tuple[str, pandas.DataFrame], ...] = (
        ("pearson", rows_where(pearson, dropped=0)),
        ("spearman", rows_where(rows, statistic="spearman", dropped=0)),
        ("without_worst", rows_where(pearson, dropped=worst)),
    )
    if any(part.empty for _, part in parts):
        return None
    return Reading(tuple(_correlation(name, part, weak) for name, part in parts))


def _correlation(name: str, rows: pandas.DataFrame, weak: float) -> Number:
    """Return a correlation that has to be above 0, and is refuted below `weak`."""
    return Number(name, estimate_in(rows), asked=above(0.0, refuted=weak), limits=(-1.0, 1.0))


def relevance_and_confidence(tables: StudyTables, *, weak: float) -> list[Reading]:
    """Decide whether relevance ranks the heads of the encoder, or of a decoder alone, as confidence does."""
    found = []
    for rows in by_run(rows_where(tables.agreement, between="criterion"), tables):
        kind = examined_kind(rows["kind"])
        rows = rows_where(last_epochs(rows), kind=kind, statistic="spearman")
        rows = rows[[{first, second} == {"confidence", "relevance"} for first, second in zip(rows["a"], rows["b"])]]
        if rows.empty:
            continue
        numbers = [replace(_correlation("spearman", rows, weak), about={"of": SELF_ATTENTION[kind]})]
        if rows["ceiling"].notna().any():
            numbers.append(Number("ceiling", Estimate(float(rows["ceiling"].iloc[0])), limits=(0.0, 1.0)))
        found.append(Reading(tuple(numbers), run=str(rows["run"].iloc[0])))
    return found


def average_replacements(tables: StudyTables) -> pandas.DataFrame:
    """Return every pair of replacements of a removed head's z, with the means over the runs of the baseline.

    They have the correlation in `spearman`, `spearman_low` and `spearman_high`.
    """
    runs = [*by_run(rows_where(tables.agreement, between="replacement"), tables)]
    rows = []
    for (first, second), own in pandas.concat(runs).groupby(["a", "b"], sort=False) if runs else ():
        mean = mean_over_runs([Estimate(*ends) for ends in own[["value", "low", "high"]].to_numpy()])
        ends = dict(zip(("spearman", "spearman_low", "spearman_high"), mean))
        heads, ceiling = own["heads"].iloc[0], float(own["ceiling"].mean())
        rows.append({"first": first, "second": second, **ends, "ceiling": ceiling, "heads": heads})
    return pandas.DataFrame(rows)


def correlate_replacements(tables: StudyTables) -> Iterator[Reading]:
    """Yield the rank correlation of every pair of replacements of a removed head's z, and what noise allows."""
    for _, row in average_replacements(tables).iterrows():
        found = Estimate(row["spearman"], row["spearman_low"], row["spearman_high"])
        numbers = Number("replacement_correlation", found), Number("replacement_ceiling", Estimate(row["ceiling"]))
        yield Reading(numbers, part=f"{row['first']}, {row['second']}")


def early_and_late(tables: StudyTables, *, plateau: float, removed: float, straight: float) -> list[Reading]:
    """Decide, apart, whether the last epoch keeps a plateau of the score, and the first one's curve is straight.

    The first is the first checkpoint whose score can be judged; it may lie inside the first epoch.
    """
    parts = {
        "late": _late(tables, removed=removed, plateau=plateau),
        "early": _early(tables, removed=removed, straight=straight),
    }
    return [replace(one, part=part) for part, found in parts.items() for one in found]


@each_order("pruning_epochs")
def _late(rows: pandas.DataFrame, order: Order, *, removed: float, plateau: float) -> Reading | None:
    """Decide whether the last epoch keeps a plateau of the score."""
    found = _first_and_last(rows, order)
    last = found[1].at(removed) if found else None
    if last is None:
        return None
    return Reading((number("last", last, asked=above(plateau), epoch=float(rows["epoch"].max())),))


@each_order("pruning_epochs")
def _early(rows: pandas.DataFrame, order: Order, *, removed: float, straight: float) -> Reading | None:
    """Decide whether the first epoch's curve is a straight line, and keeps less than the last one."""
    found = _first_and_last(rows, order)
    first, last = (curve.at(removed) for curve in found) if found else (None, None)
    if not found or first is None or last is None:
        return None
    numbers = (
        number("gained", last - first, signed=True, asked=above(0.0)),
        number("bend", _bend(found[0]), "number", asked=below(straight)),
        number("first", first, chosen={"epoch": f"{list_judged_epochs(rows)[0]:g}"}),
    )
    return Reading(numbers)


def _first_and_last(rows: pandas.DataFrame, order: Order) -> tuple[Curve, Curve] | None:
    """Return the curves of the first and the last epoch that can be judged; None if the last one of all cannot."""
    epochs = list_judged_epochs(rows)
    if len(epochs) < 2 or epochs[-1] != rows["epoch"].max():
        return None
    first, last = (curve_by(rows_where(rows, epoch=epoch), order) for epoch in (epochs[0], epochs[-1]))
    return None if first is None or last is None else (first, last)


def list_judged_epochs(rows: pandas.DataFrame) -> list[float]:
    """Return the checkpoints of one run, from `with_scale`, whose full score is large enough for shares of it.

    They are named by their epochs and in order; those inside the first epoch are below 1.
    """
    large = rows_where(rows, metric=main_metric(rows))
    return sorted(map(float, large[measurable(large)]["epoch"].unique()))


def _bend(curve: Curve) -> ndarray:
    """Return how far curves are from a straight line to 0 at their farthest point, (1 + samples,)."""
    return numpy.abs(curve.kept - (1 - curve.removed)).max(axis=1)


def settles_early(tables: StudyTables, *, early: float, settled: float) -> list[Reading]:
    """Decide whether heads rank within their sites early in training as at its end, as far as noise allows.

    Over all heads, ranks are those of sites: some sites have large scores in every training, also in another one.
    Within a site the heads of a new model are exchangeable: two trainings from scratch have nothing in common, and the
    correlation without early settling is exactly 0. What two seeds have in common is reported. All runs are judged at
    once.
    """
    every = tables.every("scores")
    runs = list(by_run(every, tables))
    criteria = list(dict.fromkeys(every["criterion"])) if len(every) else []
    chosen = PAPERS_OWN[0] if PAPERS_OWN[0] in criteria else main_criterion(every)
    by_criterion = {name: _read_settled(runs, name, early, settled) for name in dict.fromkeys([chosen, *criteria])}
    known = [one for one in by_criterion.values() if one]
    return [with_agreement(known)] if by_criterion.get(chosen) else []


class Ranking(NamedTuple):
    """The scores of one run's heads by site, after the first part of training and at its end."""

    run: str
    epoch: float
    last: float
    early: BySite
    end: BySite
    halves: tuple[BySite, BySite]  # at its end, on either half of the examples; empty if they were not computed

    @property
    def ceiling(self) -> float:
        """What noise allows: the reliability of ranks within sites, of the mean site; NaN where it is not positive."""
        half = float(_within_sites(*self.halves).mean())  # of half the examples; of all: Spearman-Brown
        return 2 * half / (1 + half) if half > 0 else math.nan


def _read_settled(runs: list[pandas.DataFrame], criterion: str, early: float, settled: float) -> Reading | None:
    """Read all runs by one criterion; None if none has scores from the first part of training."""
    found = [one for rows in runs if (one := _ranking(rows, criterion, early))]
    if not found:
        return None
    sites = [_within_sites(one.early, one.end) for one in found]
    raw = _mean_correlation(sites)
    about: dict[str, str | float] = {"epoch": found[0].epoch, "last": found[0].last}
    if all(all(one.halves) for one in found):
        ceilings = [one.ceiling for one in found]
        corrected = _mean_correlation([own / ceiling for own, ceiling in zip(sites, ceilings)])
        about |= {"over": " over what noise allows"}
        numbers = [
            Number("spearman", corrected, about=about, asked=above(settled), limits=(-1.0, 1.0)),
            Number("uncorrected", raw),
            Number("ceiling", Estimate(float(numpy.mean(ceilings)))),
        ]
    else:
        about |= {"over": ", not corrected for noise"}
        numbers = [Number("spearman", raw, about=about, asked=above(settled), limits=(-1.0, 1.0))]
    if len(found) > 1:
        alike = [float(_within_sites(one.end, other.end).mean()) for one, other in combinations(found, 2)]
        numbers.append(Number("other_seeds", Estimate(float(numpy.mean(alike)))))
    return Reading(tuple(numbers), runs=tuple(one.run for one in found))


def _mean_correlation(sites: list[ndarray]) -> Estimate:
    """Return the mean over the runs of (sites,) correlations, at most 1, with its interval."""
    return Estimate(*(float(end) for end in numpy.clip(mean_of_groups(sites), -1, 1)))


def _ranking(rows: pandas.DataFrame, criterion: str, early: float) -> Ranking | None:
    """Return the first epoch after a share of a run's training and the last one; None without such an epoch."""
    own = _by_site(rows, criterion)
    last = max(own, default=0)
    epoch = min((epoch for epoch in own if math.ceil(early * last) <= epoch < last), default=None)
    if epoch is None:
        return None
    first, second = (_by_site(rows, criterion, half).get(last, {}) for half in ("choose", "score"))
    return Ranking(str(rows["run"].iloc[0]), epoch, last, own[epoch], own[last], (first, second))


def _by_site(rows: pandas.DataFrame, criterion: str, half: str = "all") -> dict[float, BySite]:
    """Return by epoch and site the (heads,) raw scores of a criterion, of sites with enough heads to be ranked."""
    rows = rows_where(rows, criterion=criterion, normalised="raw", half=half).sort_values("head")
    found: dict[float, BySite] = {}
    for _, heads in rows.groupby(["epoch", "kind", "layer"]):
        first = heads.iloc[0]
        if len(heads) >= ranks.FEWEST_HEADS:
            site = str(first["kind"]), int(first["layer"])
            found.setdefault(float(first["epoch"]), {})[site] = heads["value"].to_numpy(dtype=float)
    return found


def _within_sites(first: BySite, second: BySite) -> ndarray:
    """Return the rank correlation of the heads of every site that both have, (sites,); 0 of scores without ranks."""
    pairs = [(first[site], second[site]) for site in sorted(first) if site in second]
    return numpy.nan_to_num(numpy.array([ranks.correlation("spearman", *pair).value for pair in pairs]))


def early_seen(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether the first judged epoch of a training scores at most the share `most` of its last one."""
    rows = with_scale(rows_where(tables.pruning_epochs, run=run))
    epochs = list_judged_epochs(rows)
    if not epochs:
        return "none was judged"
    scores = rows_where(rows, metric=main_metric(rows), set=main_set(rows)).groupby("epoch")["scale"].first()
    found = float(scores[epochs[0]] / scores[epochs[-1]])
    return "" if found <= most else f"its first has {100 * found:.0f} %"


def new_heads(tables: StudyTables, run: str) -> str:
    """Look whether the heads of a model were new when it was trained."""
    pretrained = tables.description(task_of(run)).ground == "pretrained encoder"
    return "they come from a pretrained encoder" if pretrained else ""
