"""The curves and comparisons of a study: orders, scopes, criteria, and what their jobs are told."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headroom.core.heads import KINDS
from headroom.methods.criteria import REFERENCE, SCORES, criterion, find_family
from headroom.methods.orders import CONTROLS, REVERSE
from headroom.settings.tasks import TranslationSettings
from headroom.study.gates import further_rate, gated, survival_tables
from headroom.study.plan import Plan, keep, leave_out
from headroom.study.task_info import TASKS

SITES = "sites"
"""The scope of the curves of every single site."""

FEW_EPOCHS = 8
"""Up to as many checkpoints of a run all have a curve; of more those of the epochs in Michel et al.'s figure 5."""

# heads alone, and one head at a time


def tell_ablation(plan: Plan, run: str, replacement: str, **_: str) -> Mapping[str, Any]:
    """Return what the removal of each head on its own is told."""
    sections = plan.sections(run, "ablation", "answers", "sampling")
    return {"sets": plan.ablated_sets(run), "replacement": replacement, **sections}


def tell_keep_one(plan: Plan, run: str, replacement: str, **_: str) -> Mapping[str, Any]:
    """Return what the sweep is told that keeps one head per site."""
    sections = plan.sections(run, "keep_one", "answers", "sampling")
    return {"sets": ["choose", "test"], "replacement": replacement, **sections}


