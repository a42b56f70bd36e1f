"""Sites that keep one head, as rows: their best heads, beside the paper's."""

import pandas

from headroom.claims.entries import threshold
from headroom.core.formatting import MINUS
from headroom.core.heads import KINDS
from headroom.core.statistics import holm
from headroom.figures.views import paper_scale, published
from headroom.study.selection import chosen_heads, in_percent, parse_heads, rows_where
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind


def select_sites(view: StudyTables, chosen_on: str) -> pandas.DataFrame:
    """Return the best head of every site and run, chosen on a set, with `p_holm` corrected over the sites of its run.

    Columns `site` and `task` are added, e.g. E3.
    """
    rows = chosen_heads(view.keep_one, chosen_on)
    own = (rows_where(rows, run=run) for run in view.runs)
    made = [one.assign(p_holm=holm(one["p"].tolist())) for one in own if len(one)]
    rows = pandas.concat(made) if made else rows
    return rows.assign(task=view.task, site=[f"{head.kind}{head.layer}" for head in parse_heads(rows)])


def put_beside_paper(rows: pandas.DataFrame, task: str, task_kind: TaskKind) -> pandas.DataFrame:
    """Return the sites of one run in % of the score, and beside each the paper's that is as far from the last one.

    A site is `hollow` if its loss is not noticeable.
    """
    shown = ["task", "run", "kind", "layer", "site", "head", "set", "delta", "low", "high"]
    ours = in_percent(rows)[shown].assign(by="here")
    last = rows.groupby("kind")["layer"].max()
    theirs = [
        (kind, layer, 100 / paper_scale(task_kind) * float(text.strip("*").replace(MINUS, "-")))
        for kind, values in published("keep_one_other", task_kind).items()
        if kind in last
        for layer, text in zip(range(last[kind], 0, -1), reversed(values))
    ]
    paper = pandas.DataFrame(theirs, columns=["kind", "layer", "delta"]).assign(task=task, by="paper")
    paper = paper.assign(site=paper["kind"] + paper["layer"].map(str))
    order = {kind: place for place, kind in enumerate(KINDS)}
    both = pandas.concat([ours, paper]).sort_values(["kind", "layer"], key=lambda own: own.map(order).fillna(own))
    return both.assign(hollow=both["delta"] > -100 * threshold("M4", "margin", task, task_kind))
