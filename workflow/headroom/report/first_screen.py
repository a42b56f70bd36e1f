"""The first screen: the answer in a few numbers, every claim as a tile, and cautions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import pandas
from markupsafe import Markup

from headroom.claims.entries import read_papers, threshold
from headroom.claims.metrics import metric_word
from headroom.claims.rows import POOLED
from headroom.claims.selection import main_metric, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.claims.verdict import NOT_RUN, UNDECIDED
from headroom.core.formatting import listing, plural
from headroom.report.numbers import Numbers
from headroom.report.palette import KIND_COLOURS, KIND_NAMES
from headroom.report.prose import environment
from headroom.report.tasks import task_name, words_of
from headroom.report.verdicts import ClaimVerdict


class Tile(NamedTuple):
    """A claim on the board: what was decided in every task."""

    id: str
    sentence: str
    verdicts: tuple[ClaimVerdict, ...]


@dataclass(frozen=True)
class BoardRow:
    """The tiles of one paper."""

    name: str
    title: str
    tiles: tuple[Tile, ...]


def board(verdicts: Sequence[ClaimVerdict]) -> list[BoardRow]:
    """Return the board of claims, a row per paper, in the papers' order."""
    tiles = {}
    for name, group in groupby(verdicts, key=lambda one: one.id):
        own = tuple(group)
        tiles[name] = Tile(name, own[0].claim, own)
    return [
        BoardRow(
            _short(paper.authors, paper.year),
            paper.title,
            tuple(tiles[one.id] for one in paper.claims if one.id in tiles),
        )
        for paper in read_papers()
    ]


def _short(authors: str, year: int) -> str:
    return f"{authors.split(',')[0].split(' ')[0]} {year}"


def tally(verdicts: Sequence[ClaimVerdict]) -> str:
    """Return how many claims there are and of how many papers: `37 claims of three papers`."""
    return f"{plural(len({one.id for one in verdicts}), 'claim')} of three papers"


class Answer:
    """The cards of the first screen, drawn by `first.html.j2` from the numbers of the answer.

    Args:
        tables: The tables of the study.
        numbers: Its numbers.
        claims: Its table `claims`.
    """

    def __init__(self, tables: StudyTables, numbers: Numbers, claims: pandas.DataFrame) -> None:
        self.tasks = list(tables.tasks)
        self.several = len(self.tasks) > 1
        self._tables, self._numbers, self._claims = tables, numbers, claims
        self.get = numbers.answer
        self.parts = lambda name, task: numbers.parts("answer", name, task)

    def tasks_with(self, name: str) -> list[str]:
        """Return the tasks that have a number of the answer."""
        return [task for task in self.tasks if self._numbers.parts("answer", name, task)]

    def is_open(self, claim: str, task: str) -> bool:
        """Return whether a claim is undecided or was not run in a task."""
        rows = rows_where(self._claims, claim=claim, task=task, run=POOLED)
        return rows.empty or rows["verdict"].iloc[0] in (UNDECIDED, NOT_RUN)

    def margin(self, task: str) -> Markup:
        """Return the noticeable loss of a task, marked with the threshold it is."""
        share = threshold("M7", "margin", task)
        marked = Markup('<data value="{:g}" data-threshold="M7|margin">{:.0f}\u202f%</data>')
        return marked.format(share, 100 * share)

    def score(self, task: str) -> str:
        """Return what shares of the score are shares of: `BLEU`, `accuracy above chance`."""
        view = self._tables.of_task(task)
        metric = metric_word(main_metric(view.pruning)) if view.has("pruning") else "score"
        return metric if kind_of(task) == "translation" else f"{metric} above chance"

    def site(self, task: str) -> str:
        """Return what an attention site is called in a task."""
        return words_of(task).site

    def render(self) -> Markup:
        """Return the cards as markup."""
        names = {"answer": self, "task_name": task_name, "kinds": KIND_NAMES, "colours": KIND_COLOURS}
        module: Any = environment().get_template("first.html.j2").make_module(names)
        return Markup(module.cards())


def described(tables: StudyTables) -> str:
    """Return what was trained, in one line: tasks with layers and heads, arms, and seeds."""
    parts = []
    for task in tables.tasks:
        view = tables.of_task(task)
        scores = view.scores if view.has("scores") else view.ablation
        heads = len(scores[["kind", "layer", "head"]].drop_duplicates()) if len(scores) else 0
        parts.append(f"{task_name(task)}" + (f" with {heads} heads" if heads else ""))
    seeds = {run.rpartition("seed")[2] for run in tables.runs}
    arms = plural(len(tables.arm_names), "arm")
    return f"{listing(parts)}; {arms}, {plural(len(seeds), 'seed')}" if parts else "nothing was run"
