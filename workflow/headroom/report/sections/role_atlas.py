"""The head atlas lettered with roles, coloured by one criterion after another."""

from collections.abc import Mapping
from dataclasses import replace

import pandas

from headroom.claims.gating import encoder_scope, survival
from headroom.claims.metrics import metric_name
from headroom.claims.relevance import over_uniform
from headroom.claims.roles import confidence, controls, held, main_roles, role_of
from headroom.claims.selection import heads_of, last_epochs, main_criterion, main_metric, main_set, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import fixed, listing, number, percent, plural
from headroom.core.heads import Head
from headroom.report.atlas import Mark, draw_atlases
from headroom.report.exhibits import Column, Exhibit, Key, Row, Table, table_of
from headroom.report.keys import mark_sample
from headroom.report.names import folded_runs, order_name, run_name
from headroom.report.role_names import legend, letters, target_name, target_words
from headroom.report.sections.ablation import effect_marks


def exhibit(tables: StudyTables, run: str) -> Exhibit:
    """Return the lettered atlases of one run, its roles as a table, and the letters of the other runs folded."""
    roles = held(rows_where(tables.roles, run=run))
    finding = _finding(tables, run)
    others = [other for other in tables.runs if other != run and other in set(tables.attention_stats["run"])]
    return Exhibit(
        name="roles",
        is_atlas=True,
        rows=coloured(tables, run),
        key=(
            Key(mark_sample("square"), "the larger, the more"),
            *((Key(mark_sample("ring"), "score rises without the head"),) if tables.has("ablation") else ()),
        ),
        alt=finding,
        shows=finding,
        how=_how(set(roles["target"])),
        folded=tuple(
            (f"Encoder heads of {run_name(other)}", encoder_of(tables, other)) for other in folded_runs(others)
        ),
        tables=(_table(roles, tables, run),) if len(roles) else (),
    )


def _how(targets: set[str]) -> str:
    letters_mean = f" Letters: {legend(sorted(targets))}." if targets else ""
    if any(":" in target for target in targets):
        letters_mean += " Small letters point from the governor to the dependent, capitals back."
    return (
        "One cell per head: layers downwards, heads across. The area of a mark says how much of the row’s criterion the"
        f" head has; the largest fills its cell.{letters_mean}"
    )


def coloured(tables: StudyTables, run: str) -> tuple[Row, ...]:
    """Return a row of lettered atlases for every criterion that this run has."""
    targets = main_roles(tables, run)
    made = []
    for label, marks in criteria_marks(tables, run).items():
        made.append(Row(label, draw_atlases({head: lettered(mark, targets, head) for head, mark in marks.items()})))
    return tuple(made)


def encoder_of(tables: StudyTables, run: str) -> tuple[Row, ...]:
    """Return the first of a run's lettered atlases, of the encoder alone, which roles are about."""
    return tuple(replace(row, panels=row.panels[:1]) for row in coloured(tables, run)[:1])


def lettered(mark: Mark, targets: Mapping[Head, list[str]], head: Head) -> Mark:
    """Return a mark with the letters of its head's roles, and their names in its text."""
    own = targets.get(head, [])
    if not own:
        return mark
    return replace(mark, letters=letters(own), text="; ".join([mark.text, *map(target_words, own)]))


def criteria_marks(tables: StudyTables, run: str) -> dict[str, dict[Head, Mark]]:
    """Return the marks of all heads by each criterion, by its name, in the order that they are shown in."""
    relevance = over_uniform(rows_where(tables.relevance, run=run))
    found = {
        "confidence (mean largest weight)": _areas(confidence(tables.attention_stats, run), "value"),
        "relevance (even share = 1)": _areas(relevance, "value"),
        "gradient importance": _gradient(tables, run),
        **_ablation(tables, run),
        **_gates(tables, run),
    }
    return {name: marks for name, marks in found.items() if marks}


def _areas(rows: pandas.DataFrame, column: str) -> dict[Head, Mark]:
    largest = float(rows[column].max()) if len(rows) else 0.0
    limit = largest if largest > 0 else 1.0
    return {head: Mark(v / limit, number(v, decimals=3)) for head, v in zip(heads_of(rows), rows[column], strict=True)}


