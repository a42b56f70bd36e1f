"""The explorer: a pruning curve next to the atlas of its run, step by step along any removal order.

The page has a figure at four steps; the data next to it let `explorer.js` show every step that was
measured, and mark the number of heads removed in every other panel that `linked` has prepared.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas
import seaborn
from markupsafe import Markup
from matplotlib.axes import Axes

from headroom.claims.board import metric_after, metric_name
from headroom.core.formatting import estimate, number, percent, plural
from headroom.core.heads import Head, parse_head
from headroom.figures import drawing, palette
from headroom.figures.atlas import Mark, draw_atlases, draw_left
from headroom.figures.drawing import Panel, embed_data
from headroom.figures.names import criterion_name, heading, order_name, run_name
from headroom.figures.panels import draw_band
from headroom.figures.svg import BAND, LINE, size
from headroom.study.selection import (
    examples_in,
    last_epochs,
    main_criterion,
    main_gradient,
    main_run,
    measurable,
    parse_heads,
    rows_where,
    select_judged,
    with_shares,
)
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskInfo

STEPS = (0.2, 0.4, 0.6, 0.8)
"""The shares of heads removed that the figure without JavaScript shows, or the nearest that were measured."""

START = 0.3
"""The share of heads removed that the explorer opens with, or the nearest that was measured."""


@dataclass(frozen=True)
class Step:
    """One step of an order: its description, and a small picture of the remaining heads."""

    label: str
    drawing: Markup


@dataclass(frozen=True)
class View:
    """One task in the explorer."""

    task: str  # its name in tables
    name: str  # its name for readers
    run: str  # the run shown, for readers
    order: str  # the main order, for readers
    criterion: str  # what the squares of the atlas show; "" if the run has no scores
    set: str  # the evaluation set
    examples: str  # how many of its examples, as `300 sentences of`; "" if unknown
    search: str  # how the run generates, "" if it does not: sweeps decode greedily, scores of the first screen do not
    of: str  # what shares of the score are shares of: `the score`, `the score above chance`; "" without shares
    curve: Markup  # the panel with the curves
    atlases: tuple[Markup, ...]  # the atlases with all heads, one per kind
    across: float  # the width of the widest of them in CSS pixels
    steps: tuple[Step, ...]  # four steps along the main order


@dataclass(frozen=True)
class Explorer:
    """The explorer of a study: its tasks, and the data of all steps as JSON that is safe in a `<script>`."""

    views: tuple[View, ...]
    data: Markup


def explorer(tables: StudyTables) -> Explorer | None:
    """Return the explorer of a study; None if no task has pruning curves over all heads."""
    found = [curves for view in tables.views.values() if (curves := Curves.of(view))]
    if not found:
        return None
    views = tuple(one.view(place) for place, one in enumerate(found, start=1))
    return Explorer(views, embed_data({"tasks": [one.data() for one in found]}))


class Curves:
    """The pruning curves of one run and task over all heads together, in one metric on one set; the main order first.

    The scores are those of the same run by the main criterion; there may be none.
    """

    def __init__(self, rows: pandas.DataFrame, scores: pandas.DataFrame, task: str, info: TaskInfo) -> None:
        rows = rows.assign(ranking=rows["ranking"].where(rows["ranking"] == "rescored", "fixed"))
        rows = rows.assign(key=rows["order"] + ":" + rows["normalised"] + ":" + rows["ranking"])
        self.rows = rows.sort_values("heads_removed", kind="stable")
        self.scores, self.task, self.info = scores, task, info
        self.shares = bool(measurable(rows).all())
        self.total = int(rows["heads_total"].max())
        named = {parse_head(name) for names in rows["removed"] for name in names.split()}
        self.heads = sorted(named | set(parse_heads(scores)))
        main = ":".join((*main_gradient(rows), "fixed"))
        self.keys = sorted(dict.fromkeys(rows["key"]), key=lambda key: key != main)

    @classmethod
    def of(cls, tables: StudyTables) -> "Curves | None":
        """Return the curves of the run shown first of a task; None without any."""
        rows = select_judged(rows_where(tables.pruning, scope="all"))
        if rows.empty:
            return None
        rows = with_shares(rows_where(rows, run=main_run(rows, tables)))
        scores = rows_where(last_epochs(tables.scores), run=rows["run"].iloc[0])
        scores = rows_where(scores, criterion=main_criterion(rows), normalised="raw")
        return cls(rows, scores, tables.task, tables.info)

    def along(self, key: str) -> pandas.DataFrame:
        """Return the rows of one order, fewest heads removed first; of random orders the first."""
        rows = rows_where(self.rows, key=key)
        return rows_where(rows, draw=rows["draw"].min()) if rows["draw"].notna().any() else rows

    def view(self, place: int) -> View:
        """Return what the page shows; the place of the task makes the ids of its panel unique."""
        main, atlases = self.along(self.keys[0]), draw_atlases(self.marks(), self.heads, small=True)
        places = dict.fromkeys(nearest(main["heads_removed"], share * self.total) for share in STEPS)
        return View(
            task=self.task,
            name=heading(self.task),
            run=run_name(str(main["run"].iloc[0])),
            order=name_order(self.keys[0]),
            criterion=criterion_name(main_criterion(self.rows)) if len(self.scores) else "",
            set=str(main["set"].iloc[0]),
            examples=f"{plural(amount, self.info.example)} of" if (amount := examples_in(main)) else "",
            search="greedy search" if "beam:1" in str(main["signature"].iloc[0]).split("|") else "",
            of=f"the {self.info.score}" if self.shares else "",
            curve=self.panel(f"explorer-{place}"),
            atlases=atlases,
            across=max(size(atlas)[0] for atlas in atlases),
            steps=tuple(self.step(main.iloc[place]) for place in places),
        )

    def marks(self) -> dict[Head, Mark]:
        """Return the atlas marks of all heads: areas proportional to the main criterion, or alike without scores."""
        known = dict(zip(parse_heads(self.scores), self.scores["value"], strict=True))
        limit = max(map(abs, known.values()), default=0.0) or 1.0
        return {
            head: Mark(known[head] / limit, number(known[head])) if head in known else Mark(0.6, "")
            for head in self.heads
        }

    def step(self, row: "pandas.Series[Any]") -> Step:
        """Return one step of an order."""
        kept = percent(row["kept"] / 100) if self.shares else number(row["value"])
        left = draw_left(self.heads, set(map(parse_head, row["removed"].split())))
        return Step(f"{int(row['heads_removed'])} of {self.total}: {kept}", left)

    def data(self) -> dict[str, Any]:
        """Return all steps of all orders, with numbers as they are written."""
        return {
            "task": self.task,
            "name": heading(self.task),
            "total": self.total,
            "start": round(START * self.total),
            "heads": [str(head) for head in self.heads],
            "orders": [self.order(key) for key in self.keys],
        }

    def order(self, key: str) -> dict[str, Any]:
        """Return the steps of one order; the removed heads are a hexadecimal number per step, see `removed_mask`."""
        rows = self.along(key)
        return {
            "key": key,
            "name": name_order(key),
            "removed": [int(count) for count in rows["heads_removed"]],
            "height": [None if math.isnan(one) else round(one, 2) for one in rows[self.column]],
            "score": [read_score(row, self.share(row["kept"])) for _, row in rows.iterrows()],
            "gone": [mask_removed(names, self.heads) for names in rows["removed"]],
        }

    def share(self, kept: float) -> str:
        """Return what share of the model's own score is kept, of a score in %; "" if shares mean nothing."""
        return f", {percent(kept / 100)} of its {self.info.score}" if self.shares else ""

    @property
    def column(self) -> str:
        """What the vertical axis shows: shares of the score, or the score of a model that learned next to nothing."""
        return "kept" if self.shares else "value"

    def panel(self, name: str) -> Markup:
        """Return the curves, the main order strong."""
        label = self.info.kept if self.shares else metric_name(str(self.rows["metric"].iloc[0]))
        orders = {key: self.along(key) for key in self.keys}
        return draw_orders(orders, self.rows, name=name, label=label, column=self.column, task=self.task)


