"""V8 and V9: whether heads with a role survive pruning, and whether roles move to heads that are left."""

import re
from dataclasses import dataclass

import pandas
from scipy.stats import hypergeom

from headroom.claims.roles import TRAINED, UNTRAINED, held, main_roles, of_heads
from headroom.claims.selection import heads_of, last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.heads import Head
from headroom.report.claims.evidence import by_run
from headroom.report.claims.gating import HARD_CONCRETE, RANDOM, encoder_scope, hard, kept_heads, removed_heads
from headroom.report.claims.verdict import (
    FAILS,
    HOLDS,
    LEVEL,
    UNDECIDED,
    Claim,
    Estimate,
    Measured,
    Reading,
)

SHARE = 0.5

_NUMBER = re.compile(r"[0-9.]+(e-?[0-9]+)?")

SMALLEST = 1e-4
"""Smaller p are written as this."""


@dataclass(frozen=True)
class Survivors:
    """What is left of the encoder's heads at one setting.

    Attributes:
        method: How heads were chosen.
        setting: Lambda or K.
        kept: The encoder heads left.
        heads: All encoder heads.
        specialised: Those that hold a role in the trained model.
    """

    method: str
    setting: str
    kept: frozenset[Head]
    heads: frozenset[Head]
    specialised: frozenset[Head]

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


def survivors(gates: pandas.DataFrame, targets: dict[Head, list[str]], method: str) -> list[Survivors]:
    """Return what is left at every setting of one run and method, most heads first.

    Args:
        gates: Rows of `gates` of one run.
        targets: The targets of every head that holds a role.
        method: How heads were chosen.
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


def _read_survival(rows: pandas.DataFrame, targets: dict[Head, list[str]]) -> Reading | None:
    every = survivors(rows, targets, HARD_CONCRETE)
    if not every:
        return None
    one = decisive(every)
    if one is None:
        roles = Estimate(float(len(every[0].specialised)))
        return Reading(UNDECIDED, (Measured("no setting to compare; heads with a role: {}", roles, unit="count"),))
    p, _, _ = one.chances()
    measured = (
        Measured("{} heads with a role survive", Estimate(float(one.found)), unit="count"),
        Measured("{} would by chance", Estimate(one.expected)),
        Measured("survivors in all: {}", Estimate(float(len(one.kept))), unit="count"),
        Measured("heads with a role before: {}", Estimate(float(len(one.specialised))), unit="count"),
        Measured("exact p at most {}", Estimate(max(p, SMALLEST))),
    )
    return Reading(HOLDS if p < LEVEL else FAILS if one.found <= one.expected else UNDECIDED, measured)


def _survival(tables: StudyTables) -> list[Reading]:
    examined = {*tables.roles["run"], *tables.attention_stats["run"]}
    found = []
    for rows in by_run(tables.gates):
        run = str(rows["run"].iloc[0])
        if run in examined:
            found.append(_read_survival(rows, main_roles(tables, run)))
    return [reading for reading in found if reading is not None]


@dataclass(frozen=True)
class Drift:
    """What became of roles in one pruned model.

    Attributes:
        model: Its name.
        removed: The heads that went.
        before: Heads that hold each target in the trained model.
        after: Heads that hold it in the pruned model.
    """

    model: str
    removed: frozenset[str]
    before: dict[str, frozenset[str]]
    after: dict[str, frozenset[str]]

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
    """Return whether a model's name, `<method>.<scope>.<lambda, or share kept>`, is of a row of `pruned_models`."""
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


def _read_drift(found: list[Drift]) -> Reading:
    lost, taken = (sum(len(getattr(one, name)) for one in found) for name in ("lost", "taken_over"))
    models = Measured("models labelled again: {}", Estimate(float(len(found))), unit="count")
    gone = Measured("functions that lost all their heads: {}", Estimate(float(lost)), unit="count")
    if not lost:
        return Reading(UNDECIDED, (gone, models))
    share = taken / lost
    verdict = HOLDS if share > SHARE else UNDECIDED if taken else FAILS
    words = "{} of the functions that lost all their heads are taken over"
    return Reading(verdict, (Measured(words, Estimate(share), unit="share"), gone, models))


def _drift(tables: StudyTables) -> list[Reading]:
    every = [drifts(tables, str(rows["run"].iloc[0])) for rows in by_run(tables.pruned_models)]
    return [_read_drift(found) for found in every if found]


CLAIMS = (
    Claim(
        id="V8",
        claim="Heads with a role survive pruning.",
        paper={
            "translation": "17 of 48 heads kept: 11 of the 14 with a role among them; at random 5 would be",
            "classification": "examined on translation only: 11 of 14 encoder heads with a role among 17 of 48",
        },
        rule="Hard-concrete gates on the encoder; roles are those of the trained model before. The setting is the one"
        " that keeps as many heads as have a role, as nearly as the sweep has one. Holds if as many random survivors"
        " have that many heads with a role, or more, with a chance below 5 % (hypergeometric, exact), does not hold if"
        " there are no more than random survivors have on average; else undecided.",
        section="gates",
        read=_survival,
    ),
    Claim(
        id="V9",
        claim="Functions whose heads are pruned are taken over by heads that are left.",
        paper={
            "translation": "seen in models with 6 heads and fewer, whose positional heads also track syntax; not"
            " counted",
            "classification": "examined on translation only: seen in models with 6 heads and fewer, not counted",
        },
        rule="The heads of pruned models are labelled again. A function (a relative position, a relation in one"
        " direction, rare words) is lost if all its heads were removed, and taken over if a head that is left holds it"
        " afterwards. Over all pruned models of a run: holds if more than half of what was lost is taken over, does not"
        " hold if nothing is; else undecided, as it is if no function lost all its heads.",
        section="gates",
        read=_drift,
    ),
)