def _gradient(tables: StudyTables, run: str) -> dict[Head, Mark]:
    rows = rows_where(last_epochs(tables.scores), run=run)
    present = list(dict.fromkeys(rows["criterion"]))
    if not present:
        return {}
    criterion = main_criterion(rows) if main_criterion(rows) in present else present[0]
    rows = rows_where(rows, criterion=criterion)
    return _areas(rows_where(rows, normalised="raw" if "raw" in set(rows["normalised"]) else "layer"), "value")


def _ablation(tables: StudyTables, run: str) -> dict[str, dict[Head, Mark]]:
    rows = rows_where(last_epochs(tables.ablation), run=run)
    if rows.empty:
        return {}
    metric = main_metric(rows)
    rows = rows_where(rows, metric=metric, set=main_set(rows))
    name = f"{order_name('ablation')} ({metric_name(metric)} on {rows['set'].iloc[0]})"
    marks = effect_marks(rows, float(rows["delta"].abs().max()) or 1.0)
    return {name: {head: replace(mark, framed=False) for head, mark in marks.items()}}


def _gates(tables: StudyTables, run: str) -> dict[str, dict[Head, Mark]]:
    """Return the share of settings at which each head stays, of the sweep over all kinds or, without it, the encoder's.

    The name says which.
    """
    rows = rows_where(last_epochs(tables.gates), run=run)
    if rows.empty:
        return {}
    scope = "all" if "all" in set(rows["scope"]) else encoder_scope(rows)
    stays = survival(rows, scope).rename("value").reset_index()
    return {"gate survival (share of settings at which the head stays)": _areas(stays, "value")}


def _finding(tables: StudyTables, run: str) -> str:
    targets = main_roles(tables, run)
    heads = set(heads_of(confidence(tables.attention_stats, run))) | set(targets)
    encoder = [head for head in heads if head.kind == "E"]
    if not tables.given("roles"):
        return f"Where {plural(len(encoder), 'encoder head')} point; roles were not labelled."
    kinds = [role_of(head, targets) for head in encoder]
    names = {"positional": "positional", "syntactic": "syntactic", "rare": "for rare words", "several": "with several"}
    parts = listing(f"{kinds.count(kind)} {name}" for kind, name in names.items() if kinds.count(kind))
    holding = len(encoder) - kinds.count("unknown")
    parts = f": {parts}" if parts else ""
    text = f"{holding or 'None'} of {plural(len(encoder), 'encoder head')} {_verb(holding)} a role{parts}"
    return f"{text}. {_controls(tables, run)}"


def _verb(amount: int) -> str:
    return "holds" if amount < 2 else "hold"


def _controls(tables: StudyTables, run: str) -> str:
    """Say how many roles the controls hold."""
    roles, pointing = rows_where(tables.roles, run=run), rows_where(tables.attention_stats, run=run)
    found = controls(roles)
    said = []
    if "untrained" in set(pointing["model"]) | set(roles["model"]):
        said.append(f"the untrained model {_amount(found['untrained'])}")
    if "shuffled" in set(pointing["trees"]) | set(roles["trees"]):
        said.append(f"with shuffled trees the trained one {_amount(found['shuffled'])}")
    if not said:
        return "There is no control: neither an untrained model nor shuffled trees."
    text = listing(said)
    return f"{text[:1].upper()}{text[1:]}."


def _amount(roles: int) -> str:
    return f"holds {plural(roles, 'role')}" if roles else "holds none"


def _table(roles: pandas.DataFrame, tables: StudyTables, run: str) -> Table:
    sure = dict(
        zip(heads_of(confidence(tables.attention_stats, run)), confidence(tables.attention_stats, run)["value"])
    )
    heads = heads_of(roles)
    frame = roles.assign(name=[str(head) for head in heads], sure=[sure.get(head, float("nan")) for head in heads])
    frame["margin"] = frame["value"] - frame["baseline"]
    columns = [
        Column("name", "head", numeric=False),
        Column("role", "role", numeric=False),
        Column("target", "points to", target_name, numeric=False),
        Column("value", "share of words", lambda value: percent(value, 1)),
        Column("baseline", "baseline", lambda value: percent(value, 1)),
        Column("margin", "margin (points)", lambda value: fixed(100 * value, 1, signed=True)),
        Column("sure", "confidence", fixed),
    ]
    note = "Baseline: the relation’s most frequent relative position; of rare words, chance."
    return table_of(frame, columns, caption="roles and the heads that hold them", filename="roles.csv", note=note)
