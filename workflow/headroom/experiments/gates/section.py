"""Learned gates: scores by heads kept, compared with other ways to choose heads, and which heads stay."""

import math

import pandas

from headroom.core.formatting import listing, symbol
from headroom.experiments.gates import retention_section as retention
from headroom.experiments.gates import survivors
from headroom.experiments.gates.claims import (
    CONTINUED,
    EXACT,
    FALLING,
    GRADIENT,
    HARD_CONCRETE,
    RANDOM,
    SCRATCH,
    hard,
    hard_and_soft,
    layout,
)
from headroom.figures import palette, panels
from headroom.figures.names import METHOD_NAMES, SCOPES, heading, run_name
from headroom.figures.palette import Colour
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Section, Table
from headroom.figures.views import PUBLISHED, label, lead
from headroom.study.frames import build_share_curves, score_pruned_models
from headroom.study.selection import (
    arm_rows,
    main_run,
    parse_heads,
    rows_where,
)
from headroom.study.tables import StudyTables, arm_of

ENCODER_PRUNED = PUBLISHED["encoder_pruned"]
TITLE = "Learned gates"
KEPT = "share", "heads kept (%)"

UNTRAINED, PAPER, PAPER_SCRATCH = "best by gradient, not trained further", "paper, WMT", "paper, WMT, from scratch"


def section(study: StudyTables) -> Section:
    """Return the section about learned gates."""
    views = [view for view in study.views.values() if _source(view) is not None]
    if not views:
        return Section("gates", TITLE, missing=str(words("gates", "missing")))
    found = [view for view in views if not hard(view.pruned_models).empty]
    figure = _scores(found, study) if found else None
    folds = [Fold("Method and controls", text=words("gates", "method"))]
    if found:
        folds.append(Fold("All models with fewer heads in numbers", tables=(_table(found, study),)))
    runs = [(view, shown_run(view)) for view in views]
    folds += [*survivors.folds(runs, study), *retention.folds(runs, study)]
    remarks = [label(study, view.task, text) for view in views for text in warnings(view)]
    return Section("gates", TITLE, figure, tuple(folds), tuple(remarks))


def _source(view: StudyTables) -> pandas.DataFrame | None:
    return next((frame for name in ("pruned_models", "gates") if len(frame := view.frame(name))), None)


def shown_run(view: StudyTables) -> str:
    """Return the run of a task whose gates are shown; "" without any."""
    source = _source(view)
    return "" if source is None else main_run(source, view)


def _scores(views: list[StudyTables], study: StudyTables) -> Figure:
    """Return the score by heads kept, a panel per task and scope, with controls and the paper."""
    frame = pandas.concat([_models(view) for view in views], ignore_index=True)
    trained = frame[frame["method"] != UNTRAINED]
    ends = trained[~trained["method"].isin([GRADIENT, RANDOM])][["score", "low", "high"]]
    limits = max(0.0, ends.min().min() - 3), max(103.0, ends.max().max() + 3)
    made = []
    for view in views:
        looks = choose_looks(palette.arm_colour(arm_of(shown_run(view)), view.arm_names))
        for scope in [scope for scope in SCOPES if scope in set(rows_where(trained, task=view.task)["scope"])]:
            rows = rows_where(frame, task=view.task, scope=scope)
            name, axes = f"gates-{view.task}-{scope}", (KEPT, ("score", view.info.kept))
            drawing = panels.lines(rows, looks, name, *axes, hue="method", reference=100.0, limits=limits, height=262)
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
        EXACT[1]: Look(colour, "dashdot", "^"),
        EXACT[0]: Look(colour, "dashed", "s"),
        HARD_CONCRETE: Look(colour, "", "o"),
    }


def _models(view: StudyTables) -> pandas.DataFrame:
    """Return models of the shown run's arm, the paper's, and the gradient's curve, with shares and scores in %."""
    rows = score_pruned_models(hard(arm_rows(view.pruned_models, arm_of(shown_run(view)))))
    learned = rows["method"].isin([HARD_CONCRETE, *EXACT])
    rows = rows.assign(low=rows["low"].where(learned), high=rows["high"].where(learned))
    scopes, paper = set(rows["scope"]), _paper()
    found = [rows, build_share_curves(view, set(rows["run"]), scopes).assign(method=UNTRAINED)]
    found += [paper[paper["scope"].isin(scopes)]] if view.kind in PUBLISHED["pruned_by_gates"] else []
    columns = ["task", "scope", "run", "method", "setting", "draw", "share", "score", "low", "high"]
    return pandas.concat([one.reindex(columns=columns) for one in found if len(one)]).assign(task=view.task)


def _paper() -> pandas.DataFrame:
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


def _table(views: list[StudyTables], study: StudyTables) -> Table:
    frame = pandas.concat([_numbers(view) for view in views], ignore_index=True)
    order = {run: place for place, run in enumerate(run for view in views for run in view.runs)}
    frame = frame.sort_values("run", key=lambda runs: runs.map(order), kind="stable")
    columns = [*lead(study), "run", "scope", "method", "setting", "layout", "metric", "value", "delta ~", "p"]
    columns += ["undecided", "hard_less_soft", "start"]
    headings = {"method": "heads chosen by", "setting": "λ or K", "layout": "heads kept"}
    headings |= {"undecided": "undecided gates"}
    return Table("pruned", frame, columns, headings, words("gates", "table"))


def _numbers(view: StudyTables) -> pandas.DataFrame:
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
