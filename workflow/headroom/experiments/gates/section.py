"""Learned gates: scores by heads kept, compared with other ways to choose heads, and which heads stay."""

import pandas

from headroom.experiments.gates import retention_section as retention
from headroom.experiments.gates import survivors
from headroom.experiments.gates.claims import (
    CONTINUED,
    EXACT,
    GRADIENT,
    HARD_CONCRETE,
    RANDOM,
    SCRATCH,
    hard,
)
from headroom.experiments.gates.equal_heads import compare_at_equal_heads
from headroom.experiments.gates.frames import (
    PAPER,
    PAPER_SCRATCH,
    UNTRAINED,
    build_models,
    find_source,
    shown_run,
    tabulate_models,
    warnings,
)
from headroom.figures import palette, panels
from headroom.figures.names import METHOD_NAMES, SCOPES, heading
from headroom.figures.palette import Colour
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Section, Table
from headroom.figures.views import label, lead
from headroom.study.selection import rows_where
from headroom.study.tables import StudyTables, arm_of

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
        EXACT[1]: Look(colour, "dashdot", "^"),
        EXACT[0]: Look(colour, "dashed", "s"),
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
