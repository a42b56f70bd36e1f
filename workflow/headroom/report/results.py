"""The pages of results in docs/: templates, filled with the numbers of the shipped reference studies."""

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas
from jinja2 import UndefinedError

from headroom.claims.entries import Claim, read_papers
from headroom.claims.rows import ANSWER, POOLED
from headroom.claims.selection import rows_where
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED
from headroom.claims.words import Measured
from headroom.core.errors import HeadroomError
from headroom.core.statistics import Estimate
from headroom.core.tables import CLAIMS, NUMBERS
from headroom.report.numbers import Numbers, Shown
from headroom.report.prose import environment
from headroom.report.reference import shipped_studies

PAGES = ("results.md", "results-in-detail.md")
"""Pages of docs/; the template of each has its name and `.j2`."""

_TEMPLATES = " or ".join(f"{page}.j2" for page in PAGES)

ENOUGH_SEEDS = 3
"""Verdicts of fewer seeds cannot say whether another training would give the same verdict."""


def results_pages(shipped: Path) -> dict[str, str]:
    """Return the text of every page of results, with the numbers of the studies that are shipped in a directory.

    Raises:
        HeadroomError: If a template names a study that is not shipped, or a number or verdict that one does not have.
    """
    studies = {place.name: ShippedStudy(place) for place in shipped_studies(shipped)}
    claims, templates = decided_claims(studies), environment().overlay(autoescape=False)
    try:
        texts = [templates.get_template(f"{page}.j2").render(studies=studies, claims=claims) for page in PAGES]
    except UndefinedError as error:
        raise HeadroomError(
            f"{shipped}: {error}; ship the studies that the pages name, or correct {_TEMPLATES}"
        ) from error
    return {page: text.rstrip("\n") for page, text in zip(PAGES, texts)}


class Case(NamedTuple):
    """A study and task that decide a claim."""

    where: str  # `gates`, or with its task, `bakeoff (entailment)`, in a study of several
    votes: str  # `2 of 3 seeds`, or nothing where every run that was judged alone has the verdict
    numbers: list[str]  # the claim's numbers there, in words, the main one first
    paper: str  # the paper's numbers for this kind of task

    def first(self, count: int) -> str:
        """Return where it is, and the first numbers."""
        where = ", ".join(filter(None, (self.where, self.votes)))
        return ": ".join(filter(None, (where, "; ".join(self.numbers[:count]))))


class DecidedClaim(NamedTuple):
    """A claim of a paper, and the studies that decide it by at least `ENOUGH_SEEDS` seeds."""

    id: str
    sentence: str
    holds: list[Case]  # where it holds
    fails: list[Case]  # where it does not
    wanted: list[str]  # what would decide it where it is undecided: `gates: about 5 more seeds`
    asked: bool  # whether it is undecided anywhere, not merely not run


def decided_claims(studies: Mapping[str, "ShippedStudy"]) -> list[DecidedClaim]:
    """Return every claim of the papers with the studies that decide it by at least `ENOUGH_SEEDS` seeds."""

    def cases(claim: Claim, verdict: str) -> list[Case]:
        return [
            Case(
                name + study.label(task),
                study.votes(claim.id, task, verdict),
                study.all_said(claim.id, task),
                claim.paper_of(task),
            )
            for name, study in studies.items()
            for task in study.decided(claim.id, verdict)
        ]

    def wanted(claim: str) -> list[str]:
        return [f"{name}{words}" for name, study in studies.items() for words in study.wanted(claim)]

    claims = [claim for paper in read_papers() if not paper.needs for claim in paper.claims]
    return [
        DecidedClaim(
            one.id,
            one.sentence,
            holds=cases(one, HOLDS),
            fails=cases(one, FAILS),
            wanted=wanted(one.id),
            asked=any(study.decided(one.id, UNDECIDED) for study in studies.values()),
        )
        for one in claims
    ]


