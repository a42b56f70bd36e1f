"""The page of finished studies: claims by ground and by study, against size, and all pruning curves on one axis.

It reads `claims.csv`, `numbers.csv` and the curves. Studies are put together within a ground (`claims.pooling`).
"""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas
from markupsafe import Markup

from headroom.claims.entries import read_papers
from headroom.claims.pooling import by_ground, compute_p, describe_tasks, number_of_ground
from headroom.claims.sizes import SizeSlope, size_rows, size_slopes
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.claims.verdict import FAILS, FAILS_HERE, HOLDS, HOLDS_HERE, NOT_RUN, VERDICTS
from headroom.core.errors import visible
from headroom.core.formatting import listing, plural
from headroom.core.statistics import LEVEL, expect_false
from headroom.experiments.pruning.claims import average_main_curve
from headroom.figures import palette, panels
from headroom.figures.names import order_name, task_name
from headroom.figures.prose import environment
from headroom.figures.svg import share_styles
from headroom.report.first_screen import IN_THIS_MODEL, ClaimVerdict, describe_spread, verdicts
from headroom.study.configuration import paths_in, tasks_of
from headroom.study.selection import rows_where
from headroom.study.tables import StudyTables, open_tables
from headroom.study.task_info import TASKS

DECIDED = (HOLDS, FAILS, HOLDS_HERE, FAILS_HERE)

DASHES = ("", "dashed", "dotted", "dashdot")
"""Of the lines of a study's tasks, in their order; they recur."""


@dataclass(frozen=True)
class FinishedStudy:
    """A study with its verdicts, its curves and the address of its report as seen from the page, "" without one."""

    name: str
    claims: pandas.DataFrame
    numbers: pandas.DataFrame
    verdicts: list[ClaimVerdict]
    curves: list[dict[str, Any]]
    sizes: list[dict[str, Any]]
    report: str


def read_finished(place: Path, page: Path) -> FinishedStudy:
    """Return a finished study from the directory of its results, for a page in another directory."""
    claims, numbers = (table.read(place / table.path) for table in (CLAIMS, NUMBERS))
    name = str(claims["study"].iloc[0]) if len(claims) else place.resolve().name
    tables = open_tables(paths_in(place), described=tasks_of(place))
    curves = list(curve_rows(name, tables))
    reports = [one for one in (place / "report.html", page / f"{name}.html") if one.is_file()]
    address = Path(os.path.relpath(reports[0], page)).as_posix() if reports else ""
    claims = describe_tasks(claims, tables)
    sizes = list(size_rows(claims, numbers, tables))
    return FinishedStudy(name, claims, numbers, verdicts(claims, numbers), curves, sizes, address)


def curve_rows(study: str, tables: StudyTables) -> Iterator[dict[str, Any]]:
    """Yield the pruning curve of every task, in %, by the order that claims are judged by."""
    for task, view in tables.views.items():
        order, points = average_main_curve(view)
        named = {"study": study, "task": task, "name": f"{study}, {task_name(task)}", "order": order_name(*order)}
        yield from (named | {name: 100 * share for name, share in point.items()} for point in points)


def render(studies: Sequence[FinishedStudy], documents: Mapping[str, str] | None = None) -> str:
    """Return the page as HTML; every text is escaped and visible, only drawings and our own style are markup.

    Args:
        studies: The studies in the order of the page.
        documents: The addresses of documents of the project as seen from the page, by their names for readers.
    """
    curves = [row for study in studies for row in study.curves]
    looks = curve_looks(curves)
    sized = size_slopes([row for study in studies for row in study.sizes])
    sized_looks = panels.arm_looks(list(dict.fromkeys(name for one in sized for name in name_models(one.rows))))
    light, dark = palette.style_variables()
    grounds = list(ground_rows(studies))
    page = environment().get_template("compare.html.j2")
    text = page.render(
        title=f"{len(studies)} studies side by side" if len(studies) > 1 else "One study beside the papers",
        studies=studies,
        papers=read_papers(),
        documents=documents or {},
        grounds=grounds,
        decided=plural(sum(one.verdict in DECIDED for one in grounds), "decided cell"),
        wrong=f"{expect_false([one.p for one in grounds if not math.isnan(one.p)], 1 - LEVEL):.1f}",
        reports={one.name: one.report for one in studies if one.report},
        words=VERDICTS,
        in_this_model=IN_THIS_MODEL,
        in_common=words_in_common,
        panel=curves_panel(pandas.DataFrame(curves), looks) if curves else "",
        key=[*panels.keys(looks), panels.full_key()],
        sizes=[(one, size_panel(one, sized_looks)) for one in sized],
        sizes_key=[*panels.keys(sized_looks, line=False), panels.paper_key()],
        orders=list(dict.fromkeys(row["order"] for row in curves)),
        light=light,
        dark=dark,
    )
    return share_styles(visible(text))


