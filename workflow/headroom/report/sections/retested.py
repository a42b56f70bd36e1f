"""Winner's curse: heads whose removal improves the score on one set, tested again on another."""

from collections.abc import Mapping
from typing import Any

import pandas
from markupsafe import Markup

from headroom.claims.ablation import screened
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report import panels
from headroom.report.prose import words
from headroom.report.sections.effects import (
    HERE,
    effects,
    in_percent,
    main_effects,
    panels_of,
    percent_label,
    shared_limits,
)
from headroom.report.spec import Figure, Fold, Table

BEST = 10
SIDES = ("first", "second")


def fold(study: StudyTables, views: Mapping[str, StudyTables]) -> Fold | None:
    """Return the heads that improve most on both sets, of all tasks; None without a second set or such a head."""
    found = {task: pairs for task, view in views.items() if len(pairs := improving(view))}
    if not found:
        return None
    limits = shared_limits(found.values(), *(f"delta_{side}" for side in SIDES))

    def draw(task: str, pairs: pandas.DataFrame) -> Markup:
        names = {f"delta_{side}": f"on {pairs[f'on_{side}'].iloc[0]}" for side in SIDES}
        long = pairs.melt("name", list(names), var_name="on", value_name="delta").assign(by="heads")
        long["on"] = pandas.Categorical(long["on"].map(names), list(names.values()), ordered=True)
        own: dict[str, Any] = {
            "name": f"retested-{task}",
            "x_label": "",
            "y_label": percent_label(task),
            "limits": limits,
        }
        return panels.lines(long, {"heads": HERE}, x="on", y="delta", hue="by", units="name", reference=0.0, **own)

    frame = pandas.concat(found.values())
    texts = words("ablation", "retested_alt"), words("ablation", "retested")
    figure = Figure("retested", panels_of(study, found, draw), *texts, (panels.key(HERE, "mean of these heads"),))
    columns = [*["task"] * (len(study.tasks) > 1), "name", "delta_first ~", "p_first", "delta_second ~", "p_second"]
    headings = {"name": "head", **{f"delta_{side}": f"change on {frame[f'on_{side}'].iloc[0]}" for side in SIDES}}
    return Fold("Improving heads, tested again on another set", figure, (Table("retested", frame, columns, headings),))


def improving(view: StudyTables) -> pandas.DataFrame:
    """Return the heads, at most `BEST`, whose removal improves the score most on the set that heads are chosen on.

    Changes there (`delta_first`) and on the set that heads are judged on (`delta_second`) are in % of the score.
    """
    run = main_effects(view)["run"].iloc[0]
    both = [in_percent(rows) for rows in screened(rows_where(effects(view), run=run))]
    best = both[0][both[0]["delta"] > 0].sort_values("delta", ascending=False).index[:BEST]
    made = both[0].loc[best, ["task", "run", "name"]]
    for side, rows in zip(SIDES, both, strict=True):
        ends = {end: f"delta_{side}_{end}" for end in ("low", "high")}
        names = {"delta": f"delta_{side}", **ends, "p": f"p_{side}", "set": f"on_{side}"}
        made = made.join(rows[[*names]].rename(columns=names))
    return made
