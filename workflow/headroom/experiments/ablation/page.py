"""Single-head ablation: what the removal of each head alone does; on another set, and by other tests."""

from collections.abc import Mapping

import pandas
from markupsafe import Markup

from headroom.claims.board import site_word
from headroom.claims.verdict import LEVEL
from headroom.core.formatting import estimate, p_value
from headroom.core.heads import Head
from headroom.experiments.ablation.claims import (
    CORRECTIONS,
    SCREENING,
    TESTS,
    find_changed,
    right_or_wrong,
    screen_effects,
)
from headroom.experiments.roles.claims import HEAD
from headroom.figures import palette, panels
from headroom.figures.atlas import Mark, draw_atlases
from headroom.figures.names import choose_folded_runs, run_name
from headroom.figures.panels import mark_sample
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Panel, Table
from headroom.figures.views import (
    HERE,
    LOOKS,
    Parts,
    Views,
    build_panels,
    is_published,
    label,
    lead,
    paper_scale,
    percent_label,
    published,
    section_of,
)
from headroom.study.selection import (
    MEASURES,
    chosen_heads,
    in_order,
    in_percent,
    last_epochs,
    main_gradient,
    main_metric,
    main_run,
    main_set,
    parse_heads,
    rows_where,
    select_judged,
    with_measures,
    with_shares,
)
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind

_KL = ["kl", "kl_low", "kl_high"]

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
    rows = rows_where(rows, run=main_run(rows, view), set=main_set(rows))
    return with_measures(rows, last_epochs(view.ablation), ["run", "set", *HEAD])


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


NEAR_SETS = ("choose", "check", "test")
"""Sets of the training domain: their atlases would repeat the first."""

KEY = (
    Key(mark_sample("square"), "score falls without the head"),
    Key(mark_sample("ring"), "score rises"),
    Key(mark_sample("frame"), f"p < {LEVEL:g} (Holm)"),
)


@section_of("ablation", "Removing one head", "ablation")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about single-head ablation."""
    main = {task: select_main_effects(view) for task, view in views.items()}
    paper = is_published("ablation", study, main)
    frame = pandas.concat(rows.sort_values("delta") for rows in main.values())
    drawn = [panel for task, rows in main.items() for panel in _panels(rows, label(study, task))]
    figure = Figure("ablation", tuple(drawn), *texts("ablation"), KEY, frame, is_atlas=True)
    more = [panel for view in views.values() for panel in _more(study, view)]
    folds = [
        Fold("All heads, and the paper’s effects" if paper else "All heads", _spread(study, main), (_table(frame),)),
        draw_divergence(study, main),
        list_retested(study, views),
        tests_compared(study, views),
        Fold("Method", text=words("ablation", "method")),
    ]
    if more:
        others = Figure("ablation_more", tuple(more), words("ablation", "alt"), key=KEY, is_atlas=True)
        folds.append(Fold("Other text and other runs", others))
    return Parts(figure, folds)


def effect_marks(rows: pandas.DataFrame, limit: float) -> dict[Head, Mark]:
    """Return atlas marks of ablation effects: a square for a loss, a ring for a gain, framed if significant."""
    made = {}
    for head, (_, row) in zip(parse_heads(rows), rows.iterrows(), strict=True):
        change = estimate(row["delta"], row["low"], row["high"], signed=True, most=2)
        text = f"{change}, p {p_value(row['p_holm'])} (Holm)"
        made[head] = Mark(-row["delta"] / limit, text, framed=bool(row["p_holm"] < LEVEL))
    return made


def _panels(rows: pandas.DataFrame, title: str) -> list[Panel]:
    marks = effect_marks(rows, float(rows["delta"].abs().max()) or 1.0)
    return panels.atlases(draw_atlases(marks), title, rows["task"].iloc[0])


def _more(study: StudyTables, view: StudyTables) -> list[Panel]:
    """Return the atlases of the main run on text of other domains, and those of the other runs."""
    rows = select_effects(view)
    run, main = main_run(rows, view), main_set(rows)
    far = [(run, name) for name in in_order(rows["set"], ()) if name not in (*NEAR_SETS, main)]
    others = choose_folded_runs([one for one in view.runs if one != run and one in set(rows["run"])])
    made = []
    for name, on in [*far, *((other, main) for other in others)]:
        chosen = rows_where(rows, run=name, set=on)
        made += _panels(chosen, label(study, view.task, f"{run_name(name)}, {on}")) if len(chosen) else []
    return made


def _spread(study: StudyTables, main: Mapping[str, pandas.DataFrame]) -> Figure:
    """Return the effects of all heads by kind, with mean and standard deviation of the paper's."""
    paper = [paper_effects(task, study.kind_of(task)) for task in main]
    frame = pandas.concat(part for rows, theirs in zip(main.values(), paper) for part in (list_effects(rows), theirs))
    limits = panels.find_shared_limits(frame, "delta", "low", "high")

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        rows, across = in_order(main[task]["kind"], palette.KIND_NAMES), ("delta", percent_label(study.info_of(task)))
        name = f"ablation-spread-{task}"
        return panels.dots(own, LOOKS, name, across, row="kind", hue="by", rows=rows, reference=0.0, limits=limits)

    names = {"here": "one head", "paper": "paper: mean ± standard deviation"}
    known = {by: name for by, name in names.items() if by in set(frame["by"])}
    key = tuple(panels.key(LOOKS[by], name, line=by == "paper") for by, name in known.items())
    drawn = build_panels(study, frame, draw)
    said = texts("ablation", "spread", paper=is_published("ablation", study, main))
    return Figure("ablation_effects", drawn, *said, key, frame)


