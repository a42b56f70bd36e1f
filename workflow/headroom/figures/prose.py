"""Sentences of the page: Jinja templates with the numbers of a study, which mark where every number comes from."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from headroom.claims.board import metric_after
from headroom.claims.table import ANSWER
from headroom.figures.names import task_name
from headroom.figures.numbers import Numbers, Shown

_PACKAGE = Path(__file__).parents[1]

TEMPLATES = _PACKAGE / "report" / "templates"
"""Where the templates, the style and the scripts of the page are."""

PLACES = (TEMPLATES, _PACKAGE / "figures" / "templates", _PACKAGE / "experiments")
"""Where templates are: those of the page, of figures, and `<experiment>/prose.md.j2`."""

TASKS_IN_A_SENTENCE = 2

_INTERVAL = re.compile(r"\[([^\s\[\]]+), ([^\s\[\]]+)\]")
_TOGETHER = re.compile(r" (?=%)|(?<=\bp) (?=<)|(?<=<) (?=[0-9])")


@cache
def environment() -> jinja2.Environment:
    """Return the environment of all templates: escaped, and strict about names."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PLACES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    made.filters["prose"] = prose
    made.filters["g"] = lambda number, digits=6: f"{number:.{digits}g}"
    made.filters["task_name"] = task_name
    made.filters["metric_after"] = metric_after
    return made


def prose(text: str) -> Markup:
    """Return running text escaped, backticks as code, no line break inside an interval or before a per cent."""
    if isinstance(text, Markup):
        return text
    text = _INTERVAL.sub("[\\1,\u00a0\\2]", _TOGETHER.sub("\u202f", text))
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = (Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts))
    return Markup("").join(marked)


def _join_lines(markup: str) -> Markup:
    """Return markup on one line, without a line break before a per cent."""
    return Markup(re.sub(r"\s+", " ", markup).strip().replace(" %", "\u202f%"))


class Sentences:
    """The sentences of one template, a macro each, about one study."""

    def __init__(self, template: str, tasks: Sequence[str], numbers: Numbers) -> None:
        self._tasks, self._numbers = tasks, numbers
        names = {"each": self.each, "several": len(tasks) > 1}
        self._module = environment().get_template(template).make_module(names)

    def say(self, name: str) -> Markup:
        """Return a sentence as markup; empty if the template has none of this name, or has no numbers for it."""
        sentence = getattr(self._module, name, None)
        return _join_lines(sentence()) if sentence else Markup("")

    def each(self, name: str, what: str = ANSWER, of: str | None = None) -> list[tuple[str, Shown, str]]:
        """Return a number of a claim or of the answer for the first tasks with it, as (task, number, part).

        It is that of the part `of`, without one of the first part that a task has.
        """
        found = []
        for task in self._tasks:
            parts = self._numbers.parts(what, name, task)
            for part in list(parts)[:1] if of is None else {of} & parts.keys():
                found.append((task_name(task), parts[part], part))
        return found[:TASKS_IN_A_SENTENCE]


def words(section: str, name: str, **values: object) -> Markup:
    """Return a text of a section: the macro of this name in `<section>/prose.md.j2`, given what it names.

    `figure` is how to read the figure, `method` what was done.
    """
    module = environment().get_template(f"{section}/prose.md.j2").module
    return _join_lines(getattr(module, name)(**values))


def texts(section: str, name: str = "", **values: object) -> tuple[Markup, Markup]:
    """Return both texts of a figure: what it shows, for those who do not see it, and how to read it.

    These are `<name>_alt` and `<name>`, of the main figure `alt` and `figure`; the second may name values.
    """
    return words(section, f"{name}_alt" if name else "alt"), words(section, name or "figure", **values)


def is_from_right(text: str) -> bool:
    """Return whether a text begins, but for neutral characters, in a script that is written from right to left."""
    strong = (unicodedata.bidirectional(char) for char in text)
    return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def are_from_right(words: Sequence[str]) -> bool:
    """Return whether more words are written from right to left than from left to right."""
    lettered = [word for word in words if any(map(str.isalpha, word))]
    return 2 * sum(map(is_from_right, lettered)) > len(lettered)


def isolate(word: str, *, among_right: bool = False) -> Markup:
    """Return a word with marks that keep its direction from reordering what is beside it (Unicode's UAX 9).

    Words without letters that are written from right to left are unchanged, or `among_right`, between such words, of
    their direction, in which brackets are mirrored. The marks are character references: of characters as such, a page
    shows placeholders.
    """
    kinds = set(map(unicodedata.bidirectional, word))
    if kinds & {"R", "AL"}:
        return Markup("&#x2068;{}&#x2069;").format(word)
    return Markup("&#x2067;{}&#x2069;").format(word) if among_right and "L" not in kinds else escape(word)


def count_columns(word: str) -> float:
    """Return the width of a word in Latin letters: ideographs are wider, combining marks have no width."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in word)
    marks = sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in word)
    return len(word) + 0.8 * wide - marks
