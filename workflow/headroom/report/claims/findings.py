"""The answer in five sentences, written from the tables: what can go, what matters, and by which order.

There is a sixth where roles or gates were examined.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pandas

from headroom.claims.metrics import metric_word
from headroom.claims.selection import chosen_heads, main_metric
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import listing
from headroom.report.claims.evidence import (
    MARGINS,
    has_skill,
    judged,
    main_curve,
    order_curve,
    point_at,
    scaled_by_run,
)
from headroom.report.claims.findings_of_change import speed, tests_compared
from headroom.report.claims.findings_of_repulsion import repulsion
from headroom.report.claims.findings_of_roles import gates, syntax
from headroom.report.claims.keeping import enough_share
from headroom.report.claims.pruning import KIND_SHARE, mean_difference, removable_share
from headroom.report.claims.removing import unchanged_share
from headroom.report.claims.verdict import Estimate, Measured, mean_share
from headroom.report.palette import KIND_NAMES
from headroom.report.tasks import task_name

UNSKILLED = "the models score no more with their heads than without"


def findings(tables: StudyTables) -> list[str]:
    """Return five sentences: what can go, which kinds or layers matter, orders, speed, repulsion or tests.

    Where roles or learned gates were examined, a sentence about them stands before speed.

    Numbers are means over the runs of the baseline; brackets span the 95 % intervals of all of them. In a study
    of several tasks every number is followed by its task.
    """
    curve, order = "no pruning curve was run", "no random order was run"
    if not any(has_skill(rows) for rows in scaled_by_run(tables, "pruning")):
        curve, order = (UNSKILLED, UNSKILLED) if tables.has("pruning") else (curve, order)
    return [
        _removable(tables) or f"How many heads can be removed is not known: {curve}.",
        _kinds(tables) or "Which kind of attention matters most is not known: its curves were not run.",
        _orders(tables) or f"Whether importance beats chance is not known: {order}.",
        *filter(None, [_roles(tables)]),
        speed(tables) or "What removal gains in time is not known: timing was not run.",
        repulsion(tables)
        or tests_compared(tables)
        or "What repulsion between heads changes is not known: no repulsive arm was run.",
    ]


def by_task(tables: StudyTables, number: Callable[[StudyTables], str]) -> dict[str, str]:
    """Return what can be said of each task; tasks without the rows are left out."""
    said = {task: number(tables.of_task(task)) for task in tables.tasks}
    return {task: text for task, text in said.items() if text}


def named(said: Mapping[str, str], tables: StudyTables) -> str:
    """Return what is said of several tasks as one list: `30 % (translation) and 60 % (SST-2)`."""
    several = len(tables.tasks) > 1
    return listing(f"{text} ({task_name(task)})" if several else text for task, text in said.items())


def _removable(tables: StudyTables) -> str:
    removable = by_task(tables, _removable_share)
    if not removable:
        return ""
    words = [_noticeable(tables, kind) for kind in MARGINS if any(kind_of(task) == kind for task in removable)]
    sentence = (
        f"Of all heads, {named(removable, tables)} can be removed, least important first, before the model loses"
        f" more than {' or, in classification, '.join(words)}"
    )
    alone = by_task(tables, _unchanged)
    verb = f"; one at a time, {named(alone, tables)} go without a significant change."
    return sentence + (verb if alone else ".")


def _noticeable(tables: StudyTables, kind: str) -> str:
    share = f"{100 * MARGINS[kind]:.0f} %"
    if kind == "classification":
        return f"{share} of what it scores above chance"
    task = next(task for task in tables.tasks if kind_of(task) == kind)
    return f"{share} of its {metric_word(main_metric(tables.of_task(task).pruning))}"


def _runs(tables: StudyTables, name: str) -> list[pandas.DataFrame]:
    """Return the rows of each run of the baseline whose shares of the score mean something."""
    return [rows for rows in scaled_by_run(tables, name) if has_skill(rows)]


def _removable_share(tables: StudyTables) -> str:
    curves = [main_curve(rows) for rows in _runs(tables, "pruning")]
    shares = [removable_share(curve) for curve in curves if len(curve)]
    return mean_share(shares).text() if shares else ""


def _unchanged(tables: StudyTables) -> str:
    ablated = [judged(rows) for rows in _runs(tables, "ablation")]
    shares = [unchanged_share(rows) for rows in ablated if len(rows)]
    return mean_share(shares).text() if shares else ""


def _one_is_enough(tables: StudyTables) -> str:
    chosen = [chosen_heads(rows, "choose") for rows in _runs(tables, "keep_one")]
    shares = [enough_share(rows) for rows in chosen if len(rows)]
    return f"{mean_share(shares).text()} of layers" if shares else ""


def _kinds(tables: StudyTables) -> str:
    """Say which kind of attention can be spared least; of classifiers, how many layers need more than one head."""
    sentences = by_task(tables, _kinds_of_one)
    classified = by_task(tables, lambda view: _one_is_enough(view) if kind_of(view.task) == "classification" else "")
    parts = list(sentences.values())
    if classified:
        parts.append(f"One head, chosen on other data, is enough in {named(classified, tables)}.")
    return " ".join(parts)


def _kinds_of_one(tables: StudyTables) -> str:
    kept: dict[str, Measured] = {}
    for kind in KIND_NAMES:
        points = [point_at(main_curve(rows, kind), KIND_SHARE) for rows in scaled_by_run(tables, "pruning")]
        found = [point for point in points if point is not None]
        if found:
            kept[kind] = mean_share(found)
    if len(kept) < 2:
        return ""
    worst = min(kept, key=lambda kind: kept[kind].found.value)
    others = {kind: share for kind, share in kept.items() if kind != worst}
    against = listing(f"{share.text()} for {KIND_NAMES[kind]}" for kind, share in others.items())
    apart = all(kept[worst].found.high < share.found.low for share in others.values())
    opening = (
        f"The model can spare {KIND_NAMES[worst]} least"
        if apart
        else "No kind of attention stands out from both others"
    )
    return (
        f"{opening}: with 70 % of the heads of {KIND_NAMES[worst]} removed it keeps {kept[worst].text()} of its"
        f" {metric_word(main_metric(tables.pruning))}, against {against}."
    )


def _orders(tables: StudyTables) -> str:
    over_chance = by_task(tables, lambda view: _gain(view, "random"))
    if not over_chance:
        return ""
    kinds = {kind_of(task) for task in over_chance}
    word = metric_word(main_metric(tables.of_task(next(iter(over_chance))).pruning))
    full = {"translation": f"the full {word}", "classification": "the full model’s score above chance"}
    of = full[kinds.pop()] if len(kinds) == 1 else "the full model’s score (in classification above chance)"
    sentence = (
        f"Averaged along the pruning curve, removing by gradient importance keeps {named(over_chance, tables)}"
        f" of {of} than removing at random"
    )
    over_ablation = by_task(tables, lambda view: _gain(view, "ablation"))
    if over_ablation:
        sentence += f", and {named(over_ablation, tables)} than removing by single-head ablation effects"
    return sentence + "."


def _roles(tables: StudyTables) -> str:
    """Say for how many relations a head was found, and what learned gates leave."""
    relations, left = by_task(tables, syntax), by_task(tables, gates)
    parts = []
    if relations:
        parts.append(
            f"for {named(relations, tables)} of the syntactic relations and directions some head finds the related word"
            " at least 10 points more often than its usual position does"
        )
    if left:
        parts.append(f"learned gates leave {named(left, tables)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _gain(tables: StudyTables, order: str) -> str:
    gains = []
    for rows in _runs(tables, "pruning"):
        ours, other = main_curve(rows), order_curve(rows, order)
        if len(ours) > 2 and len(other) > 2:
            gains.append(mean_difference(ours, other))
    return _compared(gains) if gains else ""


def _compared(gains: Sequence[Estimate]) -> str:
    """Return `12 [8, 15] % more` or `3 [1, 5] % less`."""
    mean = mean_share(gains)
    if mean.found.value < 0:
        return replace(mean, found=-mean.found).text() + " less"
    return mean.text() + " more"