def _table(frame: pandas.DataFrame) -> Table:
    task = ["task"] if frame["task"].nunique() > 1 else []
    measured = [f"{name} ~" for name in MEASURES if frame[name].notna().any()]
    columns = [*task, "name", "set", "metric", "delta ~", "p", "p_holm", *measured]
    return Table("ablation-heads", frame, columns, {"name": "head"})


def draw_divergence(study: StudyTables, main: Mapping[str, pandas.DataFrame]) -> Fold | None:
    """Return the atlases of all heads by the divergence from the full model's predictions; None without it."""
    drawn = []
    for task, rows in main.items():
        known, unit = rows[rows["kl"].notna()], f"nats per {study.info_of(task).unit_of_loss}"
        limit = float(known["kl"].abs().max()) if len(known) else 0.0
        texts_of = [f"KL {estimate(*three, most=5)} {unit}" for three in known[_KL].to_numpy(dtype=float)]
        marks = [Mark(value / (limit or 1.0), text) for value, text in zip(known["kl"], texts_of)]
        if marks:
            drawn += panels.atlases(
                draw_atlases(dict(zip(parse_heads(known), marks, strict=True))), label(study, task), task
            )
    figure = Figure("ablation_divergence", tuple(drawn), *texts("ablation", "divergence"), is_atlas=True)
    return Fold("Divergence from the full model’s predictions", figure) if drawn else None


def list_retested(study: StudyTables, views: Mapping[str, StudyTables]) -> Fold | None:
    """Return the heads that improve most on both sets, of all tasks; None without a second set or such a head."""
    frame = pandas.concat(map(improving, views.values()))
    if frame.empty:
        return None
    looks, limits = {"heads": HERE}, panels.find_shared_limits(frame, *(f"delta_{side}" for side in SIDES))

    def draw(task: str, pairs: pandas.DataFrame) -> Markup:
        names = {f"delta_{side}": f"on {pairs[f'on_{side}'].iloc[0]}" for side in SIDES}
        long = pairs.melt("name", list(names), var_name="on", value_name="delta").assign(by="heads")
        long["on"] = pandas.Categorical(long["on"].map(names), list(names.values()), ordered=True)
        name, axes = f"retested-{task}", (("on", ""), ("delta", percent_label(study.info_of(task))))
        return panels.lines(long, looks, name, *axes, hue="by", units="name", reference=0.0, limits=limits)

    key = (panels.key(HERE, "mean of these heads"),)
    figure = Figure("retested", build_panels(study, frame, draw), *texts("ablation", "retested"), key)
    columns = [*lead(study), "name", "delta_first ~", "p_first", "delta_second ~", "p_second"]
    headings = {"name": "head", **{f"delta_{side}": f"change on {frame[f'on_{side}'].iloc[0]}" for side in SIDES}}
    return Fold("Improving heads, tested again on another set", figure, (Table("retested", frame, columns, headings),))


def tests_compared(study: StudyTables, views: Mapping[str, StudyTables]) -> Fold | None:
    """Return the counts for all tasks with a metric that counts right answers; None without one."""
    made = [rows for view in views.values() for rows in count_by_test(view)]
    if not made:
        return None
    columns = [*lead(study), "removed", "test", "none", "worse", *CORRECTIONS[1:]]
    headings = {"removed": "removed", "none": f"p < {SCREENING:g}", "worse": "of these worse"}
    note = words("ablation", "tests_note", level=f"{SCREENING:g}")
    table = Table("tests-compared", pandas.concat(made), columns, headings, note)
    return Fold("Tests of accuracies, compared", tables=(table,), text=words("ablation", "tests"))
