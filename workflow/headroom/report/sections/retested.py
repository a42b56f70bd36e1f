"""Winner's curse: heads whose removal improves the score on one set, tested again on another."""

from collections.abc import Mapping

import pandas

from headroom.claims.ablation import screened
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report import palette, panels
from headroom.report.panels import Look
from headroom.report.prose import words
from headroom.report.sections.effects import effects, in_percent, main_effects, percent_label, shared_limits
from headroom.report.spec import Figure, Fold, Panel, Table
from headroom.report.views import label

BEST = 10
LOOKS = {"heads": Look(palette.arm_colour("", []), marker="o")}


def fold(study: StudyTables, views: Mapping[str, StudyTables]) -> Fold | None:
    """Return the heads that improve most on both sets, of all tasks; None without a second set or such a head."""
    found = {task: pairs for task, view in views.items() if len(pairs := improving(view))}
    if not found:
        return None
    limits = shared_limits(found.values(), "first", "second")
    made = []
    for task, pairs in found.items():
        drawing = panels.lines(
            _long(pairs),
            LOOKS,
            name=f"retested-{task}",
            x="on",
            y="delta",
            hue="by",
            units="name",
            x_label="",
            y_label=percent_label(task),
            reference=0.0,
            limits=limits,
        )
        made.append(Panel(drawing, label(study, task), task=task))
    frame = pandas.concat(found.values())
    key = (panels.key(LOOKS["heads"], "mean of these heads"),)
    figure = Figure("retested", tuple(made), words("ablation", "retested_alt"), words("ablation", "retested"), key)
    task_column = ["task"] if len(study.tasks) > 1 else []
    columns = [*task_column, "name", "first ~", "p_first", "second ~", "p_second"]
    headings = {
        "name": "head",
        "first": f"change on {frame['on_first'].iloc[0]}",
        "second": f"change on {frame['on_second'].iloc[0]}",
    }
    table = Table("retested", frame, columns, headings)
    return Fold("Improving heads, tested again on another set", figure, (table,))


def improving(view: StudyTables) -> pandas.DataFrame:
    """Return the heads, at most `BEST`, whose removal improves the score most on the set that heads are chosen on.

    Changes there (`first`) and on the set that heads are judged on (`second`) are in % of the score.
    """
    run = main_effects(view)["run"].iloc[0]
    first, second = map(in_percent, screened(rows_where(effects(view), run=run)))
    best = first[first["delta"] > 0].sort_values("delta", ascending=False).index[:BEST]
    made = first.loc[best, ["task", "run", "name"]]
    for name, rows in (("first", first.loc[best]), ("second", second.loc[best])):
        bounds = {name: rows["delta"], f"{name}_low": rows["low"], f"{name}_high": rows["high"]}
        made = made.assign(**bounds, **{f"p_{name}": rows["p"], f"on_{name}": rows["set"]})
    return made


def _long(pairs: pandas.DataFrame) -> pandas.DataFrame:
    """Return one row per head and set, the set on which heads were chosen first."""
    sides = [
        pairs.assign(on=f"on {pairs[f'on_{side}'].iloc[0]}", delta=pairs[side], by="heads")
        for side in ("first", "second")
    ]
    names = [rows["on"].iloc[0] for rows in sides]
    long = pandas.concat(sides)
    return long.assign(on=pandas.Categorical(long["on"], names, ordered=True))
