"""Sections as the page shows them: a finding as heading, one figure of all tasks, and everything else folded."""

from dataclasses import dataclass, replace

from markupsafe import Markup

from headroom.report.exhibits import Exhibit, Key, Row, Section
from headroom.report.verdicts import ClaimVerdict

EXHIBITS = {
    "ablation_histogram": "distribution of effects",
    "criteria": "agreement of criteria",
    "curves_by_kind": "each kind of attention alone",
    "curves_by_layer": "each layer alone",
    "curves_by_task": "all tasks",
    "curves_survivors": "heads left",
    "equal_heads": "ways to choose heads at equal numbers",
    "head_counts": "models with fewer or more heads",
    "head_diversity": "diversity of heads",
    "arm_pruning": "pruning by arm",
    "update_cost": "time of an update",
    "rank_correlation": "agreement of criteria",
    "retention": "heads that stay over λ",
    "retested": "improving heads, tested again",
    "scratch": "trained from scratch",
    "maps": "attention maps",
}
"""What exhibits show, where their names do not say it."""


@dataclass(frozen=True)
class Lead:
    """The figure that a section shows unfolded: the first one of every task, side by side.

    Attributes:
        name: The figure's anchor, `figure-<name>`.
        rows: A labelled row of panels per task.
        key: The keys of marks that all of them share.
        alt: What it shows.
        how: How to read it.
        is_atlas: Whether its panels are atlases.
        tasks: The task of every row.
        csv: The file behind it; "" without one.
    """

    name: str
    rows: tuple[Row, ...]
    key: tuple[Key, ...]
    alt: str
    how: str
    is_atlas: bool
    tasks: tuple[str, ...]
    csv: str = ""


@dataclass(frozen=True)
class Fold:
    """What is folded under one label."""

    label: str
    exhibit: Exhibit | None = None
    text: str = ""
    remarks: tuple[str, ...] = ()
    task: str = ""


@dataclass(frozen=True)
class Shown:
    """A section of the page.

    Attributes:
        identifier: Its anchor.
        title: What it is about, for the contents.
        heading: The finding; the title where there is none.
        lead: Its figure; None without one.
        folds: Everything else.
        remarks: What to be wary of.
        claims: The claims decided here, those of one claim together.
    """

    identifier: str
    title: str
    heading: Markup | str
    lead: Lead | None
    folds: tuple[Fold, ...]
    remarks: tuple[str, ...]
    claims: tuple[tuple[ClaimVerdict, ...], ...]


def shown(section: Section, heading: Markup, claims: list[list[ClaimVerdict]]) -> Shown:
    """Return a section that was run as the page shows it."""
    parts = section.parts or (section,)
    several = len(section.parts) > 1
    leads = {part.task: next((one for one in part.exhibits if one.rows), None) for part in parts}
    drawn = {task: one for task, one in leads.items() if one is not None}
    folds: list[Fold] = [Fold(_name(one, ""), one) for one in section.exhibits] if section.parts else []
    for part in parts:
        folds += _folds(part, drawn.get(part.task), part.title if several else "")
    return Shown(
        identifier=section.identifier,
        title=section.title,
        heading=heading or section.title,
        lead=_lead(drawn, {part.task: part.title for part in parts} if several else {}) if drawn else None,
        folds=tuple(folds),
        remarks=(*section.remarks, *dict.fromkeys(text for part in parts for text in part.remarks if section.parts)),
        claims=tuple(map(tuple, claims)),
    )


def _lead(drawn: dict[str, Exhibit], titles: dict[str, str]) -> Lead:
    first = next(iter(drawn.values()))
    rows, keys = [], list[Key]()
    for task, exhibit in drawn.items():
        row = exhibit.rows[0]
        rows.append(replace(row, label=titles.get(task) or row.label))
        keys += [key for key in exhibit.key if key not in keys]
    tables = first.tables
    return Lead(
        name=first.name,
        rows=tuple(rows),
        key=tuple(keys),
        alt=" ".join(one.shows or one.alt for one in drawn.values()),
        how=first.how,
        is_atlas=first.is_atlas,
        tasks=tuple(drawn),
        csv=tables[0].filename if tables else "",
    )


def _folds(part: Section, lead: Exhibit | None, task: str) -> list[Fold]:
    """Return the folds of one task: how it was done, what else the lead figure has, the other exhibits."""
    before = f"{task}: " if task else ""
    made = []
    if part.lead:
        made.append(Fold(f"{before}method", text=part.lead, task=part.task))
    for exhibit in part.exhibits:
        if exhibit is lead:
            rest = replace(exhibit, name=f"{exhibit.name}-more", rows=exhibit.rows[1:], key=(), how="")
            made.append(Fold(f"{before}{'more curves, ' if len(rest.rows) else ''}numbers and tables", rest, task=part.task))
        else:
            made.append(Fold(f"{before}{_name(exhibit, task)}", exhibit, task=part.task))
    return made


def _name(exhibit: Exhibit, task: str) -> str:
    name = exhibit.name.partition("-")[0]
    return EXHIBITS.get(name, name.replace("_", " "))
