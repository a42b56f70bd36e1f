"""The page of several studies side by side: it shows the tables `comparison...` and computes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pandas
import seaborn
from markupsafe import Markup

from headroom.claims.entries import Across, Claim, all_claims, read_papers
from headroom.claims.selection import rows_where
from headroom.claims.words import Measured
from headroom.core.errors import visible
from headroom.core.statistics import Estimate
from headroom.core.tables import OF_SEVERAL
from headroom.report import drawing, palette, panels, svg
from headroom.report.names import order_name, task_name
from headroom.report.panels import full_key
from headroom.report.prose import environment
from headroom.report.spec import Key

DASHES = ("", "dashed", "dotted", "dashdot")
"""Of the lines of a study's tasks, in their order; they recur."""

SIZES = {"narrow": (310.0, 250.0), "wide": (760.0, 360.0)}
"""Width and height of the figure with the curves, for phones and for wider pages."""


@dataclass(frozen=True)
class Cell:
    """A verdict with its number in words."""

    place: str  # its subject: a task, or studies, task and part
    verdict: str
    ours: str  # the number; "" without one
    needed: str = ""  # what would decide it; "" where that is not known


@dataclass(frozen=True)
class BoardRow:
    """A claim on the board: by study the verdicts of its tasks, and what studies decided together."""

    id: str
    sentence: str
    cells: Mapping[str, Sequence[Cell]]
    together: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Decision:
    """A claim that studies decided together: `unlike` is what they differ in."""

    claim: Claim
    unlike: str
    entry: Across
    verdict: str
    ours: Sequence[str]
    needed: str
    cases: Sequence[Cell]


@dataclass(frozen=True)
class Compared:
    """A number that several studies have: its description, each of its values, and the significant differences."""

    id: str
    words: str
    values: Sequence[tuple[str, str]]
    differences: Sequence[tuple[str, str]]


def render(verdicts: pandas.DataFrame, differences: pandas.DataFrame, curves: pandas.DataFrame) -> str:
    """Return the page as HTML; every text is escaped and visible, only drawings and our own style are markup."""
    light, dark = palette.style_variables()
    own = rows_where(verdicts, across="")
    numbers = compared_numbers(own, differences)
    page = environment().get_template("compare.html.j2").render(
        studies={study: tasks_of(own, study) for study in own["study"].unique()},
        papers=[(title, rows) for title, rows in board(verdicts) if rows],
        decisions=list(decisions(verdicts)),
        differing=[one for one in numbers if one.differences],
        others=[one for one in numbers if not one.differences],
        comparisons=len(differences),
        panels={name: curves_panel(curves, name) for name in SIZES} if len(curves) else {},
        key=curves_key(curves),
        orders=[order_name(*key) for key in dict.fromkeys(zip(curves["order"], curves["normalised"]))],
        files=[(table.path, link(frame)) for table, frame in zip(OF_SEVERAL.by_name.values(), (verdicts, differences,
                                                                                              curves))],
        width_of=lambda panel: f"{svg.size(panel)[0]:g}",
        light=light,
        dark=dark,
    )  # fmt: skip
    return visible(page)


def tasks_of(own: pandas.DataFrame, study: str) -> list[str]:
    """Return the tasks of a study."""
    return [task for task in rows_where(own, study=study)["task"].unique() if task]


def board(verdicts: pandas.DataFrame) -> Iterator[tuple[str, list[BoardRow]]]:
    """Yield every paper with its claims; claims that no paper has come last."""
    known = all_claims()
    for paper in read_papers():
        yield f"{paper.authors}: {paper.title}", [_board_row(verdicts, one.id, one.sentence) for one in paper.claims]
    others = [name for name in verdicts["claim"].unique() if name not in known]
    yield "Other claims", [_board_row(verdicts, name, "") for name in others]


def _board_row(verdicts: pandas.DataFrame, claim: str, sentence: str) -> BoardRow:
    rows = rows_where(verdicts, claim=claim)
    own, together = rows_where(rows, across=""), rows[(rows["across"] != "") & (rows["study"] == "")]
    cells = {study: [_cell(row, task_name(row["task"])) for row in rows_where(own, study=study).to_dict("records")]
             for study in verdicts.loc[verdicts["across"] == "", "study"].unique()}  # fmt: skip
    marks = list(dict.fromkeys(zip(together["across"], together["verdict"])))
    return BoardRow(claim, sentence, cells, marks)


def _cell(row: Mapping[Any, Any], place: str) -> Cell:
    return Cell(place, row["verdict"], str(_measured(row)) if row["name"] else "", row["needed"])


