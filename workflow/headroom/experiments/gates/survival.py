"""Whether heads with a role survive pruning, and whether roles move to heads that are left.

Voita et al. (2019), section 6.3.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy
import pandas
from numpy import ndarray
from scipy.optimize import brentq
from scipy.stats import hypergeom

from headroom.claims.evidence import by_run
from headroom.claims.verdict import Number, Reading, above, exactly
from headroom.core.heads import Head
from headroom.core.statistics import LEVEL, Estimate, estimate_share
from headroom.experiments.gates.claims import HARD_CONCRETE, RANDOM, encoder_scope, hard, kept_heads, list_removed
from headroom.experiments.roles.claims import TRAINED, UNTRAINED, main_roles, of_heads, select_held
from headroom.study.selection import last_epochs, parse_heads, rows_where
from headroom.study.tables import StudyTables

_NUMBER = re.compile(r"[0-9.]+(e-?[0-9]+)?")

_CONTROL = re.compile(r"controls\.(\w+)\.random(\d+)-([0-9.]+)")
"""The name of a random layout that was trained further: its scope, draw, and share of heads."""

MOST_ODDS = 1000.0
"""Larger odds ratios are given as this, smaller ones than its inverse as that."""


@dataclass(frozen=True)
class Survivors:
    """What is left of the encoder's heads at one setting."""

    method: str  # how heads were chosen
    setting: str  # lambda or K
    kept: frozenset[Head]  # the encoder heads left
    heads: frozenset[Head]  # all encoder heads
    specialised: frozenset[Head]  # those that hold a role in the trained model

    @property
    def found(self) -> int:
        """Heads with a role that are left."""
        return len(self.kept & self.specialised)

    @property
    def expected(self) -> float:
        """Heads with a role among as many random survivors, on average."""
        return len(self.kept) * len(self.specialised) / len(self.heads)

    @property
    def by_layer(self) -> "list[Survivors]":
        """The same of every layer apart."""

        def within(heads: frozenset[Head], layer: int) -> frozenset[Head]:
            return frozenset(head for head in heads if head.layer == layer)

        return [
            replace(
                self,
                kept=within(self.kept, layer),
                heads=within(self.heads, layer),
                specialised=within(self.specialised, layer),
            )
            for layer in sorted({head.layer for head in self.heads})
        ]

    @property
    def ways(self) -> ndarray:
        """In how many ways as many survivors have 0, 1, ... heads with a role, (survivors + 1,)."""
        roles, kept = len(self.specialised), len(self.kept)
        others = len(self.heads) - roles
        ways = [math.comb(roles, found) * math.comb(others, kept - found) for found in range(kept + 1)]
        return numpy.array(ways, dtype=float)

    def chances(self) -> tuple[float, float, float]:
        """Return the chance that random survivors have as many heads with a role, and the ends of their middle 95 %.

        The number among random survivors is hypergeometric; the chance is exact.
        """
        urn = hypergeom(len(self.heads), len(self.specialised), len(self.kept))
        low, high = urn.interval(0.95)
        return float(urn.sf(self.found - 1)), float(low), float(high)


def survivors(gates: pandas.DataFrame, targets: dict[Head, list[str]], method: str) -> list[Survivors]:
    """Return what is left at every setting of one run and method, given the targets of heads with a role.

    The rows of `gates` are those of the run; the setting that keeps most heads comes first.
    """
    rows = rows_where(last_epochs(gates), method=method, kind="E")
    rows = rows_where(rows, scope=encoder_scope(rows))
    found = []
    for setting, own in rows.groupby("setting", sort=False):
        heads = frozenset(parse_heads(own))
        specialised = heads & frozenset(targets)
        found.append(Survivors(method, str(setting), frozenset(kept_heads(own)), heads, specialised))
    return sorted(found, key=lambda one: -len(one.kept))


def decisive(found: list[Survivors]) -> Survivors | None:
    """Return the setting that keeps as many heads as have a role, as nearly as there is one; None without any."""
    partial = [one for one in found if 0 < len(one.kept) < len(one.heads) and one.specialised]
    return min(partial, key=lambda one: abs(len(one.kept) - len(one.specialised)), default=None)


