"""Whether the ranking of heads depends on what replaces a removed head's z: zero, its mean, or that of another example.

Effects by one replacement on the set that heads are chosen on are compared with those by another on the set that they
are judged on: the noise of the two is independent, which it is not on one set. So the correlation of a replacement with
itself on the two sets is the reliability of its ranks, and two rankings that differ by noise alone correlate at the
square root of the product of their reliabilities (see `stages.rank_correlation`).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy
import pandas

from headroom.claims.evidence import by_run
from headroom.claims.verdict import Number, Reading, mean_over_runs
from headroom.core import ranks
from headroom.core.interventions import REPLACEMENTS
from headroom.core.statistics import Estimate
from headroom.experiments.ablation.claims import HEADS
from headroom.study.selection import last_epochs, main_metric, rows_where, select_judged
from headroom.study.tables import StudyTables

ZERO = "zero"
CHOOSE = "choose"


class Pair(NamedTuple):
    """Two replacements in one run, `first` on the set `choose`, `second` on the set that heads are judged on."""

    run: str  # "" for the means over runs
    first: str
    second: str
    correlation: Estimate  # Spearman's, of the effects of all heads, with an interval over heads
    ceiling: float  # what noise allows
    heads: int

    @property
    def name(self) -> str:
        """Both replacements, e.g. `zero, mean`."""
        return f"{self.first}, {self.second}"


def all_effects(tables: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's effects of single heads in the main metric, by every replacement (`replacement`)."""
    return rows_where(last_epochs(tables.every("ablation")), metric=main_metric(tables.ablation))


def pairs(tables: StudyTables) -> Iterator[Pair]:
    """Yield every pair of replacements of every run of the baseline; none if there is one replacement, or one set."""
    for rows in by_run(all_effects(tables), tables):
        test = str(select_judged(rows)["set"].iloc[0])
        wide = rows.pivot_table(index=HEADS, columns=["replacement", "set"], values="delta").dropna()
        kinds = [kind for kind in REPLACEMENTS if kind in set(rows["replacement"])]
        if test == CHOOSE or any((kind, name) not in wide for kind in kinds for name in (CHOOSE, test)):
            continue
        yield from _pairs(str(rows["run"].iloc[0]), wide, kinds, test)


def _pairs(run: str, wide: pandas.DataFrame, kinds: list[str], test: str) -> Iterator[Pair]:
    def between(first: str, second: str) -> Estimate:
        sides = (wide[first, CHOOSE], wide[second, test])
        return Estimate(*ranks.correlation("spearman", *(side.to_numpy(dtype=float) for side in sides)))

    reliability = {kind: max(0.0, between(kind, kind).value) for kind in kinds}
    for first, second in itertools.combinations(kinds, 2):
        found = between(first, second)
        if not math.isnan(found.value):
            ceiling = float(numpy.sqrt(reliability[first] * reliability[second]))
            yield Pair(run, first, second, found, ceiling, len(wide))


def over_all_runs(tables: StudyTables) -> list[Pair]:
    """Return every pair of replacements with the means over the runs of the baseline."""
    found: dict[str, list[Pair]] = {}
    for one in pairs(tables):
        found.setdefault(one.name, []).append(one)
    return [
        own[0]._replace(
            run="",
            correlation=mean_over_runs([one.correlation for one in own]),
            ceiling=float(numpy.mean([one.ceiling for one in own])),
        )
        for own in found.values()
    ]


def build_frame(found: Sequence[Pair]) -> pandas.DataFrame:
    """Return pairs as rows, the correlation in `spearman`, `spearman_low` and `spearman_high`."""
    ends = ("spearman", "spearman_low", "spearman_high")
    return pandas.DataFrame([one._asdict() | dict(zip(ends, one.correlation)) for one in found]).drop(
        columns=["run", "correlation"]
    )


def correlations(tables: StudyTables) -> Iterator[Reading]:
    """Yield the rank correlation of every pair of replacements of a removed head's z, and what noise allows."""
    for one in over_all_runs(tables):
        found = Number("replacement_correlation", one.correlation), Number("replacement_ceiling", Estimate(one.ceiling))
        yield Reading(found, part=one.name)
