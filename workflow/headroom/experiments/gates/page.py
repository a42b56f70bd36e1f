"""Learned gates: scores by heads kept, compared with other ways to choose heads, and which heads stay."""

import math
from collections.abc import Collection

import pandas

from headroom.core.formatting import listing, symbol
from headroom.experiments.gates import retention_section as retention
from headroom.experiments.gates import survivors
from headroom.experiments.gates.claims import (
    CONTINUED,
    FALLING,
    GRADIENT,
    HARD_CONCRETE,
    RANDOM,
    SCRATCH,
    hard,
    hard_and_soft,
    layout,
)
from headroom.experiments.gates.equal_heads import compare_at_equal_heads
from headroom.experiments.gates.retention_section import PAPER
from headroom.figures import palette, panels
from headroom.figures.names import METHOD_NAMES, SCOPES, heading, run_name
from headroom.figures.palette import Colour
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Section, Table
from headroom.figures.views import PUBLISHED, label, lead
from headroom.study.selection import (
    arm_rows,
    main_gradient,
    main_run,
    parse_heads,
    rows_where,
    select_judged,
    with_scale,
    with_shares,
)
from headroom.study.tables import StudyTables, arm_of

ENCODER_PRUNED = PUBLISHED["encoder_pruned"]

UNTRAINED, PAPER_SCRATCH = "best by gradient, not trained further", "paper, WMT, from scratch"


def find_source(view: StudyTables) -> pandas.DataFrame | None:
    """Return the rows that show which run's gates there are; None without any."""
    return next((frame for name in ("pruned_models", "gates") if len(frame := view.frame(name))), None)


def shown_run(view: StudyTables) -> str:
    """Return the run of a task whose gates are shown; "" without any."""
    source = find_source(view)
    return "" if source is None else main_run(source, view)


def build_models(view: StudyTables) -> pandas.DataFrame:
    """Return models of the shown run's arm, the paper's, and the gradient's curve, with shares and scores in %."""
    rows = score_pruned_models(hard(arm_rows(view.pruned_models, arm_of(shown_run(view)))))
    learned = rows["method"] == HARD_CONCRETE
    rows = rows.assign(low=rows["low"].where(learned), high=rows["high"].where(learned))
    scopes, paper = set(rows["scope"]), paper_models()
    found = [rows, build_share_curves(view, set(rows["run"]), scopes).assign(method=UNTRAINED)]
    found += [paper[paper["scope"].isin(scopes)]] if view.kind in PUBLISHED["pruned_by_gates"] else []
    columns = ["task", "scope", "run", "method", "setting", "draw", "share", "score", "low", "high"]
    return pandas.concat([one.reindex(columns=columns) for one in found if len(one)]).assign(task=view.task)


def build_share_curves(view: StudyTables, runs: Collection[str], scopes: Collection[str]) -> pandas.DataFrame:
    """Return what runs keep of the score (`score`, %) by the share of heads kept (%), by the main order, by scope."""
    rows = select_judged(view.pruning[view.pruning["run"].isin(runs) & view.pruning["scope"].isin(scopes)])
    if rows.empty:
        return rows
    order, normalised = main_gradient(rows)
    rows = with_shares(rows_where(rows, order=order, normalised=normalised, ranking="fixed"))
    return rows[["scope", "run"]].assign(share=100 - rows["share"], score=rows["kept"])