def name_order(key: str) -> str:
    """Return an order as readers should see it, from `order:normalised:ranking`."""
    order, normalised, ranking = key.rsplit(":", 2)
    return order_name(order, normalised, ranking) + (" (one draw)" if order == "random" else "")


def read_score(row: "pandas.Series[Any]", share: str = "") -> str:
    """Return the score of a step, the share that it is, and its change with the interval of the change.

    E.g. `82.8 BLEU, 99 % of its score; with all heads 83.1, a change of −0.30 [−0.90, 0.20]`.
    """
    value, full = (number(row[name], decimals=2) for name in ("value", "full"))
    score = f"{value} {metric_after(str(row['metric']))}{share}"
    if not row["removed"]:
        return score
    change = estimate(row["value"] - row["full"], row["low"], row["high"], signed=True, most=2)
    return f"{score}; with all heads {full}, a change of {change}"


def mask_removed(names: str, heads: Sequence[Head]) -> str:
    """Return which heads a profile removes, four to a hexadecimal digit, the first head in its lowest bit."""
    gone = set(names.split())
    bits = [str(head) in gone for head in heads]
    digits = (sum(bit << place for place, bit in enumerate(bits[at : at + 4])) for at in range(0, len(bits), 4))
    return "".join(f"{digit:x}" for digit in digits)


def nearest(counts: "pandas.Series[Any]", wanted: float) -> int:
    """Return the place of the number nearest to a wanted one, the first of equally near ones."""
    return int((counts - wanted).abs().to_numpy().argmin())


