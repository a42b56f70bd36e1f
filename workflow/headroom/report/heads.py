"""What is known of every head, for the panel that opens when a head is chosen in any atlas.

The data is compact: a task has blocks, tables with their labels and headings once for all heads; a head has the cells.
All of them are texts, as they are written elsewhere in the report.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas
from markupsafe import Markup

from headroom.claims.board import metric_name, metric_word
from headroom.core.formatting import MISSING, estimate, interval, number, p_value, percent
from headroom.core.heads import Head, parse_head
from headroom.experiments.gates.claims import GRADIENT, HARD_CONCRETE, hard, list_removed
from headroom.experiments.roles.claims import confidence, select_held
from headroom.experiments.roles.names import target_words
from headroom.figures import palette
from headroom.figures.drawing import embed_data
from headroom.figures.names import METHOD_NAMES, SCOPES, heading, order_name, run_name
from headroom.report.explorer import name_order, read_score
from headroom.study.maps import AttentionMap
from headroom.study.selection import (
    last_epochs,
    main_metric,
    main_run,
    main_set,
    parse_heads,
    rows_where,
    select_judged,
)
from headroom.study.tables import StudyTables

STAYS, GOES = "stays", "goes"

_PREFERRED = ("pruning", "ablation", "scores", "relevance", "attention_stats", "gates")
"""The tables whose first run is the one that is shown."""

_LAYOUTS = (HARD_CONCRETE, GRADIENT)
"""Methods that choose which heads are kept; random layouts carry no information about a head, others repeat these."""


@dataclass
class Block:
    """A table of the panel: its rows are the same for all heads, the cells are a head's own."""

    title: str  # its heading
    columns: Sequence[str]  # the headings of its columns but the first
    empty: str = ""  # the text for a head without any row; "" to omit the block
    note: str = ""  # how to read it
    rows: list[str] = field(default_factory=list)  # the labels of its rows
    # by head and row, the cells
    cells: defaultdict[Head, dict[int, Sequence[str]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, row: str, cells: Mapping[Head, Sequence[str]]) -> None:
        """Add a row; heads that are not named have no such row."""
        for head, texts in cells.items():
            self.cells[head][len(self.rows)] = texts
        self.rows.append(row)


def heads_data(tables: StudyTables) -> Markup:
    """Return what is known of every head of every task as JSON that is safe in a `<script>`."""
    found = [of_task(view) for view in tables.views.values()]
    return embed_data({"tasks": [one for one in found if one is not None]})


def of_task(tables: StudyTables) -> dict[str, Any] | None:
    """Return one task: its run, blocks, heads and attention maps; None if nothing is known of its heads."""
    first = next((tables.frame(name) for name in _PREFERRED if tables.has(name)), None)
    if first is None:
        return None
    run = main_run(first, tables)
    blocks = [block for make in BLOCKS if (block := make(tables, run)).rows or block.empty]
    drawn = maps([one for one in tables.maps if one.run == run])
    heads = sorted({head for block in blocks for head in block.cells})
    return {
        "task": tables.task,
        "name": heading(tables.task),
        "run": run_name(run),
        "kinds": {kind: palette.KIND_NAMES[kind] for kind in dict.fromkeys(head.kind for head in heads)},
        "blocks": [
            {"title": one.title, "columns": one.columns, "empty": one.empty, "note": one.note, "rows": one.rows}
            for one in blocks
        ],
        "heads": {
            str(head): [_compact(block.cells.get(head, {}), len(block.rows)) for block in blocks] for head in heads
        },
        "maps": drawn,
    }


def _compact(cells: Mapping[int, Sequence[str]], rows: int) -> list[list[Any]]:
    """Return a head's rows, each as its number and cells; without numbers if the head has all rows."""
    whole = len(cells) == rows
    return [[*texts] if whole else [place, *texts] for place, texts in sorted(cells.items())]


def summarise_alone(tables: StudyTables, run: str) -> Block:
    """Return what the removal of each head alone does, on every set, by the main metric."""
    block = Block("Removed alone", ("change", "p (Holm)"), note="Change of the score and its 95 % interval.")
    rows = rows_where(last_epochs(tables.ablation), run=run)
    if rows.empty:
        return block
    rows = rows_where(rows, metric=main_metric(rows))
    for name in dict.fromkeys([main_set(rows), *rows["set"]]):
        own = rows_where(rows, set=name)
        block.add(f"{metric_name(own['metric'].iloc[0])} on {name}", {
            head: (
                f"{number(row['delta'], signed=True, decimals=2)} {interval(row['low'], row['high'], most=2)}".strip(),
                p_value(row["p_holm"]),
            )
            for head, (_, row) in zip(parse_heads(own), own.iterrows(), strict=True)
        })  # fmt: skip
    return block


def criteria(tables: StudyTables, run: str) -> Block:
    """Return what every criterion gives a head, and the head's rank by it, the most important head first."""
    block = Block("By every criterion", ("value", "rank"), note="Rank 1 is the most important head.")
    scores = rows_where(last_epochs(tables.scores), run=run)
    kinds = [(name, "raw") for name in dict.fromkeys(rows_where(scores, normalised="raw")["criterion"])]
    for name, normalised in kinds or [(name, "layer") for name in dict.fromkeys(scores["criterion"])]:
        own = rows_where(scores, criterion=name, normalised=normalised)
        _rank(block, order_name(name, normalised), own, lambda row: number(row["value"]))
    lost = rows_where(last_epochs(tables.ablation), run=run)
    if len(lost):
        lost = select_judged(lost)
        name = f"loss when removed alone ({metric_word(main_metric(lost))})"
        _rank(block, name, lost.assign(value=-lost["delta"]), lambda row: number(row["value"], decimals=2))
    _rank(block, "confidence", confidence(tables.attention_stats, run), _with_interval)
    relevance = rows_where(last_epochs(tables.relevance), run=run, measure="relevance", half="all")
    _rank(block, "relevance (share of its layer)", relevance, _with_interval)
    return block


def _with_interval(row: "pandas.Series[Any]") -> str:
    return estimate(row["value"], row["low"], row["high"], most=3)


def _rank(block: Block, name: str, rows: pandas.DataFrame, written: Callable[["pandas.Series[Any]"], str]) -> None:
    """Add a criterion: every head's value as it is written, and its rank; heads of the same value share the best."""
    if rows.empty:
        return
    ranks = rows["value"].rank(ascending=False, method="min")
    block.add(name, {
        head: (written(row), MISSING if math.isnan(rank) else f"{int(rank)} of {len(rows)}")
        for head, rank, (_, row) in zip(parse_heads(rows), ranks, rows.iterrows(), strict=True)
    })  # fmt: skip


def roles(tables: StudyTables, run: str) -> Block:
    """Return the roles that heads hold."""
    rows = select_held(rows_where(tables.roles, run=run))
    none = "It holds none of the roles that were tested." if tables.given("roles") else ""
    block = Block("Roles", ("share of words", "baseline"), empty=none)
    for target in dict.fromkeys(rows["target"]):
        own = rows_where(rows, target=target)
        block.add(target_words(target), {
            head: (percent(value), percent(baseline))
            for head, value, baseline in zip(parse_heads(own), own["value"], own["baseline"], strict=True)
        })  # fmt: skip
    return block


def find_removal_steps(tables: StudyTables, run: str) -> Block:
    """Return how many heads are removed when each head is, by every order over all heads."""
    block = Block(
        "Order of removal", ("among the first",), note="Heads are removed in steps; this is the first with the head."
    )
    rows = rows_where(last_epochs(tables.pruning), run=run, scope="all")
    if rows.empty:
        return block
    rows = select_judged(rows).sort_values("heads_removed", kind="stable")
    for (order, normalised, ranking), own in rows.groupby(["order", "normalised", "ranking"], sort=False):
        own = rows_where(own, draw=own["draw"].min()) if own["draw"].notna().any() else own
        found: dict[Head, Sequence[str]] = {}
        for count, total, names in zip(own["heads_removed"], own["heads_total"], own["removed"], strict=True):
            for head in map(parse_head, names.split()):
                found.setdefault(head, (f"{int(count)} of {int(total)}",))
        block.add(name_order(f"{order}:{normalised}:{'rescored' if ranking == 'rescored' else 'fixed'}"), found)
    return block


def models(tables: StudyTables, run: str) -> Block:
    """Return in which pruned and gated models each head stays."""
    block = Block(
        "In pruned and gated models", ("this head",), note="How many heads stay, and the score after more training."
    )
    pruned, gates = (rows_where(last_epochs(one), run=run) for one in (tables.pruned_models, tables.gates))
    heads = known_heads(tables, run)
    seen = set()
    for _, row in (hard(pruned) if len(pruned) else pruned).iterrows():
        if row["method"] not in _LAYOUTS:
            continue
        seen.add((row["method"], row["scope"], row["setting"]))
        gone = set(list_removed(row))
        inside = [head for head in heads if row["scope"] in ("all", head.kind)]
        label = f"{_model(row)}: {int(row['kept'])} of {int(row['heads'])}, {read_score(row)}"
        block.add(label, {head: (GOES if str(head) in gone else STAYS,) for head in inside})
    for key, own in gates.groupby(["method", "scope", "setting"], sort=False):
        if key not in seen:
            label = f"{_model(own.iloc[0])}: {int(own['kept'].sum())} of {len(own)}"
            stays = zip(parse_heads(own), own["kept"], strict=True)
            block.add(label, {head: (STAYS if kept == 1 else GOES,) for head, kept in stays})
    return block


def _model(row: "pandas.Series[Any]") -> str:
    """Return a model's method, setting and heads in scope: `hard concrete, λ 0.01, encoder heads`."""
    setting = (f"λ {row['setting']}",) if row["method"] == HARD_CONCRETE else ()
    method, scope = str(row["method"]), str(row["scope"])
    return ", ".join((METHOD_NAMES.get(method, method), *setting, SCOPES.get(scope, scope)))


def known_heads(tables: StudyTables, run: str) -> list[Head]:
    """Return the heads of a run's model, as tables with every head have them."""
    frames = (rows_where(tables.frame(name), run=run) for name in ("gates", "ablation", "scores", "attention_stats"))
    named = (rows[["kind", "layer", "head"]].dropna().drop_duplicates() for rows in frames)  # some rows are of no head
    return sorted({head for rows in named for head in parse_heads(rows)})


BLOCKS = (summarise_alone, criteria, roles, find_removal_steps, models)
"""The parts of the panel, in order; each makes its block from the tables of one task and a run."""


def maps(found: Iterable[AttentionMap]) -> dict[str, list[dict[str, Any]]]:
    """Return by head the attention maps, small: a digit per weight, and the place among all maps of the run."""
    made: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for place, one in enumerate(found, start=1):
        rows = ["".join(str(min(9, max(0, int(10 * weight)))) for weight in weights) for weights in one.weights]
        about = target_words(one.target) if one.target else "attention"
        made[str(one.head)].append({"place": place, "about": f"{about}, example {one.sentence}", "rows": rows})
    return dict(made)