def score_pruned_models(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of `pruned_models` with the `share` of heads kept and the `score` with its interval, in %."""
    rows = with_scale(rows)
    rows = rows.assign(share=100 * rows["kept"] / rows["heads"], scale=rows["scale"].where(rows["scale"] > 0))
    ends = {end: 100 + 100 * rows[end] / rows["scale"] for end in ("low", "high")}
    return rows.assign(score=100 * (rows["value"] - rows["chance"]) / rows["scale"], **ends)


def paper_models() -> pandas.DataFrame:
    """Return the models of the paper's figure 7 and table 2, in % of heads and of the full model's BLEU."""
    rows = []
    for data in ENCODER_PRUNED:
        full = ENCODER_PRUNED[data][48]
        rows += [("E", f"paper, {data}", kept / 48, bleu / full) for kept, bleu in ENCODER_PRUNED[data].items()]
        for heads, pruned, scratch in PUBLISHED["layouts"][data]:
            rows.append(("all", f"paper, {data}", sum(heads) / 144, pruned / full))
            rows.append(("all", f"paper, {data}, from scratch", sum(heads) / 144, (scratch or math.nan) / full))
    frame = pandas.DataFrame(rows, columns=["scope", "method", "share", "score"]).dropna()
    return frame.assign(run="paper", share=100 * frame["share"], score=100 * frame["score"])


def tabulate_models(view: StudyTables) -> pandas.DataFrame:
    """Return the models of one task in words, with what hard gates score less than soft ones."""
    rows, keys = hard(view.pruned_models), ["run", "scope", "setting"]
    apart = hard_and_soft(view.pruned_models).set_index(keys)["apart"]
    less = rows.join(apart, on=keys)["apart"].where(rows["method"] == HARD_CONCRETE)
    layouts = [_layout(view, row) for _, row in rows.iterrows()]
    methods = rows["method"].map(lambda name: METHOD_NAMES.get(name, name))
    return rows.assign(
        task=view.task, method=methods, scope=rows["scope"].map(SCOPES), layout=layouts, hard_less_soft=less
    )


def _layout(view: StudyTables, row: pandas.Series) -> str:
    """Return how many heads a model keeps: of its scope, and by kind where all kinds were gated."""
    gates = rows_where(view.gates, run=row["run"], scope=row["scope"])
    by_kind = layout(row, parse_heads(gates.drop_duplicates(["kind", "layer", "head"])))
    parts = [f"{kept} {kind}" for kind, (kept, _) in by_kind.items()] if len(by_kind) > 1 else []
    return f"{row['kept']:.0f} of {row['heads']:.0f}" + (f" ({' + '.join(parts)})" if parts else "")


def warnings(tables: StudyTables) -> tuple[str, ...]:
    """Return what makes the learned gates of a task doubtful: gates that did not converge, models that had not."""
    if tables.pruned_models.empty:
        return ()
    rows = hard(tables.pruned_models)
    learned, falling = rows_where(rows, method=HARD_CONCRETE), rows_where(rows, start=FALLING)
    doubtful = learned[learned["undecided"] > 0].sort_values("undecided", ascending=False, kind="stable")
    found = []
    if len(doubtful):
        worst = doubtful.iloc[0]
        case = f"{symbol('λ', worst['setting'])}, {SCOPES[worst['scope']]}, {run_name(worst['run'])}"
        gates = {"undecided": f"{worst['undecided']:.0f}", "heads": f"{worst['heads']:.0f}", "case": case}
        found.append(words("gates", "undecided", models=len(doubtful), learned=len(learned), **gates))
    if len(falling):
        found.append(words("gates", "falling", runs=listing(dict.fromkeys(map(run_name, falling["run"])))))
    return tuple(text.unescape() for text in found)


TITLE = "Learned gates"
KEPT = "share", "heads kept (%)"


def section(study: StudyTables) -> Section:
    """Return the section about learned gates."""
    views = [view for view in study.views.values() if find_source(view) is not None]
    if not views:
        return Section("gates", TITLE, missing=str(words("gates", "missing")))
    found = [view for view in views if not hard(view.pruned_models).empty]
    figure = _scores(found, study) if found else None
    folds = [Fold("Method and controls", text=words("gates", "method"))]
    if found:
        folds += _equal_heads(found, study)
        folds.append(Fold("All models with fewer heads in numbers", tables=(_table(found, study),)))
    runs = [(view, shown_run(view)) for view in views]
    folds += [*survivors.folds(runs, study), *retention.folds(runs, study)]
    remarks = [label(study, view.task, text) for view in views for text in warnings(view)]
    return Section("gates", TITLE, figure, tuple(folds), tuple(remarks))


def _scores(views: list[StudyTables], study: StudyTables) -> Figure:
    """Return the score by heads kept, a panel per task and scope, with controls and the paper."""
    frame = pandas.concat([build_models(view) for view in views], ignore_index=True)
    points = frame.assign(point=frame["setting"].fillna(frame["share"]))  # trainings of a λ keep different numbers
    trained = frame[frame["method"] != UNTRAINED]
    ends = trained[~trained["method"].isin([GRADIENT, RANDOM])][["score", "low", "high"]]
    limits = max(0.0, ends.min().min() - 3), max(103.0, ends.max().max() + 3)
    made = []
    for view in views:
        looks = choose_looks(palette.arm_colour(arm_of(shown_run(view)), view.arm_names))
        for scope in [scope for scope in SCOPES if scope in set(rows_where(trained, task=view.task)["scope"])]:
            rows = rows_where(points, task=view.task, scope=scope)
            name, axes = f"gates-{view.task}-{scope}", (KEPT, ("score", view.info.kept))
            drawing = panels.lines(
                rows, looks, name, *axes, hue="method", averaged="point", reference=100.0, limits=limits, height=262
            )
            several = len(study.tasks) > 1
            title = f"{heading(view.task)}, {SCOPES[scope]}" if several else SCOPES[scope].capitalize()
            made.append(Panel(drawing, title, task=view.task))
    key = panels.keys(looks, frame["method"], names=METHOD_NAMES)[::-1]
    trained_model = panels.key(Look(palette.INK, "dashed"), "trained model")
    return Figure("gates", tuple(made), *texts("gates"), (*key, trained_model), frame)


def choose_looks(colour: Colour) -> dict[str, Look]:
    """Return how each way to choose heads is drawn, from back to front, in the colour of an arm."""
    return {
        UNTRAINED: Look(palette.CONTROL),
        RANDOM: Look(palette.CONTROL, "dotted", "x"),
        GRADIENT: Look(palette.CONTROL, "dashed", "^"),
        CONTINUED: Look(palette.CONTROL, "", "s"),
        SCRATCH: Look(colour, "dotted", "v", is_hollow=True),
        PAPER_SCRATCH: Look(palette.INK, "dashed", "D", is_hollow=True),
        PAPER: Look(palette.INK, "", "D"),
        HARD_CONCRETE: Look(colour, "", "o"),
    }


def _equal_heads(views: list[StudyTables], study: StudyTables) -> list[Fold]:
    frames = [compare_at_equal_heads(view).assign(task=view.task) for view in views]
    frame = pandas.concat(frames, ignore_index=True)
    if frame.empty:
        return []
    ways = frame["method"].map(lambda name: METHOD_NAMES.get(name, name))
    named = {"kept_heads": "heads kept (%)", "value": "score", "low": "score_low", "high": "score_high"}
    named |= {f"delta{end}": f"less{end}" for end in ("", "_low", "_high")}
    joint = frame["comparisons"] > 1
    scopes = frame["scope"].map(SCOPES).where(~joint, frame["comparisons"].map("all {:.0f} comparisons".format))
    about = words("gates", "equal_heads", comparisons=int(frame.loc[~joint, "delta"].count()), joint=bool(joint.any()))
    frame = frame.assign(scope=scopes, method=ways).drop(columns=["level", "comparisons"]).rename(columns=named)
    columns = [*lead(study), "scope", "heads kept (%)", "method", "trainings", "score ~", "less ~"]
    headings = {"method": "heads chosen by", "score": "of the score (%)", "less": "less learned gates (points)"}
    table = Table("equal-heads", frame, columns, headings, about)
    return [Fold("Ways to choose as many heads", tables=(table,))]


def _table(views: list[StudyTables], study: StudyTables) -> Table:
    frame = pandas.concat([tabulate_models(view) for view in views], ignore_index=True)
    order = {run: place for place, run in enumerate(run for view in views for run in view.runs)}
    frame = frame.sort_values("run", key=lambda runs: runs.map(order), kind="stable")
    columns = [*lead(study), "run", "scope", "method", "setting", "layout", "metric", "value", "delta ~", "p"]
    columns += ["undecided", "hard_less_soft", "start"]
    headings = {"method": "heads chosen by", "setting": "λ or K", "layout": "heads kept"}
    headings |= {"undecided": "undecided gates"}
    return Table("pruned", frame, columns, headings, words("gates", "table"))
