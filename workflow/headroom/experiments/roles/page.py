"""What heads do: the best head of every syntactic relation, roles, confidence, relevance, and attention maps."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas
from markupsafe import Markup

from headroom.claims.entries import all_claims, threshold
from headroom.core.formatting import MISSING, number
from headroom.core.heads import Head
from headroom.experiments.attention_maps import page as attention_map
from headroom.experiments.attention_stats.claims import over_uniform, rare_heads, relevance_conserved
from headroom.experiments.roles.claims import (
    HEAD,
    ROLES,
    SHUFFLED,
    TRAINED,
    UNTRAINED,
    confidence,
    in_order,
    list_relations,
    main_roles,
    select_held,
)
from headroom.experiments.roles.names import letter_keys, letters, target_name, target_words
from headroom.figures import palette, panels
from headroom.figures.atlas import Mark, draw_atlases
from headroom.figures.names import choose_folded_runs, run_name
from headroom.figures.panels import Look, mark_sample
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Panel, Section, Table
from headroom.figures.views import PUBLISHED, build_panels, label, lead
from headroom.study.selection import examined_kind, last_epochs, parse_heads, rows_where
from headroom.study.tables import StudyTables, task_of

RELATIONS = PUBLISHED["relations"]
LANGUAGES = PUBLISHED["languages"]

NEAR = ("-3", "-2", "-1", "0", "+1", "+2", "+3")
"""Relative positions of the table of positions."""

BEST, CONTROL, PAPER = "best head", "controls", "paper"


def main_run(view: StudyTables) -> str:
    """Return the first run of a task whose heads were examined; "" without any."""
    examined = {run for name in ("attention_stats", "roles", "relevance") for run in view.frame(name)["run"]}
    return next((run for run in view.runs if run in examined), "")


def build_margins(view: StudyTables, run: str) -> pandas.DataFrame:
    """Return a row per relation and who tracks it (`hue`, `who`), with accuracies and margins in % of words."""
    given = {
        (BEST, "here"): list_relations(view.attention_stats, run),
        (CONTROL, UNTRAINED): list_relations(view.attention_stats, run, UNTRAINED),
        (CONTROL, SHUFFLED): list_relations(view.attention_stats, run, TRAINED, SHUFFLED),
    }
    found = [rows.assign(hue=hue, who=who) for (hue, who), rows in given.items() if len(rows)]
    found[1:] = [rows.drop(columns=["low", "high"]) for rows in found[1:]]
    if given[BEST, "here"].empty:
        return pandas.DataFrame()
    targets = set(given[BEST, "here"]["target"]) if "E" in view.kinds else set[str]()
    rows = pandas.concat([*found, _paper(targets)], ignore_index=True)
    shares = ["value", "baseline", "margin", "low", "high"]
    hollow = rows["who"].isin([SHUFFLED, "OpenSubtitles"])
    relations = rows["target"].map(target_name)
    return rows.assign(**{name: 100 * rows[name] for name in shares}, task=view.task, hollow=hollow, relation=relations)


def _paper(targets: set[str]) -> pandas.DataFrame:
    """Return the accuracies of the paper on these relations, of heads of encoders."""
    found = {(target, "WMT"): pair for target, (pair, _) in RELATIONS.items()}
    found |= {(target, "OpenSubtitles"): pair for target, (_, pair) in RELATIONS.items()}
    *languages, positions = LANGUAGES
    for language in languages[1:]:  # the first is the language pair of table 1
        pairs = zip(LANGUAGES[language], LANGUAGES[positions], strict=True)
        found |= {(target, language): pair for target, pair in zip(RELATIONS, pairs, strict=True)}
    rows = [
        {"hue": PAPER, "who": who, "target": target, "value": value / 100, "baseline": baseline / 100}
        for (target, who), (value, baseline) in found.items()
        if target in targets
    ]
    made = pandas.DataFrame(rows, columns=["hue", "who", "target", "value", "baseline"])
    return made.assign(margin=made["value"] - made["baseline"])


MARGINS = {UNTRAINED: "untrained (points)", SHUFFLED: "shuffled trees (points)"}
MARGINS |= {who: f"paper, {who} (points)" for who in ("WMT", "OpenSubtitles", *LANGUAGES)}
"""The columns with the margins of others than the best heads here."""


def tabulate_relations(best: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per task and relation from `build_margins`, with the margins of all others in columns."""
    own = best[best["who"] == "here"]
    others = best[best["who"] != "here"].pivot(index=["task", "target"], columns="who", values="margin")
    wide = own.merge(others.rename(columns=MARGINS).reset_index(), on=["task", "target"], how="left")
    names = {"name": "best head", "value": "accuracy (%)", "baseline": "position (%)", "count": "pairs"}
    wide = wide.rename(columns=names | {"low": "margin_low", "high": "margin_high"})
    return wide.drop(columns=["hollow", "hue", "who"])


