"""The experiment: its jobs and tables."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headroom.experiments.bakeoff.declared import BAKEOFF, BAKEOFF_RETRAINING
from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.experiment import further_rate, gated, survival_tables
from headroom.experiments.pruning.declared import PRUNING_COMPARED
from headroom.experiments.pruning.experiment import PRUNE, tables_with_orders
from headroom.experiments.scores.declared import SCORES_COMPARED, SCORES_COSTS
from headroom.experiments.scores.experiment import SCORE
from headroom.methods.criteria import REFERENCE, criterion, find_family
from headroom.methods.orders import CONTROLS, REVERSE
from headroom.study.plan import Plan, keep, leave_out
from headroom.study.stages import Files, Rule, Stage, Values

MASKED, ROWS = ("backward_elimination", "loss_ablation", "shapley"), 512
"""Families of criteria by losses under masks, and the rows of their batches at most."""


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


def orders(plan: Plan, task: str) -> list[str]:
    """Return the orders of the comparison: criteria, the reference, and the controls."""
    return [*dict.fromkeys([*plan.study.tasks[task].bakeoff.criteria, REFERENCE]), *CONTROLS]


def scores_of(plan: Plan, run: str, order: str) -> Files:
    """Return the tables with the scores of an order, by experiment; none for controls without scores."""
    if order in CONTROLS and order != REVERSE:
        return {}
    if family := find_family(REFERENCE if order == REVERSE else order):
        return {"scores": plan.tables("scores_compared", [f"{run}.{family}"])}
    table = criterion(order).table
    return {table: tables_with_orders(plan, run)[table]}


def list_families(plan: Plan) -> Iterator[Values]:
    """Yield the runs and families of criteria."""
    for task in plan.study.tasks:
        yield from ({"run": run, "family": one} for run in compared(plan, task) for one in families(plan, task))


def list_orders(plan: Plan) -> Iterator[Values]:
    """Yield the runs and orders."""
    for task in plan.study.tasks:
        yield from ({"run": run, "order": order} for run in compared(plan, task) for order in orders(plan, task))


def list_retrained(plan: Plan) -> Iterator[Values]:
    """Yield the compared runs whose layouts are trained further; none without updates."""
    for name, task in plan.study.tasks.items():
        yield from plan.calls(compared(plan, name)) if task.bakeoff.retraining.updates else ()


def curve_settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the curves of a run by one order."""
    task = plan.task(values["run"])
    used = ["step", "test_examples", *(["random_draws"] if values["order"] == "random" else [])]
    own = keep(task.bakeoff, *used) | keep(task.pruning, "unit") | {"main": REFERENCE, "normalisations": []}
    scores = keep(task.bakeoff, "examples")
    return {**plan.sections(values["run"], "answers", "sampling"), "pruning": own, "scores": scores}


def curve_flags(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the order of a run's curves, whether heads are scored again, and the repairs."""
    bakeoff, order = plan.task(values["run"]).bakeoff, [values["order"]]
    return {
        "orders": order,
        "rescored": [name for name in order if name in bakeoff.rescored],
        "repairs": bakeoff.repairs,
    }


def retraining_settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the further training of a run's layouts, with the learning rate, and of evaluation."""
    run = values["run"]
    found = plan.sections(run, "bakeoff", "answers", "sampling")
    retraining = found["bakeoff"].retraining
    own = leave_out(retraining) | {"learning_rate": further_rate(plan, run, retraining.learning_rate)}
    return {**found, "bakeoff": keep(found["bakeoff"], "test_examples"), "retraining": own}


def read_layouts(plan: Plan, values: Values) -> Files:
    """Return what further training needs: a model, its text, and the scores that layouts are chosen by."""
    run = values["run"]
    scores = scores_of(plan, run, plan.task(run).bakeoff.retraining.criterion)
    return {**plan.trained_model(run, "train", "test"), **scores}


def read_all(plan: Plan, values: Values) -> Files:
    """Return the tables of the comparison of a task."""
    task = values["task"]
    runs = compared(plan, task)
    curves = plan.tables("pruning_compared", (f"{run}.{order}" for run in runs for order in orders(plan, task)))
    names = [f"{run}.{family}" for run in runs for family in families(plan, task)]
    dates, costs = [f"{path[:-4]}.npz" for path in curves], plan.tables("scores_costs", names)
    return {"curves": curves, "dates": dates, "costs": costs}


SCORE_COMPARED = replace(
    SCORE,
    calls=list_families,
    outputs={"output": SCORES_COMPARED, "costs": SCORES_COSTS},
    reads=lambda plan, values: plan.trained_models(values["run"], "choose", epochs=plan.last(values["run"])),
    settings=lambda plan, values: {"scores": keep(plan.task(values["run"]).bakeoff, "examples")},
    flags=lambda plan, values: {"set": "choose", "family": values["family"]},
)
PRUNE_COMPARED = replace(
    PRUNE,
    calls=list_orders,
    outputs={"output": PRUNING_COMPARED},
    reads=lambda plan, values: {
        **plan.trained_models(values["run"], "choose", "test", epochs=plan.last(values["run"])),
        **scores_of(plan, values["run"], values["order"]),
    },
    settings=curve_settings,
    flags=curve_flags,
)
RETRAIN = Stage(
    name="bakeoff_retraining",
    about="train good, random and bad layouts of one size further, to compare criteria",
    group="Which heads matter",
    module="headroom.experiments.bakeoff.retraining",
    calls=list_retrained,
    outputs={"output": BAKEOFF_RETRAINING},
    reads=read_layouts,
    settings=retraining_settings,
    flags=lambda plan, values: {"seed": plan.runs[values["run"]].seed},
    loads_model=True,
)
COMPARE = Stage(
    name="bakeoff",
    about="compare all criteria of a task at equal numbers of heads and known cost",
    group="Which heads matter",
    calls=lambda plan: [{"task": task} for task in plan.study.tasks if compared(plan, task)],
    outputs={"output": BAKEOFF},
    reads=read_all,
    flags=lambda plan, values: {"study": plan.study.study, "task": values["task"]},
)
EXPERIMENT = Experiment(
    noun="bakeoff",
    rules=(
        Rule(stages=(SCORE_COMPARED,), name="scores_compared", priority=20, minutes=600),
        Rule(stages=(PRUNE_COMPARED,), name="pruning_compared", priority=10, minutes=600),
        Rule(stages=(COMPARE,), environment="plain", minutes=15),
        Rule(stages=(RETRAIN,), priority=20, minutes=600),
    ),
    sections=("page",),
)
