"""What encoder attention and the heads of relations are needed for: accuracy per phenomenon without them.

Voita et al. 2019 name functions of heads by where they attend, and remove heads by gates; whether what depends on a
relation is lost with the heads that find it is asked here.
"""

import math
from collections.abc import Iterator

import numpy
import pandas

from headroom.claims.evidence import by_run, each_run, estimate_in
from headroom.claims.verdict import Number, Reading, above, below, exactly, mean_over_runs
from headroom.core.statistics import Estimate, holm
from headroom.study.selection import last_epochs, rows_where
from headroom.study.tables import StudyTables

RELATIONS = {
    "agreement": "nsubj",
    "predicate": "nsubj",
    "passive": "obl:agent",
    "adjective": "amod",
    "object": "obj",
    "particle": "compound:prt",
    "concord": "advmod",
}
"""The relation (Universal Dependencies) that the form of a phenomenon's word depends on, where it is a single one."""

CONTROL = "name"
"""The phenomenon that depends on no relation."""

ENCODER = "encoder"
"""The group of all encoder heads."""

BEYOND = ("beyond", "beyond_low", "beyond_high")


@each_run("phenomena")
def encoder_is_needed(rows: pandas.DataFrame, *, lost: float, least: float) -> Reading | None:
    """Decide whether relations between words are lost without encoder attention, and more is lost than of names."""
    rows = rows_where(last_epochs(rows), group=ENCODER)
    relations, control = rows[rows["phenomenon"] != CONTROL], rows_where(rows, phenomenon=CONTROL)
    if relations.empty or control.empty:
        return None
    names = estimate_in(control, "delta", "low", "high")
    beyond = [Estimate(*row).less(names) for row in relations[["delta", "low", "high"]].to_numpy(dtype=float)]
    relations = relations.assign(**dict(zip(BEYOND, map(list, zip(*beyond)))))
    fallen = Estimate(*(float((relations[end] < -lost).sum()) for end in ("beyond", "beyond_high", "beyond_low")))
    about, asked = {"phenomena": len(relations)}, above(least - 0.5)
    numbers = (
        Number("fallen", fallen, "count", about=about, asked=asked, limits=(0.0, math.inf), ends="bounds"),
        Number("control", names, signed=True),
        _most(relations, BEYOND),
    )
    return Reading(numbers)


@each_run("phenomena")
def relation_heads_are_needed(rows: pandas.DataFrame, *, level: float, loss: float) -> Reading | None:
    """Decide whether removing the heads of a relation costs more on its phenomena than removing as many others."""
    rows = last_epochs(rows)
    own = rows[rows["phenomenon"].map(RELATIONS) == rows["group"]]
    own = own[own["p"].notna()]
    if own.empty:
        return None
    worse = (own["beyond"] < 0).to_numpy() & (numpy.array(holm(own["p"].to_list()), dtype=float) < level)
    numbers = [
        Number("beyond", _mean(own), signed=True, asked=below(0.0, refuted=-loss)),
        Number("worse", exactly(float(worse.sum())), "count"),
        Number("tested", exactly(float(len(own))), "count"),
    ]
    control = rows_where(rows[rows["group"].isin(set(own["group"]))], phenomenon=CONTROL)
    if len(control):
        numbers.append(Number("control", _mean(control), signed=True))
    return Reading((*numbers, _most(own, BEYOND)))


def _mean(rows: pandas.DataFrame) -> Estimate:
    """Return the mean difference from random heads.

    The ends are the means of the rows' ends: all are measured on the same sentences, and however their errors depend on
    each other, the interval is not too narrow.
    """
    return Estimate(*(float(rows[name].mean()) for name in BEYOND))


def _most(rows: pandas.DataFrame, columns: tuple[str, ...]) -> Number:
    most = rows.sort_values(columns[0]).head(1)
    chosen = {"phenomenon": str(most["phenomenon"].iloc[0]), "relation": str(most["group"].iloc[0])}
    return Number("most", estimate_in(most, *columns), signed=True, chosen=chosen)


def most_lost(tables: StudyTables) -> Iterator[Reading]:
    """Yield the largest loss of accuracy without encoder attention, in points; the part is the phenomenon.

    The phenomenon of a run is that which loses most in the other runs: chosen in the same run, the loss would be too
    large.
    """
    if not tables.has("phenomena"):
        return
    rows = [rows_where(last_epochs(own), group=ENCODER) for own in by_run(tables.phenomena, tables)]
    runs = [own.set_index("phenomenon") for own in rows if len(own)]
    chosen = [_find_most_lost([other for other in runs if other is not own] or [own]) for own in runs]
    found = [estimate_in(own.loc[[name]], "delta", "low", "high") for own, name in zip(runs, chosen)]
    if found:
        most = Number("phenomenon_lost", mean_over_runs(found), signed=True)
        yield Reading((most,), part=" or ".join(dict.fromkeys(chosen)))


def _find_most_lost(runs: list[pandas.DataFrame]) -> str:
    return str(pandas.concat(runs).groupby(level=0)["delta"].mean().idxmin())
