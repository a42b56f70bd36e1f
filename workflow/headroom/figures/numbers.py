"""The numbers in the page's sentences: rows of the table `numbers`, each marked with the row it comes from."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas
from markupsafe import Markup

from headroom.claims.table import ANSWER, POOLED
from headroom.claims.verdict import Number
from headroom.core.statistics import Estimate
from headroom.study.selection import rows_where


@dataclass(frozen=True)
class Shown:
    """A row of the table `numbers`, ready for a sentence."""

    number: Number  # the number with its interval
    words: str  # a text with `{}` in place of the number, e.g. `{} of the heads unchanged`
    cell: str  # the row of the table: what, task, run, part and name, separated by `|`
    with_interval: bool = False  # whether it is written with its interval

    @property
    def found(self) -> Estimate:
        """The value and the ends of its interval."""
        return self.number.found

    @property
    def sentence(self) -> str:
        """The number with its interval in its words."""
        return self.words.replace("{}", self.number.text(), 1)

    @property
    def interval(self) -> Markup:
        """The interval in brackets, without a unit, marked with its row; "" without one."""
        _, bracket, rest = self.number.text().partition(" [")
        if not bracket:
            return Markup("")
        marked = Markup('<data value="{:.9g} {:.9g}" data-cell="{}">[{}]</data>')
        return marked.format(self.found.low, self.found.high, self.cell, rest.partition("]")[0])

    @property
    def full(self) -> "Shown":
        """The same number, written with its interval."""
        return replace(self, with_interval=True)

    @property
    def percent(self) -> float:
        """The value of a share in per cent, between 0 and 100: for lengths of bars."""
        return min(100.0, max(0.0, 100 * self.found.value))

    def __str__(self) -> str:
        return self.number.text() if self.with_interval else self.number.bare()

    def __html__(self) -> str:
        """Return the number marked with its row, so that it can be traced (and a test traces it)."""
        marked = Markup('<data value="{:.9g}" data-cell="{}">{}</data>')
        return str(marked.format(self.found.value, self.cell, str(self).replace(" %", "\u202f%")))


def read_numbers(rows: pandas.DataFrame) -> Iterator[Shown]:
    """Yield the rows of the table `numbers`."""
    for row in rows.to_dict("records"):
        found = Estimate(row["value"], row["low"], row["high"])
        number = Number(row["name"], found, row["unit"], signed=bool(row["signed"]))
        yield Shown(number, row["words"], "|".join(row[name] for name in ("what", "task", "run", "part", "name")))


class Numbers:
    """The numbers of a study, from its table `numbers`, by what they are about: a claim, or `answer`."""

    def __init__(self, frame: pandas.DataFrame) -> None:
        self._rows = rows_where(frame, run=POOLED)

    def parts(self, what: str, name: str, task: str) -> dict[str, Shown]:
        """Return a number of a task for each of its parts, "" for the whole."""
        rows = rows_where(self._rows, what=what, task=task, name=name)
        return dict(zip(rows["part"], read_numbers(rows), strict=True))

    def one(self, what: str, name: str, task: str, part: str = "") -> Shown | None:
        """Return a number of a task, or of a part of it; None if it was not found."""
        return self.parts(what, name, task).get(part)

    def answer(self, name: str, task: str, part: str = "") -> Shown | None:
        """Return a number of the study's answer; None if it was not found."""
        return self.one(ANSWER, name, task, part)
