"""Do rankings of the same heads agree: on other text, by other criteria, in every epoch, by other replacements?"""

from collections.abc import Iterator
from dataclasses import replace

import pandas
from markupsafe import Markup

from headroom.core.formatting import MISSING, format_fixed, listing
from headroom.core.heads import KINDS
from headroom.experiments.ablation.page import build_replaced_curves, select_effects
from headroom.experiments.agreement.claims import average_replacements
from headroom.figures import curves, palette, panels
from headroom.figures.names import choose_folded_runs, criterion_name, run_name
from headroom.figures.palette import Colour, arm_colour
from headroom.figures.panels import Look, kind_keys
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Panel, Table
from headroom.figures.views import (
    HERE,
    LOOKS,
    PUBLISHED,
    Parts,
    Views,
    build_panels,
    label,
    lead,
    percent_label,
    published,
    section_of,
)
from headroom.methods.criteria import REFERENCE
from headroom.study.selection import (
    in_order,
    in_percent,
    last_epochs,
    main_gradient,
    main_metric,
    main_run,
    main_set,
    measurable,
    parse_heads,
    rows_where,
    with_shares,
)
from headroom.study.tables import StudyTables, arm_of
from headroom.study.task_info import TaskKind

ALL = "all heads"
"""What heads of all kinds together are called."""

SHARES = (20, 40, 50, 60, 80)
"""The shares of heads removed (%) that the paper has."""

NEAR = 5
"""How near to a share a step has to be."""


def agreements(view: StudyTables) -> pandas.DataFrame:
    """Return the agreement of the run that is shown first, in the main metric.

    Its first pair of sets (`first`) is that of two domains; the paper's values (`paper`), if it has any for the task,
    are for comparison.
    """
    rows = last_epochs(rows_where(view.agreement, between="set"))
    if rows.empty:
        return rows
    rows = rows_where(rows, run=main_run(rows, view), of=rows["of"].iloc[0]).assign(task=view.task)
    sets = rows[["a", "b"]]
    rows = rows.assign(first=(sets == sets.iloc[0]).all(axis=1))
    known, numbers = paper_values(view.kind), rows["k"].fillna(rows["dropped"])
    if not known:
        return rows
    beside = rows["first"] & rows["kind"].eq("all")
    theirs = [known.get(key, MISSING) for key in zip(rows["statistic"], numbers, strict=True)]
    return rows.assign(paper=pandas.Series(theirs, rows.index).where(beside, MISSING))


def paper_values(kind: TaskKind) -> dict[tuple[str, float], str]:
    """Return the paper's agreement by statistic and number of heads left out, or of overlaps by number of heads.

    It has none for some kinds of task.
    """
    if not (values := published("agreement", kind)):
        return {}
    pearson, spearman, without, common = values
    found: dict[tuple[str, float], str] = {("pearson", 0.0): pearson, ("spearman", 0.0): spearman}
    found |= {("pearson", dropped): text for dropped, text in zip((1, 2, 5, 10), without.split(", "), strict=True)}
    shared = zip((5, 10, 20), common.split(", "), strict=True)
    return found | {("overlap", k): format_fixed(float(text.split()[0]) / k) for k, text in shared}