class ShippedStudy:
    """The answers of a shipped study, for sentences."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def number(self, name: str, task: str, *, what: str = ANSWER, part: str = "") -> Shown:
        """Return a number of all runs of a task, with its interval: of the answer, or of the claim `what`."""
        found = Numbers(self._numbers).one(what, name, task, part)
        if found is None:
            raise HeadroomError(f"{self._directory}: no number {what} {name} {part} of {task}; correct {_TEMPLATES}")
        return found.full

    def parts(self, name: str, task: str) -> dict[str, Shown]:
        """Return a number of the answer, of all runs of a task, for each of its parts."""
        return {part: one.full for part, one in Numbers(self._numbers).parts(ANSWER, name, task).items()}

    def said(self, claim: str, name: str, task: str) -> str:
        """Return a number of a claim, of all runs of a task, in the words of the claim's entry."""
        return self.sentences(claim, task, name)[0]

    def sentences(self, claim: str, task: str, name: str) -> list[str]:
        """Return all numbers of a claim with one name, each in the words of the claim's entry.

        Raises:
            HeadroomError: If there is none.
        """
        rows = rows_where(self._numbers, what=claim, task=task, run=POOLED, name=name)
        if rows.empty:
            raise HeadroomError(f"{self._directory}: no number {claim} {name} of {task}; correct {_TEMPLATES}")
        return _in_words(rows)

    def all_said(self, claim: str, task: str) -> list[str]:
        """Return all numbers of a claim, of all runs of a task, in words, the main one first."""
        return _in_words(rows_where(self._numbers, what=claim, task=task, run=POOLED))

    def verdict(self, claim: str, task: str) -> str:
        """Return the verdict on a claim for a task."""
        rows = rows_where(self._claims, claim=claim, task=task, run=POOLED)
        if rows.empty:
            raise HeadroomError(f"{self._directory}: no verdict on {claim} of {task}; correct {_TEMPLATES}")
        return str(rows["verdict"].iloc[0])

    def decided(self, claim: str, verdict: str) -> list[str]:
        """Return in what tasks a claim has this verdict by at least `ENOUGH_SEEDS` seeds."""
        return [str(task) for task in self._of_enough_seeds(claim, verdict)["task"]]

    def votes(self, claim: str, task: str, verdict: str) -> str:
        """Return how many runs have this verdict on a claim, e.g. `2 of 3 seeds`; nothing if all agree."""
        every = rows_where(self._claims, claim=claim, task=task)
        alone = every[every["run"] != POOLED]
        agree = (alone["verdict"] == verdict).groupby(alone["run"]).all()
        return "" if agree.all() else f"{agree.sum()} of {len(agree)} seeds"

    def wanted(self, claim: str) -> list[str]:
        """Return what would decide a claim in every task where `decided` has it undecided, after the task's label."""
        found = self._of_enough_seeds(claim, UNDECIDED)[["task", "needed"]]
        return [f"{self.label(task)}: {words}" for task, words in found.itertuples(index=False) if words]

    def label(self, task: str) -> str:
        """Return ` (task)`, or nothing in a study of one task."""
        several = len({*self._claims["task"]} - {""}) > 1  # claims that are about no task of the study have ""
        return f" ({task})" if several else ""

    def tally(self) -> dict[str, int]:
        """Return the number of verdicts by kind; a claim counts once per task."""
        counts = rows_where(self._claims, run=POOLED)["verdict"].value_counts()
        return {str(verdict): int(count) for verdict, count in counts.items()}

    @property
    def seeds(self) -> int:
        """The number of seeds of the study."""
        return len(json.loads((self._directory / "configuration.json").read_text("utf-8"))["seeds"])

    def _of_enough_seeds(self, claim: str, verdict: str) -> pandas.DataFrame:
        found = rows_where(self._claims, claim=claim, run=POOLED, verdict=verdict)
        return found[found["seeds"] >= ENOUGH_SEEDS]

    @cached_property
    def _claims(self) -> pandas.DataFrame:
        return CLAIMS.read(self._directory / CLAIMS.path)

    @cached_property
    def _numbers(self) -> pandas.DataFrame:
        return NUMBERS.read(self._directory / NUMBERS.path)


def _in_words(numbers: pandas.DataFrame) -> list[str]:
    """Return rows of the table `numbers`, each in the words of its claim's entry."""
    columns = ["words", "value", "low", "high", "unit", "signed"]
    return [
        str(Measured(words, Estimate(value, low, high), unit, bool(signed)))
        for words, value, low, high, unit, signed in numbers[columns].itertuples(index=False)
    ]