def tell_removal(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return what slicing heads out is told: without a share or a tolerance, the noticeable loss of the task."""
    task, found = plan.task(run), plan.sections(run, "removal", "answers", "sampling")
    if task.removal.share is not None:
        return {**found, "set": "test", "pruning": keep(task.pruning, "main", "unit")}
    tolerance = task.removal.tolerance or TASKS[task.task].margin
    orders = keep(task.pruning, "unit", "criteria", "normalisations", "test_examples")
    return {**found, "set": "test", "removal": {**leave_out(task.removal), "tolerance": tolerance}, "pruning": orders}


def tell_timing(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return what the timing of full, masked and sliced models is told."""
    return {"set": "test", **plan.with_order(run, "timing")}


def tell_main(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return what the comparison of rankings is told: the main criterion."""
    return plan.with_main(run)


def tell_pairs(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return what the accuracies on pairs of sentences are told."""
    sections = plan.sections(run, "sampling")
    return {**sections, "pruning": keep(plan.task(run).pruning, "main", "unit", "step")}


# curves


def list_scopes(plan: Plan, run: str, replacement: str) -> list[str]:
    """Return the scopes of a run's curves by all orders, and that of single sites."""
    task = plan.task(run)
    whole = list(task.pruning.scopes) if isinstance(task, TranslationSettings) else ["all"]
    return [*whole, *([SITES] if replacement == "zero" else [])]


def tables_with_orders(plan: Plan, run: str) -> dict[str, list[str]]:
    """Return, by experiment, the tables other than scores that give orders of a run."""
    transformer = [run] if run in plan.transformers else []
    return {
        "ablation": plan.tables("ablation", [f"{run}.zero"]),
        "relevance": plan.tables("relevance", transformer),
        "attention_stats": plan.tables("attention_stats", transformer),
        "gates": survival_tables(plan, run),
    }


def order_tables(plan: Plan, run: str, scope: str = "all") -> dict[str, list[str]]:
    """Return those of them that the curves of a scope need: of criteria that are named, and always of ablation."""
    if scope == SITES:
        return {}
    named = {"ablation", *(criterion(name).table for name in plan.task(run).pruning.criteria)}
    return {name: paths for name, paths in tables_with_orders(plan, run).items() if name in named}


def choose_epochs(plan: Plan, run: str) -> list[float]:
    """Return the epochs of a run with a curve: the last one; of a detailed run all of a few, or some of many.

    Of many these are the ones inside the first, 1, 2, 3, 5, tenths and the last.
    """
    epochs = plan.epochs(plan.runs[run].task) if run in plan.detailed else plan.last(run)
    if len(epochs) <= FEW_EPOCHS:
        return list(epochs)
    return [one for one in epochs if one < 1 or one in (1, 2, 3, 5, epochs[-1]) or one % 10 == 0]


def tell_curves(plan: Plan, run: str, scope: str, replacement: str, **_: str) -> Mapping[str, Any]:
    """Return what the curves of a scope are told: its orders, criteria of every epoch first.

    Over all heads together there are controls of the orders themselves: scored again after every step, and reversed.
    """
    told: dict[str, Any] = {"scopes": [scope], "replacement": replacement}
    pruning = plan.task(run).pruning
    if scope == SITES:
        return {**told, "orders": [pruning.main], **main_settings(plan, run)}
    sections = {**plan.sections(run, "answers", "sampling"), "scoring": plan.task(run).scores}
    told |= {**sections, "pruning": leave_out(pruning, "scopes", "criteria")}
    scored = [name for name in pruning.criteria if criterion(name).table == SCORES]
    orders = [*dict.fromkeys([*scored, "ablation", *pruning.criteria, "random"])]
    return {**told, "orders": orders} if scope in KINDS else {**told, "orders": [*orders, REVERSE], "rescored": scored}


def tell_epochs(plan: Plan, run: str, **_: str) -> Mapping[str, Any]:
    """Return what the curves of several epochs are told: the main order."""
    return {"scopes": ["all"], "orders": [plan.task(run).pruning.main], **main_settings(plan, run)}


def main_settings(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return the settings of the curves by the main order, of raw scores, only."""
    found = plan.sections(run, "pruning", "answers", "sampling")
    section = leave_out(found["pruning"], "scopes", "criteria", "random_draws") | {"normalisations": ["raw"]}
    return {**found, "pruning": section}


# criteria compared


def compared(plan: Plan, task: str) -> list[str]:
    """Return the runs on which criteria are compared: every seed of the first arm; empty without criteria."""
    own = [run for run in plan.runs_of(task) if plan.is_first_arm(run)]
    return own if plan.study.tasks[task].bakeoff.criteria else []


def lacking_to_compare(plan: Plan, task: str) -> dict[str, str]:
    """Return, by experiment without a table of every compared run, what to do about its criteria."""
    runs, found = compared(plan, task), dict[str, str]()
    if not set(runs) <= set(plan.detailed):
        found["ablation"] = "needs every seed in detail; raise detailed_seeds, or use loss-ablation"
    if not set(runs) <= set(gated(plan)) or not all(survival_tables(plan, run) for run in runs):
        found["gates"] = "needs learned gates of every seed; raise detailed_seeds and set gates.ways"
    if not set(runs) <= set(plan.transformers):
        found |= dict.fromkeys(("attention_stats", "relevance"), "needs a Transformer; leave it out")
    return found


def families(plan: Plan, task: str) -> list[str]:
    """Return the families of criteria that are computed for the comparison; always that of the reference."""
    named = [*plan.study.tasks[task].bakeoff.criteria, REFERENCE]
    return list(dict.fromkeys(family for name in named if (family := find_family(name))))


def list_families(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the runs on which criteria are compared, with the families of these."""
    for task in plan.study.tasks:
        yield from ((run, family) for run in compared(plan, task) for family in families(plan, task))


def list_orders(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the runs on which criteria are compared, with the orders: criteria, the reference, and the controls."""
    for task, own in plan.study.tasks.items():
        orders = [*dict.fromkeys([*own.bakeoff.criteria, REFERENCE]), *CONTROLS]
        yield from ((run, order) for run in compared(plan, task) for order in orders)


def scores_of(plan: Plan, run: str, order: str) -> dict[str, Sequence[str]]:
    """Return the tables with the scores of an order, by experiment; none for controls without scores."""
    if order in CONTROLS and order != REVERSE:
        return {}
    if family := find_family(REFERENCE if order == REVERSE else order):
        return {"scores": plan.tables("scores_compared", [f"{run}.{family}"])}
    table = criterion(order).table
    return {table: tables_with_orders(plan, run)[table]}


def tell_family(plan: Plan, run: str, family: str) -> Mapping[str, Any]:
    """Return what the scores by a family of criteria are told."""
    examples = keep(plan.task(run).bakeoff, "examples")
    return {"set": "choose", "family": family, "scores": examples}


def tell_compared(plan: Plan, run: str, order: str) -> Mapping[str, Any]:
    """Return what the curves of a run by one order are told: whether heads are scored again, and the repairs."""
    task = plan.task(run)
    used = ["step", "test_examples", *(["random_draws"] if order == "random" else [])]
    own = keep(task.bakeoff, *used) | keep(task.pruning, "unit") | {"main": REFERENCE, "normalisations": []}
    sections = {**plan.sections(run, "answers", "sampling"), "pruning": own, "scoring": keep(task.bakeoff, "examples")}
    rescored = [order] if order in task.bakeoff.rescored else []
    return {"orders": [order], "rescored": rescored, "repairs": task.bakeoff.repairs, **sections}


def tell_retraining(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return what the further training of a run's layouts is told, with the learning rate."""
    found = plan.sections(run, "bakeoff", "answers", "sampling")
    retraining = found["bakeoff"].retraining
    own = leave_out(retraining) | {"learning_rate": further_rate(plan, run, retraining.learning_rate)}
    sections = {**found, "bakeoff": keep(found["bakeoff"], "test_examples"), "retraining": own}
    return {"seed": plan.runs[run].seed, **sections}