def pair_effects(view: StudyTables, rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the effect of every head on the first pair of sets, in % of the score; no rows if one was not run."""
    if not view.has("ablation"):
        return pandas.DataFrame()
    run, *sets = rows[["run", "a", "b"]].iloc[0]
    every = in_percent(rows_where(select_effects(view), run=run))
    first, second = (rows_where(every, set=name) for name in sets)
    made = first.merge(second, on=["task", "run", "kind", "layer", "head"], suffixes=("_a", "_b"))
    made = made.rename(columns={"delta_a": "first", "delta_b": "second"})
    return made[["task", "run", "kind", "layer", "head", "set_a", "first", "set_b", "second"]].dropna()


def pair_correlations(rows: pandas.DataFrame, kind: TaskKind) -> pandas.DataFrame:
    """Return both correlations of one task's first pair of sets over all heads, and Pearson's of the paper."""
    ours = rows[rows["first"] & rows["kind"].eq("all") & rows["statistic"].ne("overlap")]
    task = rows["task"].iloc[0]
    values = paper_values(kind)
    known = [(number, text) for (name, number), text in values.items() if name == "pearson"]
    paper = {"dropped": [int(number) for number, _ in known], "value": [float(text.split()[0]) for _, text in known]}
    return pandas.concat([ours, pandas.DataFrame(paper).assign(task=task, run="paper", statistic="paper")])


def select_criteria(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's correlations of criteria of all runs, over all heads and over those of a kind.

    Those of the comparison of criteria are shown there.
    """
    rows = last_epochs(rows_where(view.agreement, between="criterion"))
    return rows[rows["kind"].isin(["all", *KINDS]) & rows["b"].ne(REFERENCE)].assign(task=view.task)


def select_epochs(view: StudyTables) -> pandas.DataFrame:
    """Return how the scores of the run shown first agree with those of its last epoch, by the main criterion."""
    rows = rows_where(view.agreement, between="epoch")
    if rows.empty:
        return rows
    rows = rows_where(rows, run=main_run(rows, view))
    criterion, normalised = main_gradient(rows.assign(order=rows["of"], ranking="fixed"))
    rows = rows_where(rows, of=criterion, normalised=normalised)
    if rows["kind"].nunique() == 2:  # a single kind and all: the same heads
        rows = rows_where(rows, kind="all")
    return rows.assign(task=view.task, kind=rows["kind"].replace("all", ALL))


def build_epoch_curves(view: StudyTables) -> pandas.DataFrame:
    """Return the curves of every epoch of the run shown first whose full model scores enough for a percentage."""
    rows = rows_where(view.pruning_epochs, run=main_run(view.pruning_epochs, view), scope="all")
    criterion, normalised = main_gradient(rows)
    rows = rows_where(rows, order=criterion, normalised=normalised, metric=main_metric(rows))
    rows = with_shares(rows_where(rows, set=main_set(rows)))
    rows = rows.assign(task=view.task, done=100 * rows["epoch"] / rows["epoch"].max())
    return rows.loc[
        measurable(rows), ["task", "run", "epoch", "done", "heads_removed", "share", "metric", "value", "full", "kept"]
    ]


def select_near(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Return the steps of curves of every epoch near the paper's shares of heads removed (`nearest`)."""
    return pandas.concat(curves[(curves["share"] - share).abs() < NEAR].assign(nearest=share) for share in SHARES)


def list_paper_epochs(task: str, kind: TaskKind) -> pandas.DataFrame:
    """Return the paper's curves of every epoch as rows like ours; none of tasks that it did not prune so."""
    epochs = PUBLISHED["settling_epochs"]
    found = [
        {"epoch": epoch, "done": 100 * epoch / epochs[-1], "share": share, "kept": kept}
        for share, values in published("settling", kind).items()
        for epoch, kept in zip(epochs, values, strict=True)
    ]
    return pandas.DataFrame(found, columns=["epoch", "done", "share", "kept"]).assign(task=task, run="paper")


def tabulate_epochs(near: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per run and epoch, with the score of the full model and a column per share of heads removed."""
    made = []
    for place, own in near.groupby(["task", "run"], sort=False):
        task, run = map(str, place)
        wide = own.pivot_table(index="epoch", columns="nearest", values="kept")
        wide = wide.rename(columns=lambda share: f"{share} %").join(own.groupby("epoch")["full"].first())
        made.append(wide.reset_index().assign(task=task, run=run))
    return pandas.concat(made)


SPEARMAN = Look(HERE.colour, dash="dashed", marker="s")
NAMED = 2
"""So many heads with the largest losses have their names next to their marks."""

NAMES = {
    "gradient-example": "gradient, example",
    "gradient-token": "gradient, token",
    "ablation": "ablation",
    "confidence": "confidence",
    "relevance": "relevance",
    "gates": "gates",
}
"""Criteria in the order of the matrix, in short; others follow."""

WIDTH = 318.0

DRAWN = {20: Look(palette.INK, "", "o"), 40: Look(palette.INK, "dashed", "s"), 60: Look(palette.INK, "dotted", "^")}
"""The shares of heads removed (%) that have a line, and its look in the paper's colour."""

REPLACED = {
    "zero": HERE,
    "mean": Look(palette.KIND_COLOURS["A"], "dashed", "s"),
    "resample": Look(palette.KIND_COLOURS["D"], "dotted", "^"),
    "first": Look(palette.KIND_COLOURS["E"], "dashdot", "D"),
}
"""Looks of curves by what replaces the z of removed heads."""


@section_of("agreement", "Do rankings of heads agree?", "agreement", "pruning_epochs")
def section(study: StudyTables, views: Views) -> Parts | None:
    """Return the section about rankings of the same heads; the first figure that there is stands unfolded."""
    folds = [*_between_sets(study, views), *_between_criteria(study, views), *_between_epochs(study, views)]
    folds += [fold for fold in [_between_replacements(study, views)] if fold]
    if not folds:
        return None
    first, *others = folds
    rest = replace(first, figure=None)
    return Parts(first.figure, [*([] if rest.is_empty else [rest]), *others])


def _between_sets(study: StudyTables, views: Views) -> Iterator[Fold]:
    """Yield the correlation of ablation effects between sets, and without the heads of the largest losses."""
    rows = {task: own for task, view in views.items() if len(own := agreements(view))}
    if not rows:
        return
    both = pandas.concat(pair_effects(views[task], own) for task, own in rows.items())
    frame = pandas.concat(rows.values())
    figure = _scatter(study, both) if len(both) else None
    yield Fold("On other text", figure, (_tabulate_sets(frame, study),), words("agreement", "method"))
    yield Fold("Without the heads of the largest losses", _draw_dropped(study, frame))


def _between_criteria(study: StudyTables, views: Views) -> Iterator[Fold]:
    """Yield the correlations of criteria, by kind of attention and of other runs too."""
    first, more, rows = list[Panel](), list[Panel](), list[pandas.DataFrame]()
    for task, view in views.items():
        every = select_criteria(view)
        if every.empty:
            continue
        run = main_run(every, view)
        rows.append(rows_where(every, run=run))
        others = [other for other in view.runs if other != run and other in set(every["run"])]
        kinds = _list_kinds(rows[-1])
        for place, kind in enumerate(kinds):
            title = "" if kind == "all" else f"{kind} {palette.KIND_NAMES[kind]}"
            (more if place else first).append(_draw_matrix(rows[-1], kind, label(study, task, title)))
        for other in choose_folded_runs(others):
            more.append(_draw_matrix(rows_where(every, run=other), kinds[0], label(study, task, run_name(other))))
    if not rows:
        return
    frame = pandas.concat(rows)
    figure = Figure("criteria", tuple(first), *texts("agreement", "criteria"), frame=frame)
    yield Fold("By other criteria", figure, (_tabulate_criteria(frame, study),), words("agreement", "criteria_method"))
    if more:
        by_kind = Figure("criteria_more", tuple(more), words("agreement", "criteria_alt"))
        yield Fold("By other criteria: kinds of attention, and other runs", by_kind)


def _between_epochs(study: StudyTables, views: Views) -> Iterator[Fold]:
    """Yield the agreement of every epoch with the last one, and curves of models pruned at every epoch."""
    ranks = [own for view in views.values() if len(own := select_epochs(view))]
    if ranks:
        rows = pandas.concat(ranks, ignore_index=True)
        columns = ["task", "run", "epoch", "statistic", "k", "value ~", "chance"]
        headings = {"value": "agreement", "chance": "by chance"}
        table = Table("settling-ranks", rows_where(rows, kind=ALL), columns, headings)
        text = words("agreement", "ranks")
        yield Fold("In every epoch, against the last one", _draw_epochs(rows, study), (table,), text)
    found = [build_epoch_curves(view) for view in views.values() if view.has("pruning_epochs")]
    found = [rows for rows in found if rows["epoch"].nunique() > 1]
    if found:
        yield _fold_epoch_curves(pandas.concat(found, ignore_index=True), study)


def _scatter(study: StudyTables, frame: pandas.DataFrame) -> Figure:
    """Return the effects of all heads on both sets."""

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        across, up = (percent_label(study.info_of(task), own[name].iloc[0]) for name in ("set_a", "set_b"))
        axes = ("first", across), ("second", up.removeprefix("change "))
        return panels.scatter(own, f"agreement-{task}", *axes, named=parse_heads(own.sort_values("first").head(NAMED)))

    drawn, key = build_panels(study, frame, draw), kind_keys(set(frame["kind"]))
    return Figure("agreement", drawn, *texts("agreement"), key, frame)


def _draw_dropped(study: StudyTables, rows: pandas.DataFrame) -> Figure:
    """Return both correlations against the number of heads left out, and the paper's."""
    by_task = rows.groupby("task", sort=False)
    frame = pandas.concat(pair_correlations(own, study.kind_of(str(task))) for task, own in by_task)
    looks = {"pearson": HERE, "spearman": SPEARMAN, "paper": LOOKS["paper"]}
    axes = ("dropped", "heads left out"), ("value", "correlation")
    limits = min(0.0, frame["low"].min()), 1.02

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        return panels.lines(own, looks, f"agreement-dropped-{task}", *axes, hue="statistic", limits=limits)

    names = {"pearson": "Pearson", "spearman": "Spearman", "paper": "Pearson, paper"}
    key = panels.keys(looks, frame["statistic"], names=names)
    return Figure("agreement_dropped", build_panels(study, frame, draw), *texts("agreement", "dropped"), key, frame)


def _tabulate_sets(rows: pandas.DataFrame, study: StudyTables) -> Table:
    shown = rows[rows["kind"].eq("all") | rows["dropped"].eq(0)]
    shown = shown.rename(columns={"value": "agreement"}).drop(columns="first")
    paper = "paper" in shown
    shown = shown.fillna({"paper": MISSING}) if paper else shown
    columns = [*lead(study), "a", "b", "kind", "statistic", "dropped", "k"]
    headings = {"a": "set", "b": "and", "dropped": "left out", "chance": "by chance"}
    columns += ["agreement ~", "chance", *(["paper"] if paper else [])]
    return Table("agreement", shown, columns, headings, words("agreement", "note", paper=paper))


def _tabulate_criteria(frame: pandas.DataFrame, study: StudyTables) -> Table:
    named = frame.assign(**{side: frame[side].map(lambda name: NAMES.get(name, name)) for side in ("a", "b")})
    named = named.rename(columns={"value": "spearman"})
    columns = [*lead(study), "kind", "a", "b", "spearman ~", "ceiling", "heads"]
    headings = {"kind": "heads of", "a": "criterion", "b": "with", "spearman": "Spearman"}
    return Table("criteria", named, columns, headings)


def _list_kinds(rows: pandas.DataFrame) -> list[str]:
    """Return all heads, and each kind of attention where there are several."""
    present = in_order(rows["kind"], ("all", *KINDS))
    return present[:1] if len(present) == 2 and present[0] == "all" else present


def triangle(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the correlations as a matrix, each pair below the diagonal; criteria are numbered, rows named, too."""
    names = in_order([*rows["a"], *rows["b"]], NAMES)
    made = pandas.DataFrame(float("nan"), index=names, columns=names)
    for first, second, value in rows[["a", "b", "value"]].itertuples(index=False):
        upper, lower = sorted((first, second), key=names.index)
        made.loc[lower, upper] = value
    made.columns = pandas.Index([f"{place}" for place in range(1, len(names) + 1)])
    made.index = pandas.Index([f"{NAMES.get(name, name)} {place}" for place, name in enumerate(names, start=1)])
    return made.iloc[:, :-1]


def _draw_matrix(rows: pandas.DataFrame, scope: str, title: str) -> Panel:
    task, run = rows[["task", "run"]].iloc[0]
    colour = palette.KIND_COLOURS.get(scope, palette.INK)
    name = f"criteria-{run}-{scope}".replace(".", "-")
    drawing = panels.matrix(triangle(rows_where(rows, kind=scope)), name=name, colour=colour, width=WIDTH)
    return Panel(drawing, title, task=task)


def _draw_epochs(rows: pandas.DataFrame, study: StudyTables) -> Figure:
    rows = rows_where(rows, statistic="spearman")
    bare = rows.assign(low=rows["low"].where(rows["kind"] == ALL), high=rows["high"].where(rows["kind"] == ALL))
    looks = {kind: Look(colour, "", palette.KIND_MARKERS[kind]) for kind, colour in palette.KIND_COLOURS.items()}
    looks |= {ALL: Look(palette.INK, "", "D")}
    up = "value", "correlation with last epoch"
    limits = min(0.0, rows[["value", "low"]].min().min()) - 0.03, 1.03

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        return panels.lines(own, looks, f"settling-{task}", panels.EPOCH, up, hue="kind", limits=limits)

    names = {kind: f"{kind} {name}" for kind, name in palette.KIND_NAMES.items()}
    keys = panels.keys(looks, rows["kind"], names=names)
    said = texts("agreement", "epochs", criteria=listing(dict.fromkeys(map(criterion_name, rows["of"]))))
    return Figure("settling", build_panels(study, bare, draw), *said, keys, rows.drop(columns="signature"))


def _fold_epoch_curves(rows: pandas.DataFrame, study: StudyTables) -> Fold:
    paper = pandas.concat(list_paper_epochs(task, study.kind_of(task)) for task in rows["task"].unique())
    everything = pandas.concat([select_near(rows), paper.assign(nearest=paper["share"])], ignore_index=True)
    colour = arm_colour(arm_of(rows["run"].iloc[0]), study.arm_names)
    figure = _curve_figure(everything, colour, study)
    wide = tabulate_epochs(everything)
    shares = [f"{share} %" for share in SHARES if f"{share} %" in wide]
    table = Table("pruned-epochs", wide, ["task", "run", "epoch", "full", *shares], decimals=1)
    runs = listing(dict.fromkeys(map(run_name, rows["run"])))
    text = words("agreement", "pruned_method", runs=runs)
    return Fold("pruning at every epoch" + (", and the paper’s" if len(paper) else ""), figure, (table,), text)


def _curve_figure(rows: pandas.DataFrame, colour: Colour, study: StudyTables) -> Figure:
    looks, keys = dict[str, Look](), list[Key]()
    for share, look in DRAWN.items():
        ours = Look(colour, look.dash, look.marker)
        looks |= {f"paper {share}": Look(palette.INK, look.dash), f"study {share}": ours}
        keys.append(panels.key(ours, f"{share} % of heads removed"))
    source = rows["run"].where(rows["run"] == "paper", "study")
    rows = rows.assign(line=source + " " + rows["nearest"].astype(str))
    shown, across = rows[rows["line"].isin(looks)], ("done", "epochs of training (%)")
    limits = curves.limits(shown)

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        shown, axes = own.assign(run=""), (across, ("kept", study.info_of(task).kept))
        return panels.lines(shown, looks, f"epochs-{task}", *axes, hue="line", reference=100.0, limits=limits)

    paper = "paper" in set(shown["run"])
    keys += [panels.key(Look(palette.INK), "paper")] if paper else []
    said = texts("agreement", "pruned", paper=paper)
    return Figure("pruned_epochs", build_panels(study, shown, draw), *said, tuple(keys), rows)


def _between_replacements(study: StudyTables, views: Views) -> Fold | None:
    """Return the rank correlations of the replacements of a removed head, and curves by each; None with one alone."""
    found = {task: own for task, view in views.items() if len(own := average_replacements(view))}
    if not found:
        return None
    drawn = pandas.concat(build_replaced_curves(views[task]) for task in found)
    figure = _draw_replaced(study, drawn) if len(drawn) else None
    frame = pandas.concat(own.assign(task=task) for task, own in found.items())
    columns = [*lead(study), "first", "second", "spearman ~", "ceiling", "heads"]
    headings = {"first": "replacement", "second": "with", "spearman": "Spearman"}
    table = Table("replacements", frame, columns, headings, words("agreement", "replaced_note"))
    text = Markup(" ").join(
        [*(_finding(study, task, own) for task, own in found.items()), words("agreement", "replaced_method")]
    )
    return Fold("Other replacements than zero", figure, (table,), text)


def _finding(study: StudyTables, task: str, found: pandas.DataFrame) -> Markup:
    """Return which two replacements rank the heads of a task most differently, compared with noise."""
    one = found.iloc[int((found["spearman"] - found["ceiling"]).argmin())]
    values = {"value": format_fixed(one["spearman"]), "ceiling": format_fixed(one["ceiling"])}
    names = {name: one[name] for name in ("first", "second")}
    return words("agreement", "replaced_finding", where=label(study, task), **names, **values)


def _draw_replaced(study: StudyTables, frame: pandas.DataFrame) -> Figure:
    limits = curves.limits(frame)

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        axes = panels.REMOVED, ("kept", study.info_of(task).kept)
        return panels.lines(own, REPLACED, f"replaced-{task}", *axes, hue="replacement", reference=100.0, limits=limits)

    key = (*panels.keys(REPLACED, frame["replacement"]), panels.full_key())
    return Figure("replaced", build_panels(study, frame, draw), *texts("agreement", "replaced"), key, frame)