def specialised_survive(tables: StudyTables, *, odds: float) -> list[Reading]:
    """Decide whether heads with a role survive pruning more often than others of their layer, in all runs together."""
    examined = {*tables.roles["run"], *tables.attention_stats["run"]}
    names = {str(rows["run"].iloc[0]): rows for rows in by_run(tables.gates, tables)}
    swept = {run: survivors(rows, main_roles(tables, run), HARD_CONCRETE) for run, rows in names.items()}
    runs = tuple(run for run, found in swept.items() if found and run in examined)
    if not runs:
        return []
    models = [one for one in (decisive(swept[run]) for run in runs) if one is not None]
    if not models:
        roles = sum(len(swept[run][0].specialised) for run in runs)
        return [Reading((Number("no_setting", exactly(float(roles)), "count"),), runs=runs)]
    layers = [layer for one in models for layer in one.by_layer]
    found = log_odds(layers)
    numbers = (
        Number("log_odds", found, signed=True, asked=above(0.0, refuted=math.log(odds))),
        Number("odds", Estimate(*map(math.exp, found))),
        _total("survive", [one.found for one in models]),
        Number("by_chance", Estimate(sum(one.expected for one in layers))),
        _total("survivors", [len(one.kept) for one in models]),
        _total("specialised", [len(one.specialised) for one in models]),
        _total("models", [1 for _ in models]),
    )
    return [Reading(numbers, runs=runs)]


def log_odds(strata: Sequence[Survivors]) -> Estimate:
    """Return the logarithm of the odds ratio of survival of heads with a role, the same in all strata.

    Given how many heads of a stratum have a role and how many survive, the number of those that do both has Fisher's
    noncentral hypergeometric distribution. The sum over strata is judged: the value is the conditional maximum
    likelihood estimate, the interval is exact (both tails have 2.5 %). Odds beyond `MOST_ODDS` are given as that.
    """
    ways = numpy.log(reduce(numpy.convolve, [one.ways for one in strata]).clip(min=1e-300))
    found, numbers = sum(one.found for one in strata), numpy.arange(len(ways))

    def chances(odds: float) -> ndarray:
        weights = ways + odds * numbers
        weights = numpy.exp(weights - weights.max())
        return numpy.asarray(weights / weights.sum())

    def where(rising: Callable[[ndarray], float]) -> float:
        """Return where a rising function of the chances crosses 0, or the limit that is nearest to it."""
        limits = (-math.log(MOST_ODDS), math.log(MOST_ODDS))
        ends = [rising(chances(odds)) for odds in limits]
        if ends[0] == ends[1] == 0:  # only one number is possible: it says nothing of the odds
            return 0.0
        if ends[0] >= 0 or ends[1] <= 0:
            return limits[0] if ends[0] >= 0 else limits[1]
        return float(brentq(lambda odds: rising(chances(odds)), *limits))

    tail = (1 - LEVEL) / 2
    low = where(lambda chance: float(chance[found:].sum()) - tail)
    high = where(lambda chance: tail - float(chance[: found + 1].sum()))
    return Estimate(where(lambda chance: float(chance @ numbers) - found), low, high)


def _total(name: str, counts: Sequence[int]) -> Number:
    return Number(name, exactly(float(sum(counts))), "count")


@dataclass(frozen=True)
class Drift:
    """What became of roles in one pruned model."""

    model: str  # its name
    removed: frozenset[str]  # the heads that went
    before: dict[str, frozenset[str]]  # heads that hold each target in the trained model
    after: dict[str, frozenset[str]]  # heads that hold it in the pruned model

    @property
    def lost(self) -> list[str]:
        """Targets all of whose heads went."""
        return [target for target, heads in self.before.items() if heads <= self.removed]

    @property
    def taken_over(self) -> list[str]:
        """Those of them that a surviving head holds afterwards."""
        return [target for target in self.lost if self.after.get(target)]

    @property
    def new(self) -> list[tuple[str, str]]:
        """Pairs of target and head that hold after pruning and did not before."""
        nobody: frozenset[str] = frozenset()
        gained = ((target, heads - self.before.get(target, nobody)) for target, heads in self.after.items())
        return [(target, head) for target, heads in gained for head in sorted(heads)]


