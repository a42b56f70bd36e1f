"""Effects of single heads as rows: those shown first, in %, beside the paper's, tested again, by replacement."""

import pandas

from headroom.claims.words import site_word
from headroom.experiments.ablation.claims import CORRECTIONS, TESTS, find_changed, right_or_wrong, screen_effects
from headroom.experiments.roles.claims import HEAD
from headroom.figures.views import paper_scale, published
from headroom.study.selection import (
    chosen_heads,
    in_percent,
    last_epochs,
    main_gradient,
    main_metric,
    main_run,
    main_set,
    parse_heads,
    rows_where,
    select_judged,
    with_shares,
)
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind

BEST = 10
"""At most so many improving heads are tested again."""

SIDES = ("first", "second")

REPLACED_COLUMNS = [
    *("task", "run", "replacement", "order", "normalised", "heads_removed", "heads_total", "share", "metric"),
    *("value", "full", "kept"),
]
"""The columns of curves by what replaces removed heads."""


def select_effects(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's rows of `ablation` in the main metric, of one task, with the columns task and name."""
    rows = last_epochs(view.ablation)
    rows = rows_where(rows, metric=main_metric(rows))
    return rows.assign(task=view.task, name=[str(head) for head in parse_heads(rows)])


def select_main_effects(view: StudyTables) -> pandas.DataFrame:
    """Return those of the run that is shown first, on the set that heads are judged on."""
    rows = select_effects(view)
    return rows_where(rows, run=main_run(rows, view), set=main_set(rows))


def list_effects(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the effects of single heads, in % of the score."""
    return in_percent(rows)[["task", "run", "kind", "layer", "head", "delta"]].assign(by="here", single=True)


def paper_effects(task: str, task_kind: TaskKind) -> pandas.DataFrame:
    """Return the paper's means by kind of attention, in % of its full model's score; none for some kinds of task."""
    rows = [
        (kind, *(100 * end / paper_scale(task_kind) for end in (mean, mean - deviation, mean + deviation)))
        for kind, (mean, deviation, _) in published("ablation", task_kind).items()
    ]
    return pandas.DataFrame(rows, columns=["kind", "delta", "low", "high"]).assign(task=task, by="paper", single=False)


def improving(view: StudyTables) -> pandas.DataFrame:
    """Return the heads, at most `BEST`, whose removal improves the score most on the set that heads are chosen on.

    Changes there (`delta_first`) and on the set that heads are judged on (`delta_second`) are in % of the score.
    """
    run = select_main_effects(view)["run"].iloc[0]
    both = [in_percent(rows) for rows in screen_effects(rows_where(select_effects(view), run=run))]
    best = both[0][both[0]["delta"] > 0].sort_values("delta", ascending=False).index[:BEST]
    made = both[0].loc[best, ["task", "run", "name"]]
    for side, rows in zip(SIDES, both, strict=True):
        ends = {end: f"delta_{side}_{end}" for end in ("low", "high")}
        names = {"delta": f"delta_{side}", **ends, "p": f"p_{side}", "set": f"on_{side}"}
        made = made.join(rows[[*names]].rename(columns=names))
    return made


def build_replaced_curves(view: StudyTables) -> pandas.DataFrame:
    """Return the curves of one task by its main order, all heads together, for every replacement; of the first run."""
    every = view.every("pruning")
    if every["replacement"].nunique() < 2:
        return pandas.DataFrame()
    rows = rows_where(select_judged(every), run=main_run(every, view), scope="all", ranking="fixed")
    order, normalised = main_gradient(rows)
    return with_shares(rows_where(rows, order=order, normalised=normalised)).assign(task=view.task)[REPLACED_COLUMNS]


def count_by_test(view: StudyTables) -> list[pandas.DataFrame]:
    """Return how many results of one task each test and correction finds changed.

    These are of heads removed alone, and of sites with one head, chosen on other data.
    """
    run = select_main_effects(view)["run"].iloc[0]
    heads = right_or_wrong(rows_where(view.ablation, run=run))
    if heads.empty:
        return []
    made = [_count_changed(heads, view.task, f"one head ({len(heads)})", part=False)]
    kept = rows_where(view.keep_one, run=run)
    chosen = chosen_heads(kept, "choose")
    sites = right_or_wrong(kept).merge(chosen[HEAD], on=HEAD) if len(chosen) else heads.head(0)
    if len(sites):
        what = f"all heads of a {site_word(view.kinds)} but one ({len(sites)})"
        made.append(_count_changed(sites, view.task, what, part=True))
    return made


def _count_changed(rows: pandas.DataFrame, task: str, removed: str, *, part: bool) -> pandas.DataFrame:
    """Return the number of changed rows by test and correction."""
    made = []
    for test, column in TESTS.items():
        counts = {how: int(find_changed(rows, column, how, part=part).sum()) for how in CORRECTIONS}
        lost = int((find_changed(rows, column, part=part) & (rows["delta"] < 0).to_numpy()).sum())
        made.append({"task": task, "removed": removed, "test": test, **counts, "worse": lost})
    return pandas.DataFrame(made)