WIDTH, HEIGHT = 340.0, 225.0
"""In CSS pixels: what a phone is wide, and what a first screen has room for."""

_CONTROLS = (("random", 0.5, (-6, -12)), ("reverse", 0.12, (7, 4)))
"""Controls that are named next to their curves: where, as a share of heads removed, and how far from there."""


def draw_orders(
    orders: Mapping[str, pandas.DataFrame], rows: pandas.DataFrame, *, name: str, label: str, column: str, task: str
) -> Markup:
    """Return the panel of all orders: the first strong with its interval, random orders as a band, others faint.

    Every order is a group that the page can bring to the front, see `svg.LINE`.

    `orders` are by key the rows of one order, fewest heads removed first, `rows` those of all orders and draws from
    `with_shares`; the vertical axis shows the column `kept` or `value`.
    """
    total = int(rows["heads_total"].max())
    with drawing.panel(name, x_label="heads removed", y_label=label, width=WIDTH, height=HEIGHT) as panel:
        draw_band(panel.axes, rows_where(rows, order="random"), "heads_removed", column)
        for place, (key, own) in reversed([*enumerate(orders.items())]):
            _draw_order(panel.axes, key, own, column, strong=place == 0)
        drawing.full_line(panel.axes, 100.0 if column == "kept" else float(rows["full"].mean()))
        panel.axes.set_xlim(-0.02 * total, 1.02 * total)
        panel.axes.set_ylim(bottom=min(0.0, panel.axes.get_ylim()[0]))
        _name_controls(panel.axes, rows, column, total)
    return link_panel(panel, heads=total, task=task, scale="heads")


def _draw_order(axes: Axes, key: str, rows: pandas.DataFrame, column: str, *, strong: bool) -> None:
    colour = palette.arm_colour("", []).light if strong else palette.CONTROL.light
    look = {"linewidth": 2.4, "zorder": 4} if strong else {"linewidth": 0.8, "alpha": 0.55, "zorder": 2}
    before = len(axes.lines)
    seaborn.lineplot(rows, x="heads_removed", y=column, ax=axes, color=colour, errorbar=None, **look)
    for line in axes.lines[before:]:
        line.set_gid(LINE + key)
    low, high = _bounds(rows, column)
    alpha = 0.2 if strong else 0.0
    band = axes.fill_between(rows["heads_removed"], low, high, color=colour, alpha=alpha, linewidth=0, zorder=3)
    band.set_gid(BAND + key)


def _bounds(rows: pandas.DataFrame, column: str) -> tuple["pandas.Series[float]", "pandas.Series[float]"]:
    """Return both ends of the interval on the vertical axis: those of the difference to the full model, moved."""
    low, high = rows["full"] + rows["low"], rows["full"] + rows["high"]
    if column == "value":
        return low, high
    return 100 * (low - rows["chance"]) / rows["scale"], 100 * (high - rows["chance"]) / rows["scale"]


def _name_controls(axes: Axes, rows: pandas.DataFrame, column: str, total: int) -> None:
    for order, share, shift in _CONTROLS:
        own = rows_where(rows, order=order).dropna(subset=[column])
        if own.empty:
            continue
        count = own["heads_removed"].iloc[int((own["heads_removed"] - share * total).abs().to_numpy().argmin())]
        height = rows_where(own, heads_removed=count)[column].mean()
        side = "right" if shift[0] < 0 else "left"
        where: dict[str, Any] = {"xytext": shift, "textcoords": "offset points", "ha": side, "fontsize": 10.5}
        axes.annotate(order, (count, height), color=palette.SOFT.light, zorder=5, **where)


def link_panel(panel: Panel, *, heads: int, task: str = "", scale: str = "share") -> Markup:
    """Return a finished panel in which the explorer marks how many heads are removed.

    The root gets `data-explore="heads_removed"`, the task, and the mapping from its axes to units of the view box:
    `data-x` and `data-y` have the two ends in units and the values there.

    The horizontal axis counts `heads` removed of that many in all, or is their `share` in %, as `scale` says. Panels of
    every task (the task is "") are marked at the same share.
    """
    box, (inches_across, inches_down) = panel.axes.get_position(), panel.figure.get_size_inches()
    width, height = 72 * inches_across, 72 * inches_down
    across = (box.x0 * width, box.x1 * width, *panel.axes.get_xlim())
    down = ((1 - box.y0) * height, (1 - box.y1) * height, *panel.axes.get_ylim())
    attributes = Markup(' data-explore="heads_removed" data-explore-task="{}" data-scale="{}" data-heads="{}"').format(
        task, scale, heads
    )
    attributes += Markup(' data-x="{}" data-y="{}"').format(_four(across), _four(down))
    return Markup(str(panel.markup).replace("<svg", f"<svg{attributes}", 1))


def _four(numbers: Iterable[float]) -> str:
    return " ".join(f"{float(one):.5g}" for one in numbers)