def tabulate_distances(view: StudyTables, run: str) -> pandas.DataFrame:
    """Return the distribution of the positions of every relation's dependents, in %, a row per relation."""
    rows = rows_where(last_epochs(view.distances), run=run)
    rows = rows.assign(offset=rows["position"].map("{:+.0f}".format), value=100 * rows["value"])
    own = rows.pivot(index=["relation", "count"], columns="offset", values="value").reset_index()
    targets = own["relation"] + ":to-dependent"
    published = [float(RELATIONS[target][0][1]) if target in RELATIONS else math.nan for target in targets]
    own = own.assign(task=view.task, paper=published, order=targets.map(in_order), relation=targets.map(target_name))
    return own.sort_values("order").drop(columns="order")


def list_held(study: StudyTables) -> pandas.DataFrame:
    """Return every role of every run with its head (`name`) and the shares of `words` and of a `baseline`, in %."""
    rows = select_held(study.roles)
    places = [
        (study.tasks.index(task_of(run)), ROLES.index(role), in_order(target), run)
        for run, role, target in rows[["run", "role", "target"]].to_numpy()
    ]
    shares = {f"{name} (%)": 100 * rows[column] for name, column in (("words", "value"), ("baseline", "baseline"))}
    names, targets = list(map(str, parse_heads(rows))), rows["target"].map(target_name)
    rows = rows.assign(task=rows["run"].map(task_of), name=names, target=targets, **shares)
    return rows.iloc[sorted(range(len(rows)), key=places.__getitem__)]


def tabulate_heads(view: StudyTables, run: str) -> pandas.DataFrame:
    """Return a row per head of a run with what is known of its role.

    Returns:
        Columns task, kind, layer, head, name, role (what it points to), position (the relative position that it points
        to most), how often it does, confidence, relevance with its interval in even shares, and how often it points to
        one of the two rarest words, with chance.
    """
    pointing = rows_where(last_epochs(view.attention_stats), run=run, model=TRAINED, measure="offset")
    steady = pointing.sort_values("value", ascending=False, kind="stable").drop_duplicates(HEAD)
    rare = rare_heads(rows_where(view.attention_stats, run=run))
    relevance = over_uniform(rows_where(view.relevance, run=run))
    sure = confidence(view.attention_stats, run)
    given = {
        "position": (steady["target"].map(target_name), steady),
        "words there (%)": (100 * steady["value"], steady),
        "confidence": (sure["value"], sure),
        "relevance": (relevance["value"], relevance),
        "relevance_low": (relevance["low"], relevance),
        "relevance_high": (relevance["high"], relevance),
        "rare words (%)": (100 * rare["value"], rare),
        "by chance (%)": (100 * rare["baseline"], rare),
    }
    by_head = {name: dict(zip(parse_heads(rows), values, strict=True)) for name, (values, rows) in given.items()}
    targets = main_roles(view, run)
    every = sorted({*targets, *(head for found in by_head.values() for head in found)})
    rows = [
        {"task": view.task, "kind": head.kind, "layer": head.layer, "head": head.head, "name": str(head)}
        | {"role": ", ".join(map(target_name, targets.get(head, []))) or MISSING}
        | {name: found.get(head, MISSING if name == "position" else math.nan) for name, found in by_head.items()}
        for head in every
    ]
    return pandas.DataFrame(rows)


def tabulate_positions(view: StudyTables, run: str) -> pandas.DataFrame:
    """Return how often every head points to each near relative position, in % of the tokens that can."""
    rows = rows_where(last_epochs(view.attention_stats), run=run, model=TRAINED, measure="offset")
    rows = rows[rows["target"].isin(NEAR)]
    rows = rows.assign(task=view.task, name=list(map(str, parse_heads(rows))), value=100 * rows["value"])
    own = rows.pivot(index=["task", *HEAD, "name"], columns="target", values="value").reset_index()
    return own.sort_values("kind", ascending=False, kind="stable")  # the encoder first


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
