"""The parts of a section of the page: a finding, one figure of all tasks, and folds with figures and tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas
from markupsafe import Markup

from headroom.claims.board import metric_name
from headroom.core.formatting import (
    MISSING,
    correlation,
    count,
    duration,
    estimate,
    format_fixed,
    number,
    p_value,
    percent,
)
from headroom.figures.names import criterion_name, run_name, task_name


@dataclass(frozen=True)
class Key:
    """One entry of a figure's key: a sample of the mark and its name."""

    sample: Markup
    name: str


@dataclass(frozen=True)
class Panel:
    """One drawing of a figure, at most 320 px wide, with its label and a key of its own."""

    drawing: Markup  # an SVG element with ids that are unique in the page
    label: str = ""  # what it shows, e.g. the task
    key: tuple[Key, ...] = ()  # the marks that only this panel has
    task: str = ""  # the task it is about: marks of heads of one task light up together


@dataclass(frozen=True)
class Figure:
    """Panels side by side."""

    name: str  # unique in the page: the anchor `figure-<name>` and the name of its files
    panels: tuple[Panel, ...]  # its drawings; none if there is nothing to draw
    alt: str  # what it shows, for those who do not see it
    how: str = ""  # how to read it, in at most two sentences
    key: tuple[Key, ...] = ()  # the marks that all panels share
    # the rows behind it, which readers can download; None for those of another figure
    frame: pandas.DataFrame | None = None
    is_atlas: bool = False  # whether the panels are atlases, whose heads light up


@dataclass(frozen=True)
class Table:
    """Rows of a table of the study, in words."""

    name: str  # unique in the page; its CSV is `<name>.csv`
    frame: pandas.DataFrame  # the rows; the CSV has all columns, unrounded
    # the columns shown: keys of `COLUMNS`, or any other, written as it is. `value ~` is a value with its interval:
    # `low` and `high`, or the columns of these endings (`speedup ~`: `speedup_low`)
    columns: Sequence[str]
    headings: Mapping[str, str] = field(default_factory=dict)  # headings other than those of `COLUMNS`, by column
    note: str = ""  # what marks in the cells mean
    decimals: int | None = None  # decimals of numbers in columns that `COLUMNS` lacks; None for as many as each needs


@dataclass(frozen=True)
class Drawing:
    """One of several drawings that a reader pages through: its group, a short label, its title."""

    group: str
    label: str
    title: str
    drawing: Markup


@dataclass(frozen=True)
class Fold:
    """Folded content under one label that describes it."""

    label: str
    figure: Figure | None = None
    tables: tuple[Table, ...] = ()
    text: str = ""
    pages: tuple[Drawing, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.figure or self.tables or self.text or self.pages)


@dataclass(frozen=True)
class Section:
    """One experiment."""

    name: str  # the noun of the experiment: its anchor in the page
    title: str  # its subject in a few words, for the contents
    figure: Figure | None = None  # the figure that is not folded: all tasks side by side on shared axes
    folds: tuple[Fold, ...] = ()  # everything else
    remarks: tuple[str, ...] = ()  # cautions
    missing: str = ""  # that it was not run, in one line; empty if it was


def list_figures(section: Section) -> list[Figure]:
    """Return the figures of a section, the one that is not folded first."""
    return [one for one in (section.figure, *(fold.figure for fold in section.folds)) if one is not None]


def format_signed(value: float) -> str:
    """Return a difference with its sign."""
    return number(value, signed=True, decimals=3)


def _whole(value: Any) -> str:
    return str(value) if isinstance(value, str) else count(value)


