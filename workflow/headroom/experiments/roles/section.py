"""What heads do: the best head of every syntactic relation, roles, confidence, relevance, and attention maps."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas
from markupsafe import Markup

from headroom.claims.entries import all_claims, threshold
from headroom.core.formatting import number
from headroom.core.heads import Head
from headroom.experiments.attention_maps import section as attention_map
from headroom.experiments.attention_stats.claims import over_uniform, relevance_conserved
from headroom.experiments.roles.claims import SHUFFLED, UNTRAINED, confidence, in_order, main_roles, select_held
from headroom.experiments.roles.frames import (
    BEST,
    CONTROL,
    LANGUAGES,
    MARGINS,
    NEAR,
    PAPER,
    build_margins,
    list_held,
    main_run,
    tabulate_distances,
    tabulate_heads,
    tabulate_positions,
    tabulate_relations,
)
from headroom.experiments.roles.names import letter_keys, letters, target_name, target_words
from headroom.figures import palette, panels
from headroom.figures.atlas import Mark, draw_atlases
from headroom.figures.names import choose_folded_runs, run_name
from headroom.figures.panels import Look, mark_sample
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Panel, Section, Table
from headroom.figures.views import build_panels, label, lead
from headroom.study.selection import examined_kind, parse_heads, rows_where
from headroom.study.tables import StudyTables

TITLE = "What heads do"

LOOKS = {
    BEST: Look(palette.KIND_COLOURS["E"], marker="o"),
    CONTROL: Look(palette.CONTROL, marker="s"),
    PAPER: Look(palette.INK, marker="D"),
}


def section(study: StudyTables) -> Section:
    """Return the section about roles."""
    views = {task: (view, run) for task, view in study.views.items() if (run := main_run(view))}
    several = len(study.tasks) > 1
    maps = [page for view in study.views.values() for page in attention_map.pages(view, several=several)]
    if not views and not maps:
        return Section("roles", TITLE, missing=str(words("roles", "missing")))
    tables = (build_margins, tabulate_heads, tabulate_distances, tabulate_positions)
    best, known, distances, positions = (
        pandas.concat([table(view, run) for view, run in views.values()] or [pandas.DataFrame()]) for table in tables
    )
    by_confidence, by_relevance = _confidences(study), _relevances(study, views)
    figure, folded = (_relations(best, study), by_confidence) if len(best) else (by_confidence, None)
    folds = (
        Fold("Definition of roles", text=words("roles", "method", trees=len(best) > 0)),
        Fold("Best heads of relations in numbers", tables=_relation_table(best, study)),
        Fold("Where related words are", tables=_distance_table(distances, study)),
        Fold("Heads by role and confidence, all runs", folded, _held_table(study)),
        Fold("Heads by relevance", by_relevance),
        Fold("All heads in numbers", tables=_head_table(known, study)),
        Fold("Relative positions that heads point to", tables=_position_table(positions, study)),
        Fold("Attention maps of single examples", text=words("roles", "maps") if maps else "", pages=tuple(maps)),
    )
    shown = tuple(fold for fold in folds if not fold.is_empty)
    return Section("roles", TITLE, figure, shown, remarks=_remarks(study))


def _remarks(study: StudyTables) -> tuple[str, ...]:
    controls = UNTRAINED in set(study.attention_stats["model"]) or SHUFFLED in set(study.attention_stats["trees"])
    return () if controls or not study.has("roles") else (words("roles", "no_control"),)


def _relations(best: pandas.DataFrame, study: StudyTables) -> Figure:
    """Return the margin of the best head of every relation, with controls and the paper's, a panel per task."""
    drawn = best[~best["who"].isin(list(LANGUAGES))]
    rows = [target_name(target) for target in sorted(set(drawn["target"]), key=in_order)]
    ends = drawn[["margin", "low", "high"]]
    limits = (min(0.0, ends.min().min()) - 4, max(0.0, ends.max().max()) + 4)
    across, marks = ("margin", "margin over position (points)"), {"row": "relation", "hue": "hue", "hollow": "hollow"}

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        return panels.dots(own, LOOKS, f"relations-{task}", across, **marks, reference=0.0, rows=rows, limits=limits)

    names = {
        "here": ("best head, 95 % interval", LOOKS[BEST]),
        UNTRAINED: ("untrained model", LOOKS[CONTROL]),
        SHUFFLED: ("shuffled trees", replace(LOOKS[CONTROL], is_hollow=True)),
        "WMT": ("paper, WMT", LOOKS[PAPER]),
        "OpenSubtitles": ("paper, OpenSubtitles", replace(LOOKS[PAPER], is_hollow=True)),
    }
    key = [panels.key(look, name, line=False) for who, (name, look) in names.items() if who in set(drawn["who"])]
    frame = best.drop(columns=["hollow", "study"])
    return Figure("relations", build_panels(study, drawn, draw), *texts("roles"), tuple(key), frame)


