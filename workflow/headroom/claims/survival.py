"""Whether heads with a role survive pruning, and whether roles move to heads that are left.

Voita et al. (2019), section 6.3.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy
import pandas
from numpy import ndarray
from scipy.stats import hypergeom, nchypergeom_fisher

from headroom.claims.evidence import by_run
from headroom.claims.gates import HARD_CONCRETE, RANDOM, encoder_scope, hard, kept_heads, removed_heads
from headroom.claims.roles import TRAINED, UNTRAINED, held, main_roles, of_heads
from headroom.claims.selection import heads_of, last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading, above
from headroom.core.heads import Head
from headroom.core.statistics import Estimate, counted_share

_NUMBER = re.compile(r"[0-9.]+(e-?[0-9]+)?")

_CONTROL = re.compile(r"controls\.(\w+)\.random(\d+)-(?:(\d+)-heads|([0-9.]+))")
"""The name of a random layout that was trained further: its scope, draw, and number or share of heads."""

SMALLEST = 1e-4
"""Smaller p are written as this."""


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

    def chances(self) -> tuple[float, float, float]:
        """Return the chance that random survivors have as many heads with a role, and the ends of their middle 95 %.

        The number among random survivors is hypergeometric; the chance is exact.
        """
        urn = hypergeom(len(self.heads), len(self.specialised), len(self.kept))
        low, high = urn.interval(0.95)
        return float(urn.sf(self.found - 1)), float(low), float(high)


def chance_of_so_many(models: Sequence[Survivors]) -> float:
    """Return the chance that random survivors of all models have as many heads with a role in all, or more.

    The number in one model is hypergeometric; those of several models are independent. Exact.
    """
    urns = [hypergeom(len(one.heads), len(one.specialised), len(one.kept)) for one in models]
    return 1 - float(_sum_of(models, urns)[: sum(one.found for one in models)].sum())


def chance_of_so_few(models: Sequence[Survivors], odds: float) -> float:
    """Return the chance of no more heads with a role in all models than found, given their odds ratio of survival.

    Fisher's noncentral hypergeometric distribution in every model; exact.
    """
    urns = [nchypergeom_fisher(len(one.heads), len(one.specialised), len(one.kept), odds) for one in models]
    return float(_sum_of(models, urns)[: sum(one.found for one in models) + 1].sum())


def _sum_of(models: Sequence[Survivors], urns: Sequence[Any]) -> ndarray:
    """Return the probabilities of 0, 1, ... heads with a role in all models, (survivors + 1,)."""
    return reduce(numpy.convolve, [urn.pmf(numpy.arange(len(one.kept) + 1)) for one, urn in zip(models, urns)])


def survivors(gates: pandas.DataFrame, targets: dict[Head, list[str]], method: str) -> list[Survivors]:
    """Return what is left at every setting of one run and method, given the targets of heads with a role.

    The rows of `gates` are those of the run; the setting that keeps most heads comes first.
    """
    rows = rows_where(last_epochs(gates), method=method, kind="E")
    rows = rows_where(rows, scope=encoder_scope(rows))
    found = []
    for setting, own in rows.groupby("setting", sort=False):
        heads = frozenset(heads_of(own))
        specialised = heads & frozenset(targets)
        found.append(Survivors(method, str(setting), frozenset(kept_heads(own)), heads, specialised))
    return sorted(found, key=lambda one: -len(one.kept))


def decisive(found: list[Survivors]) -> Survivors | None:
    """Return the setting that keeps as many heads as have a role, as nearly as there is one; None without any."""
    partial = [one for one in found if 0 < len(one.kept) < len(one.heads) and one.specialised]
    return min(partial, key=lambda one: abs(len(one.kept) - len(one.specialised)), default=None)


def specialised_survive(tables: StudyTables, *, level: float, odds: float) -> list[Reading]:
    """Decide whether heads with a role survive pruning more often than random heads would, in all runs together."""
    examined = {*tables.roles["run"], *tables.attention_stats["run"]}
    names = [(str(rows["run"].iloc[0]), rows) for rows in by_run(tables.gates, tables)]
    swept = [survivors(rows, main_roles(tables, run), HARD_CONCRETE) for run, rows in names if run in examined]
    if not any(swept):
        return []
    models = [one for one in map(decisive, swept) if one is not None]
    if not models:
        roles = Estimate(float(sum(len(own[0].specialised) for own in swept if own)))
        return [Reading(UNDECIDED, (Number("no_setting", roles, "count"),), seeds=len(swept))]
    p = chance_of_so_many(models)
    numbers = (
        _total("survive", [one.found for one in models]),
        Number("by_chance", Estimate(sum(one.expected for one in models))),
        _total("survivors", [len(one.kept) for one in models]),
        _total("specialised", [len(one.specialised) for one in models]),
        _total("models", [1 for _ in models]),
        Number("p", Estimate(max(p, SMALLEST))),
    )
    verdict = HOLDS if p < level else FAILS if chance_of_so_few(models, odds) < level else UNDECIDED
    return [Reading(verdict, numbers, seeds=len(models))]


def _total(name: str, counts: Sequence[int]) -> Number:
    return Number(name, Estimate(float(sum(counts))), "count")


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
    before = _holders(held(roles))
    found = []
    for name in names:
        removed = next((frozenset(removed_heads(row)) for _, row in pruned.iterrows() if is_of(name, row)), None)
        if removed is not None:
            found.append(Drift(name, removed, before, _holders(held(roles, name), removed)))
    return found


def is_of(model: str, row: pandas.Series) -> bool:
    """Return whether a model's name, `<method>.<scope>.<lambda, or share kept>`, is of a row of `pruned_models`.

    Random layouts are named `controls.<scope>.random<draw>-<share or number kept>`.
    """
    if control := _CONTROL.fullmatch(model):
        scope, draw, number, share = control.groups()
        kept = number or f"{round(float(share) * row['heads']):g}"
        return (row["method"], row["scope"], f"{row['draw']:.0f}", row["setting"]) == (RANDOM, scope, draw, kept)
    method = f"{row['method']}{row['draw']:.0f}" if row["method"] == RANDOM else str(row["method"])
    prefix = f"{method}.{row['scope']}."
    end = model.removeprefix(prefix)
    if end == model or not _NUMBER.fullmatch(end):
        return False
    if method == HARD_CONCRETE:
        return f"{float(end):g}" == row["setting"]
    return f"{round(float(end) * row['heads']):g}" == row["setting"]


def _holders(roles: pandas.DataFrame, without: frozenset[str] = frozenset()) -> dict[str, frozenset[str]]:
    """Return the names of the heads that hold each target."""
    found: dict[str, frozenset[str]] = {}
    for head, targets in of_heads(roles).items():
        for target in targets if str(head) not in without else ():
            found[target] = found.get(target, frozenset()) | {str(head)}
    return found


def functions_move(tables: StudyTables, *, share: float) -> list[Reading]:
    """Decide whether functions whose heads are pruned are taken over by heads that are left, in all runs together."""
    runs = [drifts(tables, str(rows["run"].iloc[0])) for rows in by_run(tables.pruned_models, tables)]
    learned = [[one for one in models if not _CONTROL.fullmatch(one.model)] for models in runs]
    random = [[one for one in models if _CONTROL.fullmatch(one.model)] for models in runs]
    if not any(learned):
        return []
    fates = [fate for models in learned for fate in fates_of(models)]
    counts = (_total("lost", [len(fates)]), _total("models", [len(models) for models in learned]))
    seeds = sum(bool(models) for models in learned)
    if not fates:
        return [Reading(UNDECIDED, counts, seeds=seeds)]
    found = _taken_over(fates)
    controls = [fate for models in random for fate in fates_of(models)]
    control = (Number("taken_over_at_random", _taken_over(controls), "share"),) if controls else ()
    verdict = str(above(found, share))  # counted, not a mean over seeds: how many more would decide is not known
    return [Reading(verdict, (Number("taken_over", found, "share"), *counts, *control), seeds=seeds)]


def fates_of(models: Sequence[Drift]) -> list[bool]:
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
    return counted_share(sum(fates) / len(fates), len(fates))
