"""The experiment: its jobs and tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headroom.core.heads import KINDS
from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.experiment import survival_tables
from headroom.experiments.pruning.declared import PRUNING, PRUNING_EPOCHS
from headroom.methods.criteria import SCORES, criterion
from headroom.methods.orders import REVERSE
from headroom.settings.tasks import TranslationSettings
from headroom.study.plan import Plan, leave_out
from headroom.study.stages import Files, Rule, Stage, Values

SITES = "sites"
"""The scope of the curves of every single site."""


def scopes(plan: Plan, run: str) -> list[str]:
    """Return the scopes of a run's curves by all orders."""
    task = plan.task(run)
    return list(task.pruning.scopes) if isinstance(task, TranslationSettings) else ["all"]


def tables_with_orders(plan: Plan, run: str) -> dict[str, list[str]]:
    """Return, by experiment, the tables other than scores that give orders of a run."""
    transformer = [run] if run in plan.transformers else []
    return {
        "ablation": plan.tables("ablation", [f"{run}.zero"]),
        "relevance": plan.tables("relevance", transformer),
        "attention_stats": plan.tables("attention_stats", transformer),
        "gates": survival_tables(plan, run),
    }


def order_tables(plan: Plan, run: str) -> dict[str, list[str]]:
    """Return those of them that the configuration names criteria of; always that of ablation."""
    named = {"ablation", *(criterion(name).table for name in plan.task(run).pruning.criteria)}
    return {name: paths for name, paths in tables_with_orders(plan, run).items() if name in named}


def list_scopes(plan: Plan) -> Iterator[Values]:
    """Yield the runs, replacements and scopes with curves by every order, and with those of single sites."""
    for run, kind in (values.values() for values in plan.replaced):
        sites = [SITES] if kind == "zero" else []
        yield from ({"run": run, "scope": one, "replacement": kind} for one in [*scopes(plan, run), *sites])


def read(plan: Plan, values: Values) -> Files:
    """Return what curves need: the last model, its scores, and the other tables that give orders."""
    run, whole = values["run"], values["scope"] != SITES
    found = {
        **plan.trained_models(run, "choose", "test", epochs=plan.last(run)),
        "scores": plan.tables("scores", [run]),
    }
    return {**found, **(order_tables(plan, run) if whole else {})}


FEW_EPOCHS = 8
"""Up to as many checkpoints of a run all have a curve; of more those of the epochs in Michel et al.'s figure 5."""


def choose_epochs(epochs: Sequence[float]) -> list[float]:
    """Return the epochs with a curve: all of a few, else those inside the first, 1, 2, 3, 5, tenths and the last."""
    if len(epochs) <= FEW_EPOCHS:
        return list(epochs)
    return [one for one in epochs if one < 1 or one in (1, 2, 3, 5, epochs[-1]) or one % 10 == 0]


def read_epochs(plan: Plan, values: Values) -> Files:
    """Return what curves of epochs need: several models of a detailed run, else the last, and scores."""
    run = values["run"]
    epochs = choose_epochs(plan.epochs(plan.runs[run].task)) if run in plan.detailed else plan.last(run)
    return {**plan.trained_models(run, "choose", "test", epochs=epochs), "scores": plan.tables("scores", [run])}


def settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the curves by every order."""
    if values["scope"] == SITES:
        return main_settings(plan, values)
    found = plan.sections(values["run"], "pruning", "scores", "answers", "sampling")
    return {**found, "pruning": leave_out(found["pruning"], "scopes", "criteria")}


def main_settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the curves by the main order, of raw scores, only."""
    found = plan.sections(values["run"], "pruning", "answers", "sampling")
    section = leave_out(found["pruning"], "scopes", "criteria", "random_draws") | {"normalisations": ["raw"]}
    return {**found, "pruning": section}


def flags(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the scope, the replacement and the orders: criteria of every epoch first.

    Over all heads together there are controls of the orders themselves: scored again after every step, and reversed.
    """
    found = {"scopes": [values["scope"]], "replacement": values["replacement"]}
    pruning = plan.task(values["run"]).pruning
    if values["scope"] == SITES:
        return {**found, "orders": [pruning.main]}
    scored = [name for name in pruning.criteria if criterion(name).table == SCORES]
    orders = dict.fromkeys([*scored, "ablation", *pruning.criteria, "random"])
    if values["scope"] in KINDS:
        return {**found, "orders": [*orders]}
    return {**found, "orders": [*orders, REVERSE], "rescored": scored}


PRUNE = Stage(
    name="pruning",
    about="remove increasing numbers of heads, by every order and its controls",
    group="Which heads matter",
    calls=list_scopes,
    outputs={"output": PRUNING},
    reads=read,
    settings=settings,
    flags=flags,
    loads_model=True,
    sharded=True,
)
EPOCHS = replace(
    PRUNE,
    calls=lambda plan: plan.calls(plan.runs),
    outputs={"output": PRUNING_EPOCHS},
    reads=read_epochs,
    settings=main_settings,
    flags=lambda plan, values: {"scopes": ["all"], "orders": [plan.task(values["run"]).pruning.main]},
)
EXPERIMENT = Experiment(
    noun="pruning",
    rules=(
        Rule(stages=(PRUNE,), per=("run", "replacement"), by_kind=True, priority=10, minutes=600, megabytes=2200),
        Rule(
            stages=(EPOCHS,), name="pruning_epochs", priority=15, minutes=600, megabytes=2200
        ),  # the longest of the sweeps
    ),
    sections=("page",),
)