def _relation_table(best: pandas.DataFrame, study: StudyTables) -> tuple[Table, ...]:
    if best.empty:
        return ()
    wide = tabulate_relations(best)
    others = [name for name in MARGINS.values() if name in wide]
    columns = [*lead(study), "relation", "best head", "accuracy (%)", "position (%)", "margin ~", *others, "pairs"]
    return (Table("relations", wide, columns, note=words("roles", "relation_table")),)


def _distance_table(wide: pandas.DataFrame, study: StudyTables) -> tuple[Table, ...]:
    if wide.empty:
        return ()
    headings = {offset: f"{target_name(offset)} (%)" for offset in NEAR}
    headings |= {"paper": "paper, most frequent (%)", "count": "pairs"}
    columns = [*lead(study), "relation", *(offset for offset in NEAR if offset in wide), "paper", "count"]
    return (Table("distances", wide, columns, headings, words("roles", "distance_table"), decimals=0),)


def _confidences(study: StudyTables) -> Figure | None:
    """Return the self-attention of every run, lettered with roles, the larger a mark, the more confident its head."""
    made = []
    for task, view in study.views.items():
        runs = [run for run in view.runs if run in set(view.attention_stats["run"])]
        for run in runs[:1] + choose_folded_runs(runs[1:]):
            rows = confidence(view.attention_stats, run)
            drawing = _atlases(dict(zip(parse_heads(rows), rows["value"], strict=True)), main_roles(view, run))
            title = label(study, task, run_name(run))
            made += [Panel(one, title, task=task if run == runs[0] else "") for one in drawing]
    if not made:
        return None
    key = (
        Key(mark_sample("square"), "mean largest weight"),
        *letter_keys(select_held(study.roles)["target"]),
    )
    said = texts("roles", "confidence", trees=study.attention_stats["measure"].eq("relation").any())
    return Figure("roles", tuple(made), *said, key, is_atlas=True)


def _relevances(study: StudyTables, views: Mapping[str, tuple[StudyTables, str]]) -> Figure | None:
    """Return the heads of every task by relevance, if it adds up; those that claim V1 counts have a frame."""
    (asked,) = all_claims()["V1"].preconditions
    most = asked.thresholds["most"]
    conserved = {
        task: (view, run) for task, (view, run) in views.items() if not relevance_conserved(view, run, most=most)
    }
    found = {task: over_uniform(rows_where(view.relevance, run=run)) for task, (view, run) in conserved.items()}
    found = {task: rows_where(rows, kind=examined_kind(rows["kind"])) for task, rows in found.items()}
    highest = max((rows["value"].max() for rows in found.values() if len(rows)), default=0.0)
    made = []
    for task, rows in found.items():
        values = dict(zip(parse_heads(rows), rows["value"], strict=True))
        drawing = _atlases(values, main_roles(*views[task]), highest, threshold("V1", "leads"))
        made += [Panel(one, label(study, task), task=task) for one in drawing]
    if not made:
        return None
    area = Key(mark_sample("square"), "relevance")
    key = (area, Key(mark_sample("frame"), f"more than {threshold('V1', 'leads'):g} even shares"))
    return Figure("relevance", tuple(made), *texts("roles", "relevance"), key, is_atlas=True)


def _atlases(
    values: Mapping[Head, float], targets: Mapping[Head, list[str]], highest: float = 1.0, frame: float = math.inf
) -> tuple[Markup, ...]:
    """Return the atlas of the kind of self-attention that is examined, lettered with roles."""
    marks, kind = {}, examined_kind(head.kind for head in values)
    for head, value in values.items():
        if head.kind == kind:
            own = targets.get(head, [])
            text = "; ".join([number(value, decimals=3), *map(target_words, own)])
            marks[head] = Mark(value / highest, text, framed=value > frame, letters=letters(own))
    return draw_atlases(marks)


def _held_table(study: StudyTables) -> tuple[Table, ...]:
    """Return every role of every run with its head; nothing without any."""
    rows = list_held(study)
    if rows.empty:
        return ()
    columns = [*lead(study), "role", "target", "run", "name", "words (%)", "baseline (%)"]
    return (Table("roles", rows, columns, {"target": "points to", "name": "head"}, words("roles", "role_table")),)


def _position_table(wide: pandas.DataFrame, study: StudyTables) -> tuple[Table, ...]:
    if wide.empty:
        return ()
    headings = {"name": "head"} | {offset: f"{target_name(offset)} (%)" for offset in NEAR}
    shown = [*lead(study), "name", *(offset for offset in NEAR if offset in wide and wide[offset].any())]
    return (Table("positions", wide, shown, headings, words("roles", "position_table"), decimals=0),)


def _head_table(known: pandas.DataFrame, study: StudyTables) -> tuple[Table, ...]:
    if known.empty:
        return ()
    columns = [*lead(study), "name", "role", "position", "words there (%)", "confidence", "relevance ~"]
    columns += ["rare words (%)", "by chance (%)"]
    return (Table("heads", known, columns, {"name": "head"}, words("roles", "head_table")),)
