"""Which functions the heads of every run have: seeds and arms side by side."""

import numpy
import pandas

from headroom.claims.pointing import functions_of_runs, likeness
from headroom.claims.roles import functions, held, in_order, is_position
from headroom.claims.selection import heads_of, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import MISSING, fixed, percent, plural
from headroom.report.exhibits import Exhibit, grid_table
from headroom.report.names import run_name
from headroom.report.role_names import target_words


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the heads of every function in every run; None for a single run or without roles."""
    found = functions_of_runs(tables)
    every = sorted(set().union(*found.values()), key=_order) if found else []
    if len(found) < 2 or not every:
        return None
    cells = {
        (_name(function), run_name(run)): _heads(held(rows_where(tables.roles, run=run)), function)
        for function in every
        for run in found
    }
    common = set.intersection(*found.values())
    pairs = likeness(found)
    finding = (
        f"Of {plural(len(every), 'function')} that heads of some model have, {len(common)} are in all {len(found)}"
        f" models; two models share {percent(sum(pairs) / len(pairs))} of theirs on average"
        f" (from {fixed(100 * min(pairs), 0)} to {fixed(100 * max(pairs), 0)} %)."
    )
    frame = held(tables.roles).drop(columns=["study", "epoch", "model", "signature"])
    caption = "heads of every function, by run"
    table = grid_table(cells, corner="points to", caption=caption, frame=frame, filename="roles-by-run.csv")
    return Exhibit(name="roles_by_run", shows=finding, tables=(table,))


def _order(function: str) -> tuple[int, int, str]:
    kind = 0 if is_position(function) else 2 if function == "rare" else 1
    return kind, *in_order(function)


def _name(function: str) -> str:
    return "rare words" if function == "rare" else target_words(function)


def _heads(roles: pandas.DataFrame, function: str) -> str:
    holds = [functions(roles.iloc[[place]]) == {function} for place in range(len(roles))]
    own = roles[numpy.array(holds, dtype=bool)]
    return ", ".join(dict.fromkeys(str(head) for head in sorted(heads_of(own)))) or MISSING
