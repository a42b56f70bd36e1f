"""Effects of removing one head, tested again: on another set, and by other tests with other corrections."""

from collections.abc import Mapping

import pandas
from markupsafe import Markup

from headroom.claims.ablation import screened
from headroom.claims.roles import HEAD
from headroom.claims.selection import chosen_heads, rows_where
from headroom.claims.significance import CORRECTIONS, SCREENING, TESTS, changed, right_or_wrong
from headroom.claims.study_tables import StudyTables
from headroom.report import panels
from headroom.report.prose import texts, words
from headroom.report.sections.effects import HERE, effects, in_percent, main_effects, percent_label
from headroom.report.spec import Figure, Fold, Table
from headroom.report.tasks import words_of
from headroom.report.views import lead, panels_of

BEST = 10
SIDES = ("first", "second")


def fold(study: StudyTables, views: Mapping[str, StudyTables]) -> Fold | None:
    """Return the heads that improve most on both sets, of all tasks; None without a second set or such a head."""
    frame = pandas.concat(map(improving, views.values()))
    if frame.empty:
        return None
    looks, limits = {"heads": HERE}, panels.shared_limits(frame, *(f"delta_{side}" for side in SIDES))

    def draw(task: str, pairs: pandas.DataFrame) -> Markup:
        names = {f"delta_{side}": f"on {pairs[f'on_{side}'].iloc[0]}" for side in SIDES}
        long = pairs.melt("name", list(names), var_name="on", value_name="delta").assign(by="heads")
        long["on"] = pandas.Categorical(long["on"].map(names), list(names.values()), ordered=True)
        name, axes = f"retested-{task}", (("on", ""), ("delta", percent_label(task)))
        return panels.lines(long, looks, name, *axes, hue="by", units="name", reference=0.0, limits=limits)

    key = (panels.key(HERE, "mean of these heads"),)
    figure = Figure("retested", panels_of(study, frame, draw), *texts("ablation", "retested"), key)
    columns = [*lead(study), "name", "delta_first ~", "p_first", "delta_second ~", "p_second"]
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


def compared(study: StudyTables, views: Mapping[str, StudyTables]) -> Fold | None:
    """Return the counts for all tasks with a metric that counts right answers; None without one."""
    made = [rows for view in views.values() for rows in _counts(view)]
    if not made:
        return None
    columns = [*lead(study), "removed", "test", "none", "worse", *CORRECTIONS[1:]]
    headings = {"removed": "removed", "none": f"p < {SCREENING:g}", "worse": "of these worse"}
    note = words("ablation", "tests_note", level=f"{SCREENING:g}")
    table = Table("tests-compared", pandas.concat(made), columns, headings, note)
    return Fold("Tests of accuracies, compared", tables=(table,), text=words("ablation", "tests"))


def _counts(view: StudyTables) -> list[pandas.DataFrame]:
    """Return the counts of one task: of heads removed alone, and of sites with one head, chosen on other data."""
    run = main_effects(view)["run"].iloc[0]
    heads = right_or_wrong(rows_where(view.ablation, run=run))
    if heads.empty:
        return []
    made = [_counted(heads, view.task, f"one head ({len(heads)})", part=False)]
    kept = rows_where(view.keep_one, run=run)
    chosen = chosen_heads(kept, "choose")
    sites = right_or_wrong(kept).merge(chosen[HEAD], on=HEAD) if len(chosen) else heads.head(0)
    if len(sites):
        what = f"all heads of a {words_of(view.task).site} but one ({len(sites)})"
        made.append(_counted(sites, view.task, what, part=True))
    return made


def _counted(rows: pandas.DataFrame, task: str, removed: str, *, part: bool) -> pandas.DataFrame:
    """Return the number of changed rows by test and correction."""
    made = []
    for test in TESTS:
        counts = {how: int(changed(rows, test.column, how, part=part).sum()) for how in CORRECTIONS}
        lost = int((changed(rows, test.column, part=part) & (rows["delta"] < 0).to_numpy()).sum())
        made.append({"task": task, "removed": removed, "test": test.name, **counts, "worse": lost})
    return pandas.DataFrame(made)