def _epoch(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value < 1 else _whole(value)  # a share of the first


COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "task": ("task", task_name),
    "run": ("run", run_name),
    "arm": ("arm", str),
    "epoch": ("epoch", _epoch),
    "set": ("set", str),
    "metric": ("metric", metric_name),
    "kind": ("kind", str),
    "layer": ("layer", _whole),
    "head": ("head", _whole),
    "criterion": ("criterion", criterion_name),
    "order": ("order", criterion_name),
    "heads_removed": ("heads removed", _whole),
    "heads_total": ("heads", _whole),
    "share": ("heads removed", lambda value: percent(value / 100)),
    "kept": ("of the full model", lambda value: percent(value / 100, 1)),
    "value": ("score", number),
    "full": ("full model", number),
    "delta": ("change", format_signed),
    "kl": ("KL (nats)", number),
    "perplexity": ("perplexity", number),
    "bits": ("bits per byte", number),
    "examples": ("examples", count),
    "identical_outputs": ("identical outputs", lambda value: "yes" if value == 1 else "no"),
    "largest_logit_difference": ("logits differ by at most", lambda value: number(value, 2)),
    "parameters_full": ("parameters", count),
    "parameters_sliced": ("of the sliced model", count),
    "saved": ("saved", lambda value: percent(value, 1)),
    "head_parameters": ("parameters of a head", count),
    "attention_parameters": ("parameters of the site", count),
    "head_share": ("head of its site", lambda value: percent(value, 2)),
    "site_share": ("site of the model", lambda value: percent(value, 1)),
    "share_removed": ("heads removed", percent),
    "milliseconds": ("median (ms)", number),
    "speedup": ("speed-up", number),
    "expected_speedup": ("expected", number),
    "parameters": ("parameters", count),
    "train_loss": ("training loss", number),
    "valid_loss": ("validation loss", number),
    "valid_accuracy": ("validation accuracy", number),
    "words_per_second": ("words per second", count),
    "examples_per_second": ("examples per second", count),
    "total_seconds": ("time for all epochs", duration),
    "p": ("p", p_value),
    "p_holm": ("p (Holm)", p_value),
    "p_bh": ("p (Benjamini-Hochberg)", p_value),
    "p_mcnemar": ("p (McNemar)", p_value),
    "p_unpaired": ("p (unpaired t)", p_value),
    "p_first": ("p", p_value),
    "p_second": ("p", p_value),
}
"""Heading and form of the columns that many tables have."""

INTERVAL = " ~"
CORRELATIONS = ("spearman", "agreement")
"""Columns of numbers between -1 and 1, which are written with two decimals and without a plus sign."""

IN_TENTHS = ("(%)", "(points)")
"""Columns whose names end so have one decimal."""


def cells(table: Table) -> tuple[list[str], list[bool], list[list[str]]]:
    """Return headings, which columns are numeric, and the rows of cells of a table."""
    headings, numeric, columns = [], [], []
    plain = partial(_plain, decimals=table.decimals)
    for column in table.columns:
        name = column.removesuffix(INTERVAL)
        heading, write = COLUMNS.get(name, (name.replace("_", " "), _tenths if name.endswith(IN_TENTHS) else plain))
        with_interval = column != name
        headings.append(table.headings.get(name, heading) + (" [95 % interval]" if with_interval else ""))
        numeric.append(pandas.api.types.is_numeric_dtype(table.frame[name]))
        columns.append(
            _with_interval(table.frame, name) if with_interval else [write(one) for one in table.frame[name]]
        )
    return headings, numeric, [list(row) for row in zip(*columns, strict=True)]


def _tenths(value: float) -> str:
    return format_fixed(value, 1)


def _plain(value: Any, decimals: int | None = None) -> str:
    if isinstance(value, str):
        return value
    if decimals is not None:
        return format_fixed(float(value), decimals)
    return MISSING if value != value else count(value) if float(value).is_integer() else number(float(value))


def _with_interval(frame: pandas.DataFrame, name: str) -> list[str]:
    ends = [f"{name}_low", f"{name}_high"] if f"{name}_low" in frame else ["low", "high"]
    if name in CORRELATIONS:
        return [correlation(*three) for three in frame[[name, *ends]].to_numpy(dtype=float)]
    is_change = name.startswith(("delta", "difference"))
    most = {"most": 5} if name == "kl" else {}
    return [estimate(*three, signed=is_change, **most) for three in frame[[name, *ends]].to_numpy(dtype=float)]


def csv_text(frame: pandas.DataFrame) -> str:
    """Return rows as CSV: 6 significant digits where the tables on disk have 9, without the resamples."""
    shown = frame.drop(columns=["main", "resampled", "full_resampled", "p_sacrebleu", "study"], errors="ignore")
    text: str = shown.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return text