@dataclass(frozen=True)
class GroundCell:
    """What the trainings of one ground say of a claim, or of a part of it."""

    claim: str
    part: str
    ground: str  # with the kind of task
    verdict: str
    ours: str  # the number with its interval, or the precondition that is not met
    studies: str
    scope: str = ""  # the trainings that it rests on, and the sources of their text
    spread: str = ""  # how far other trainings differ, of a number of one training
    words: str = ""  # what the number is, `{}` in its place
    p: float = math.nan  # of its being at what decides

    @property
    def anchor(self) -> str:
        """The name of the cell in links: `M7-real-text-translation`."""
        return re.sub(r"[^A-Za-z0-9]+", "-", f"{self.claim} {self.part} {self.ground}").strip("-")


def ground_rows(studies: Sequence[FinishedStudy]) -> Iterator[GroundCell]:
    """Yield what every ground says of every claim that was run there, studies in their order."""
    claims, numbers = (
        pandas.concat([getattr(one, name) for one in studies], ignore_index=True) for name in ("claims", "numbers")
    )
    for row in (one for one in by_ground(claims, numbers) if one["verdict"] != NOT_RUN):
        own = {"what": row["claim"], "part": row["part"], "name": row.get("number"), "run": POOLED}
        named = rows_where(numbers, **own)
        words = named[named["study"].isin(row["studies"].split())]["words"]
        ours = number_of_ground(row).text() if "value" in row else row["barrier"]
        ground = f"{row['ground']}, {row['kind']}"
        about = {"scope": describe_scope(row), "spread": _find_spread(row, claims), "words": next(iter(words), "")}
        yield GroundCell(
            row["claim"], row["part"], ground, row["verdict"], ours, row["studies"], **about, p=compute_p(row)
        )


def describe_scope(row: Mapping[str, Any]) -> str:
    """Return what a row of `by_ground` rests on: `10 trainings of 2 sources, multi30k and tatoeba`; "" if on none."""
    trainings, is_counted = len(row.get("trainings", "").split()), row.get("ends") == "counted"
    if trainings == 1 and not is_counted:
        return f"this model, other {TASKS[row['kind']].example}s"
    sources = [one for one in row.get("sources", "").split() if one != "generated"]  # which the ground says
    counted = f"{plural(len(sources), 'source')}, " if len(sources) > 1 else ""
    named = f" of {counted}{listing(sources)}" if sources else ""
    return ("counted in " if is_counted else "") + plural(trainings, "training") + named if trainings else ""


def _find_spread(row: Mapping[str, Any], claims: pandas.DataFrame) -> str:
    """Return how far other trainings differ in the number of a row that rests on one; "" for other rows."""
    if len(row.get("trainings", "").split()) != 1:
        return ""
    own = {name: row[name] for name in ("claim", "part", "ground", "kind", "trainings")}
    return describe_spread(rows_where(claims, run=POOLED, **own).iloc[0])


def words_in_common(cells: Sequence[GroundCell]) -> str:
    """Return what the number of these cells is, with `…` in its place; "" if it is not the same in all."""
    words = {one.words for one in cells if one.words}
    return words.pop().replace("{}", "…") if len(words) == 1 else ""


def curves_panel(curves: pandas.DataFrame, looks: Mapping[str, panels.Look]) -> Markup:
    """Return the figure with the curves of all studies; texts from the data are only in its key."""
    # the widest bands, of models that keep next to nothing, may leave the figure
    limits = min(0.0, curves["value"].min()) - 4, max(100.0, curves["value"].max()) + 8
    axes = ("removed", "heads removed (%)"), ("value", "above chance (% of full model)")
    return panels.lines(curves, looks, "compare", *axes, hue="name", units="name", reference=100.0, limits=limits)


def curve_looks(curves: Sequence[Mapping[str, Any]]) -> dict[str, panels.Look]:
    """Return the look of every curve: a colour and a marker per study, dashes per task."""
    looks = panels.arm_looks(list(dict.fromkeys(row["study"] for row in curves)))
    tasks: dict[str, list[str]] = {study: [] for study in looks}
    found = {}
    for row in curves:
        own = tasks[row["study"]]
        if row["task"] not in own:
            own.append(row["task"])
            found[row["name"]] = replace(looks[row["study"]], dash=DASHES[(len(own) - 1) % len(DASHES)])
    return found


SIZE_AXES = {"heads": "heads of the model", "share": "training pairs (% of the data set)"}


def name_models(rows: pandas.DataFrame) -> list[str]:
    """Return the name of the model of every row: its study, its task and its quality."""
    quality = [f" ({found})" if found else "" for found in rows["quality"]]
    return [f"{study}, {task_name(task)}{found}" for study, task, found in zip(rows["study"], rows["task"], quality)]


def size_panel(one: SizeSlope, looks: Mapping[str, panels.Look]) -> Markup:
    """Return the figure of a number against a size; published values stand at the heads of their models."""
    published = one.claim.published[one.number].get(one.kind, {}) if one.size == "heads" else {}
    factor = 100 if one.slope.unit == "share" else 1
    rows = one.rows.assign(name=name_models(one.rows), **factor * one.rows[["value", "low", "high"]])
    slope = factor * one.slope.found.value
    paper = {heads: factor * value for heads, value in published.items()}
    axes = (one.size, SIZE_AXES[one.size]), ("value", "%" if factor == 100 else "value")
    return panels.sizes(rows, looks, one.anchor, *axes, hue="name", slope=slope, paper=paper)