def drifts(tables: StudyTables, run: str) -> list[Drift]:
    """Return what became of roles in every pruned model of a run whose heads were labelled again."""
    roles = rows_where(last_epochs(tables.roles), run=run)
    observed = rows_where(last_epochs(tables.attention_stats), run=run)
    models = dict.fromkeys([*observed["model"], *roles["model"]])
    names = [name for name in models if name not in (TRAINED, UNTRAINED)]
    pruned = hard(rows_where(tables.pruned_models, run=run))
    before = _holders(select_held(roles))
    found = []
    for name in names:
        removed = next((frozenset(list_removed(row)) for _, row in pruned.iterrows() if is_of(name, row)), None)
        if removed is not None:
            found.append(Drift(name, removed, before, _holders(select_held(roles, name), removed)))
    return found


def is_of(model: str, row: pandas.Series) -> bool:
    """Return whether a model's name, `hard-concrete.<scope>.<lambda>`, is of a row of `pruned_models`.

    Random layouts are named `controls.<scope>.random<draw>-<share kept>`.
    """
    if control := _CONTROL.fullmatch(model):
        scope, draw, share = control.groups()
        kept = f"{round(float(share) * row['heads']):g}"
        return (row["method"], row["scope"], f"{row['draw']:.0f}", row["setting"]) == (RANDOM, scope, draw, kept)
    end = model.removeprefix(f"{HARD_CONCRETE}.{row['scope']}.")
    is_learned = row["method"] == HARD_CONCRETE and _NUMBER.fullmatch(end)
    return bool(is_learned) and f"{float(end):g}" == row["setting"]


def _holders(roles: pandas.DataFrame, without: frozenset[str] = frozenset()) -> dict[str, frozenset[str]]:
    """Return the names of the heads that hold each target."""
    found: dict[str, frozenset[str]] = {}
    for head, targets in of_heads(roles).items():
        for target in targets if str(head) not in without else ():
            found[target] = found.get(target, frozenset()) | {str(head)}
    return found


def functions_move(tables: StudyTables) -> list[Reading]:
    """Decide whether functions whose heads are pruned are taken over more often than in random layouts."""
    names = [str(rows["run"].iloc[0]) for rows in by_run(tables.pruned_models, tables)]
    found = {run: drifts(tables, run) for run in names}
    learned = {run: [one for one in models if not _CONTROL.fullmatch(one.model)] for run, models in found.items()}
    random = {run: [one for one in models if _CONTROL.fullmatch(one.model)] for run, models in found.items()}
    if not any(learned.values()):
        return []
    fates, controls = ([fate for models in of.values() for fate in list_fates(models)] for of in (learned, random))
    numbers = []
    if fates and controls:
        more = _taken_over(fates).less(_taken_over(controls))
        numbers.append(Number("more", more, "share", signed=True, asked=above(0.0), limits=(-1.0, 1.0)))
    if fates:
        numbers.append(Number("taken_over", _taken_over(fates), "share"))
    if controls:
        numbers.append(Number("taken_over_at_random", _taken_over(controls), "share"))
    numbers += [_total("lost", [len(fates)]), _total("models", [len(models) for models in learned.values()])]
    return [Reading(tuple(numbers), runs=tuple(run for run, models in learned.items() if models))]


def list_fates(models: Sequence[Drift]) -> list[bool]:
    """Return of every function that is lost in some pruned models of one run whether most of these take it over.

    A function counts once per run: what becomes of it in several models of one sweep is not independent.
    """
    found: dict[str, list[bool]] = {}
    for model in models:
        for target in model.lost:
            found.setdefault(target, []).append(target in model.taken_over)
    return [2 * sum(taken) > len(taken) for taken in found.values()]


def _taken_over(fates: Sequence[bool]) -> Estimate:
    """Return the share of lost functions that are taken over, with its exact interval."""
    return estimate_share(sum(fates) / len(fates), len(fates))
