"""Sections that are not yet made of `spec`: their exhibits as figures and folds. Goes with the last of them."""

from dataclasses import replace

from headroom.report import exhibits as old
from headroom.report import spec

EXHIBITS = {
    "curves_by_kind": "each kind of attention alone",
    "curves_by_layer": "each layer alone",
    "curves_by_task": "all tasks",
    "curves_survivors": "heads left",
    "equal_heads": "ways to choose heads at equal numbers",
    "head_counts": "models with fewer or more heads",
    "head_diversity": "diversity of heads",
    "arm_pruning": "pruning by arm",
    "update_cost": "time of an update",
    "retention": "heads that stay over λ",
    "scratch": "trained from scratch",
    "maps": "attention maps",
}
"""What exhibits show, where their names do not say it."""


def converted(section: old.Section) -> spec.Section:
    """Return a section of exhibits as one of `spec`: the first figure of every task, and the rest as folds."""
    if section.missing:
        return spec.Section(section.identifier, section.title, missing=section.missing)
    parts = section.parts or (section,)
    several = len(section.parts) > 1
    leads = {part.task: next((one for one in part.exhibits if one.rows), None) for part in parts}
    drawn = {task: one for task, one in leads.items() if one is not None}
    folds = [_fold(_name(one), one, "") for one in section.exhibits] if section.parts else []
    for part in parts:
        folds += _folds(part, drawn.get(part.task), f"{part.title}: " if several else "")
    titles = {part.task: part.title for part in parts} if several else {}
    remarks = dict.fromkeys([*section.remarks, *(text for part in parts for text in part.remarks)])
    figure = _lead(drawn, titles) if drawn else None
    return spec.Section(section.identifier, section.title, figure, tuple(folds), tuple(remarks))


def _lead(drawn: dict[str, old.Exhibit], titles: dict[str, str]) -> spec.Figure:
    first = next(iter(drawn.values()))
    panels, keys = [], list[old.Key]()
    for task, exhibit in drawn.items():
        row = exhibit.rows[0]
        panels += _panels((replace(row, label=titles.get(task) or row.label),), task)
        keys += [key for key in exhibit.key if key not in keys]
    text = " ".join(one.shows or one.alt for one in drawn.values())
    return spec.Figure(first.name, tuple(panels), text, first.how, tuple(keys), is_atlas=first.is_atlas)


def _panels(rows: tuple[old.Row, ...], task: str) -> list[spec.Panel]:
    made = []
    for row in rows:
        for place, drawing in enumerate(row.panels):
            label = row.label if place == 0 else "\u00a0" if row.label else ""
            made.append(spec.Panel(drawing, label, row.key if place == 0 else (), task))
    return made


def _folds(part: old.Section, lead: old.Exhibit | None, before: str) -> list[spec.Fold]:
    made = [spec.Fold(f"{before}method", text=part.lead)] if part.lead else []
    for exhibit in part.exhibits:
        if exhibit is lead:
            rest = replace(exhibit, name=f"{exhibit.name}-more", rows=exhibit.rows[1:], key=(), how="")
            made.append(_fold(f"{before}{'more curves, ' if rest.rows else ''}numbers and tables", rest, part.task))
        else:
            made.append(_fold(f"{before}{_name(exhibit)}", exhibit, part.task))
    return made


def _fold(label: str, exhibit: old.Exhibit, task: str) -> spec.Fold:
    rows = (*exhibit.rows, *(replace(row, label=title) for title, own in exhibit.folded for row in own))
    figure = spec.Figure(
        exhibit.name, tuple(_panels(rows, task)), exhibit.alt, exhibit.how, exhibit.key, is_atlas=exhibit.is_atlas
    )
    pages = tuple(spec.Drawing(one.group, one.label, one.title, one.drawing) for one in exhibit.pages)
    tables = (*exhibit.tables, *exhibit.papers)
    return spec.Fold(label, figure if rows else None, tables, exhibit.shows, pages)  # type: ignore[arg-type]


def _name(exhibit: old.Exhibit) -> str:
    name = exhibit.name.partition("-")[0]
    return EXHIBITS.get(name, name.replace("_", " "))


def cells(table: object) -> tuple[list[str], list[bool], list[tuple[str, ...]]]:
    """Return headings, which columns are numeric, and the rows of an old table."""
    if isinstance(table, old.Paper):
        return list(table.headings), [False, *(True for _ in table.headings[1:])], list(table.rows)
    assert isinstance(table, old.Table)
    return list(table.headings), list(table.numeric), list(table.rows)
