"""Rows about what heads do: roles held, the best head for a relation, controls."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import pandas

from headroom.claims.evidence import by_run
from headroom.claims.verdict import Number, Reading, exactly
from headroom.core.heads import Head
from headroom.study.selection import examined_kind, last_epochs, parse_heads, rows_where
from headroom.study.tables import StudyTables

ROLES = ("positional", "syntactic", "rare")

PAPER_RELATIONS = tuple(
    f"{relation}:{direction}"
    for relation in ("nsubj", "obj", "amod", "advmod")
    for direction in ("to-dependent", "to-governor")
)
"""The relations of the paper's table 1, in its order."""


TRAINED, UNTRAINED, SHUFFLED = "trained", "untrained", "shuffled"

HEAD = ["kind", "layer", "head"]


def select_held(roles: pandas.DataFrame, model: str = TRAINED) -> pandas.DataFrame:
    """Return the last epoch's roles of one model, on real trees."""
    rows = rows_where(last_epochs(roles), model=model)
    return rows[rows["trees"] != SHUFFLED]


def of_heads(rows: pandas.DataFrame) -> dict[Head, list[str]]:
    """Return the targets that each head points to, each once."""
    found: defaultdict[Head, list[str]] = defaultdict(list)
    for head, target in zip(parse_heads(rows), rows["target"], strict=True):
        if target not in found[head]:
            found[head].append(target)
    return dict(found)


def find_role(head: Head, targets: dict[Head, list[str]]) -> str:
    """Return what a head is counted as: a role, `several` or `unknown`."""
    roles = {kind_of_target(target) for target in targets.get(head, ())}
    return roles.pop() if len(roles) == 1 else "several" if roles else "unknown"


def kind_of_target(target: str) -> str:
    """Return the role that a target belongs to."""
    return "positional" if is_position(target) else "syntactic" if ":" in target else "rare"


def functions(rows: pandas.DataFrame) -> set[str]:
    """Return the functions that are held by some head: `-1`, `nsubj:to-dependent`, `rare`, ..."""
    return {"rare" if kind_of_target(target) == "rare" else target for target in rows["target"]}


def best_heads(pointing: pandas.DataFrame) -> pandas.DataFrame:
    """Return, per relation and direction, the row that judges the head chosen on the other half.

    Given are rows of one run, one model and one kind of trees. Two columns are added: `margin`, value less baseline, of
    which `low` and `high` are, and `name`, the head.
    """
    rows = rows_where(last_epochs(pointing), measure="relation")
    chosen, judged = rows_where(rows, half="choose"), rows_where(rows, half="score")
    ordered = chosen.sort_values("value", ascending=False, kind="stable")
    first = ordered.drop_duplicates("target")[[*HEAD, "target"]]
    found = first.merge(judged, on=[*HEAD, "target"])
    found = found.assign(margin=found["value"] - found["baseline"], name=[str(head) for head in parse_heads(found)])
    order = sorted(range(len(found)), key=lambda place: in_order(found["target"].iloc[place]))
    return found.iloc[order].reset_index(drop=True)


def list_relations(pointing: pandas.DataFrame, run: str, model: str = TRAINED, trees: str = "gold") -> pandas.DataFrame:
    """Return the best heads of one run's model."""
    return best_heads(rows_where(pointing, run=run, model=model, trees=trees))


def confidence(pointing: pandas.DataFrame, run: str) -> pandas.DataFrame:
    """Return the mean largest weight of every head of a trained model, over all sentences."""
    rows = rows_where(last_epochs(pointing), run=run, model=TRAINED, measure="confidence")
    return rows_where(rows, half="all")


def main_roles(tables: StudyTables, run: str) -> dict[Head, list[str]]:
    """Return the targets of every head of a run's trained model that holds a role."""
    return of_heads(select_held(rows_where(tables.roles, run=run)))


def count_positional(tables: StudyTables) -> Iterator[Reading]:
    """Yield how many heads of the first run hold a positional role, and of how many heads of self-attention."""
    for rows in islice(by_run(tables.attention_stats, tables), 1):
        run, kind = rows["run"].iloc[0], examined_kind(rows["kind"])
        examined = rows_where(confidence(rows, run), kind=kind)[HEAD]
        held = rows_where(select_held(rows_where(tables.roles, run=run)), kind=kind, role="positional")[HEAD]
        counts = {"positional": len(held.drop_duplicates()), "examined": len(examined)}
        yield Reading(tuple(Number(name, exactly(float(amount)), "count") for name, amount in counts.items()))


def is_position(target: str) -> bool:
    """Return whether a target is a relative position."""
    return target.lstrip("+-").isdecimal()


def in_order(target: str) -> tuple[int, str]:
    """Return the key that sorts relations as the paper's table 1 does, others behind them."""
    known = PAPER_RELATIONS.index(target) if target in PAPER_RELATIONS else len(PAPER_RELATIONS)
    return known, target


def some_function(tables: StudyTables, run: str) -> str:
    """Look whether some head has a function that no head of the untrained model has."""
    roles = rows_where(tables.roles, run=run)
    beyond = functions(select_held(roles)) - functions(select_held(roles, UNTRAINED))
    return "" if beyond else "none has"