def _measured(row: Mapping[Any, Any]) -> Measured:
    found = Estimate(row["value"], row["low"], row["high"])
    return Measured(row["words"], found, row["unit"], row["signed"] == 1)


def decisions(verdicts: pandas.DataFrame) -> Iterator[Decision]:
    """Yield the claims that studies decided together, in the order of the table."""
    rows = verdicts[verdicts["across"] != ""]
    for (claim, unlike), own in rows.groupby(["claim", "across"], sort=False):
        whole, cases = own[own["study"] == ""], own[own["study"] != ""].to_dict("records")
        known = all_claims()[str(claim)]
        ours = [str(_measured(row)) for row in whole.to_dict("records") if row["name"]]
        verdict, needed = whole[["verdict", "needed"]].iloc[0]
        found = [_cell(row, _place(row)) for row in cases]
        yield Decision(known, str(unlike), known.across[unlike], verdict, ours, needed, found)  # type: ignore[index]


def _place(row: Mapping[Any, Any]) -> str:
    studies = " and ".join(filter(None, (row["study"], row["other"])))
    return ", ".join(filter(None, (studies, task_name(row["task"]), row["part"])))


def compared_numbers(own: pandas.DataFrame, differences: pandas.DataFrame) -> list[Compared]:
    """Return the numbers that two studies or more have in the same words."""
    made = []
    for (claim, name, words), pairs in differences.groupby(["claim", "name", "words"], sort=False):
        rows = rows_where(own, claim=claim, name=name, words=words)
        rows = rows[rows["low"] < rows["high"]]
        values = [(_entry(row["study"], row["task"]), _measured(row).text()) for row in rows.to_dict("records")]
        sure = rows_where(pairs, differs=1).to_dict("records")
        made.append(Compared(str(claim), str(words), values, [_difference(row) for row in sure]))
    return made


def _difference(row: Mapping[Any, Any]) -> tuple[str, str]:
    found = Estimate(row["value"], row["low"], row["high"])
    pair = f"{_entry(row['study'], row['task'])} less {_entry(row['other'], row['other_task'])}"
    return pair, Measured("{}", found, row["unit"], signed=True).text().replace(" %", " points")


def _entry(study: str, task: str) -> str:
    return f"{study}, {task_name(task)}"


def curves_panel(curves: pandas.DataFrame, size: str) -> Markup:
    """Return the figure with the curves of all studies; texts from the data are only in its key."""
    width, height = SIZES[size]
    axis = {"x_label": "heads removed (%)", "y_label": "score above chance (% of full model)"}
    with drawing.panel(f"compare-{size}", **axis, width=width, height=height) as panel:
        for (study, task), rows in curves.groupby(["study", "task"], sort=False):
            look = _look(curves, str(study), str(task))
            shown = rows.assign(**{name: 100 * rows[name] for name in ("removed", "value", "low", "high")})
            spans = shown["removed"], shown["low"], shown["high"]
            panel.axes.fill_between(*spans, color=look.colour.light, alpha=0.14, linewidth=0)
            seaborn.lineplot(shown, x="removed", y="value", ax=panel.axes, errorbar=None, legend=False, **look.line)
        drawing.full_line(panel.axes, 100.0)
        panel.axes.set_xlim(-2, 102)
        panel.axes.set_xticks(range(0, 101, 20))
        # the widest bands, of models that keep next to nothing, may leave the figure
        panel.axes.set_ylim(100 * min(0.0, curves["value"].min()) - 4, 100 * max(1.0, curves["value"].max()) + 8)
    return panel.markup


def curves_key(curves: pandas.DataFrame) -> list[Key]:
    """Return the key of the curves: a colour and a marker per study, dashes per task; orders if they differ."""
    found = []
    several = len(set(zip(curves["order"], curves["normalised"]))) > 1
    for study, task, *order in dict.fromkeys(zip(*(curves[name] for name in ("study", "task", "order", "normalised")))):
        named = f" (by {order_name(*order)})" if several else ""
        found.append(panels.key(_look(curves, study, task), _entry(study, task) + named))
    return [*found, full_key()] if found else []


def _look(curves: pandas.DataFrame, study: str, task: str) -> panels.Look:
    studies = list(curves["study"].unique())
    place = list(rows_where(curves, study=study)["task"].unique()).index(task)
    return replace(panels.arm_looks(studies)[study], dash=DASHES[place % len(DASHES)])


def link(frame: pandas.DataFrame) -> str:
    """Return a table as a data URI: the rows as CSV, with the digits that the file has."""
    text: str = frame.to_csv(index=False, float_format="%.9g", lineterminator="\n")
    return "data:text/csv;charset=utf-8," + quote(visible(text), safe=",:;/|=+()[]*!@$?~")
