"""What is known of the roles of heads, as rows: of relations, of heads, of positions, with the papers' values."""

import math

import pandas

from headroom.core.formatting import MISSING
from headroom.experiments.attention_stats.claims import over_uniform, rare_heads
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
from headroom.experiments.roles.names import target_name
from headroom.figures.views import PUBLISHED
from headroom.study.selection import last_epochs, parse_heads, rows_where
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
    """Return how often every head points to each near relative position, in % of the pieces that can."""
    rows = rows_where(last_epochs(view.attention_stats), run=run, model=TRAINED, measure="offset")
    rows = rows[rows["target"].isin(NEAR)]
    rows = rows.assign(task=view.task, name=list(map(str, parse_heads(rows))), value=100 * rows["value"])
    own = rows.pivot(index=["task", *HEAD, "name"], columns="target", values="value").reset_index()
    return own.sort_values("kind", ascending=False, kind="stable")  # the encoder first
