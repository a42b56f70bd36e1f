"""Roles after pruning: what heads that are left take over."""

import pandas

from headroom.claims.study_tables import StudyTables
from headroom.claims.survival import Drift, drifts
from headroom.core.formatting import MISSING, listing, plural
from headroom.report.exhibits import Column, Exhibit, Table, table_of
from headroom.report.role_names import target_name, target_words


def exhibit(tables: StudyTables, run: str) -> Exhibit | None:
    """Return what became of roles in the pruned models of one run; None if none was labelled again."""
    found = drifts(tables, run)
    if not found:
        return None
    return Exhibit(name="drift", shows=_finding(found), tables=(_table(found),))


def _finding(found: list[Drift]) -> str:
    lost, taken = ([target for one in found for target in getattr(one, name)] for name in ("lost", "taken_over"))
    opening = f"Labelled again after pruning ({plural(len(found), 'model')}):"
    if not lost:
        return f"{opening} no function lost all of its heads."
    names = listing(dict.fromkeys(map(target_words, taken)))
    held = f"{len(taken)} of them {'is' if len(taken) == 1 else 'are'} held by a head that is left ({names})"
    outcome = held if taken else "no head that is left holds one"
    return f"{opening} {plural(len(lost), 'function')} lost all heads; {outcome}."


def _table(found: list[Drift]) -> Table:
    rows = [
        {
            "model": one.model,
            "removed": len(one.removed),
            "before": len(one.before),
            "after": len(one.after),
            "lost": _named(one.lost),
            "taken": _named(one.taken_over),
            "new": "; ".join(f"{head}: {target_name(target)}" for target, head in one.new) or MISSING,
        }
        for one in found
    ]
    columns = [
        Column("model", "model", numeric=False),
        Column("removed", "heads removed"),
        Column("before", "functions before"),
        Column("after", "functions after"),
        Column("lost", "lost all heads", numeric=False),
        Column("taken", "taken over", numeric=False),
        Column("new", "roles that are new", numeric=False),
    ]
    caption = "roles before and after pruning"
    return table_of(pandas.DataFrame(rows), columns, caption=caption, filename="drift.csv")


def _named(targets: list[str]) -> str:
    return ", ".join(map(target_name, targets)) or MISSING
