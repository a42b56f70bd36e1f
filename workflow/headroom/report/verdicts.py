"""Verdicts as the page shows them: rows of the tables `claims` and `numbers`, with the words of the claims' entries."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas

from headroom.claims.entries import Claim, all_claims
from headroom.claims.rows import POOLED
from headroom.claims.selection import rows_where
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED
from headroom.claims.words import Measured
from headroom.core.formatting import plural
from headroom.core.statistics import Estimate

ABSENT = "the experiment was not run"
NO_TASK = "no task of this study is of that kind"


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim of a paper, what this study found in one task, and the verdict with the rule that decided it."""

    id: str
    claim: str
    task: str
    paper: str
    ours: str
    verdict: str
    rule: str
    section: str


def verdicts(claims: pandas.DataFrame, numbers: pandas.DataFrame) -> list[ClaimVerdict]:
    """Return what the tables `claims` and `numbers` say, one verdict per claim and task, in their order."""
    known = all_claims()
    pooled = rows_where(claims, run=POOLED)
    found = []
    for name, task, verdict in zip(pooled["claim"], pooled["task"], pooled["verdict"]):
        runs, own = rows_where(claims, claim=name, task=task), rows_where(numbers, what=name, task=task)
        found.append(_verdict(known[name], task, verdict, runs, own))
    return found


def _verdict(claim: Claim, task: str, verdict: str, runs: pandas.DataFrame, numbers: pandas.DataFrame) -> ClaimVerdict:
    found = "; ".join(map(str, measured(rows_where(numbers, run=POOLED))))
    ours = (ABSENT if task else NO_TASK) if verdict == NOT_RUN else found
    alone = runs[runs["run"] != POOLED]
    if len(alone) > 1:
        ours = f"{ours} ({_spread(alone, numbers)})"
    needed = rows_where(runs, run=POOLED)["needed"].iloc[0]
    ours += f"; {needed} would decide" if needed.startswith("about") else f"; {needed}" if needed else ""
    paper = claim.paper_of(task)
    return ClaimVerdict(claim.id, claim.sentence, task, paper, ours, verdict, claim.rule_text, claim.section)


def measured(numbers: pandas.DataFrame) -> Iterator[Measured]:
    """Yield the numbers of rows of the table `numbers`, in their words."""
    columns = ["words", "value", "low", "high", "unit", "signed"]
    for words, value, low, high, unit, signed in numbers[columns].itertuples(index=False):
        yield Measured(words, Estimate(value, low, high), unit, bool(signed))


def _spread(runs: pandas.DataFrame, numbers: pandas.DataFrame) -> str:
    """Return how far apart the runs that were judged alone are, and their verdicts."""
    main = numbers[numbers["run"] != POOLED].drop_duplicates(["run", "part"])
    ordered = sorted(measured(main), key=lambda one: one.found.value)
    tally = Counter(runs["verdict"])
    votes = ", ".join(f"{word}: {tally[word]}" for word in (HOLDS, FAILS, UNDECIDED) if tally[word])
    return f"{plural(len(runs), 'run')}, from {ordered[0].bare()} to {ordered[-1].bare()}; {votes}"
