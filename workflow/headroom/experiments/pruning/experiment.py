"""The experiment: its jobs and tables."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.experiment import survival_tables
from headroom.experiments.pruning.table import PRUNING, PRUNING_EPOCHS, PRUNING_REPLACED
from headroom.methods.criteria import criterion
from headroom.settings.tasks import TranslationSettings
from headroom.study.plan import Plan, leave_out
from headroom.study.stages import Files, Rule, Stage, Values

SITES = "sites"
"""The scope of the curves of every single site."""


def scopes(plan: Plan, run: str) -> list[str]:
    """Return the scopes of a run's curves by all orders."""
    task = plan.task(run)
    return list(task.pruning.scopes) if isinstance(task, TranslationSettings) else ["all"]


def order_tables(plan: Plan, run: str) -> dict[str, list[str]]:
    """Return, by experiment, the tables other than scores that give orders of a run; always that of ablation."""
    named = {criterion(name).table for name in plan.task(run).pruning.criteria}
    transformer = [run] if run in plan.transformers else []
    found = {
        "ablation": plan.tables("ablation", [run]),
        "relevance": plan.tables("relevance", transformer),
        "attention_stats": plan.tables("attention_stats", transformer),
        "gates": survival_tables(plan, run),
    }
    return {name: paths for name, paths in found.items() if name == "ablation" or name in named}


def list_scopes(plan: Plan) -> Iterator[Values]:
    """Yield the runs and scopes with curves by every order, and with those of single sites."""
    yield from ({"run": run, "scope": scope} for run in plan.detailed for scope in [*scopes(plan, run), SITES])


def list_replaced(plan: Plan) -> Iterator[Values]:
    """Yield the runs, scopes and replacements other than zero."""
    for run in plan.detailed:
        kinds = plan.replacements(run)
        yield from ({"run": run, "scope": scope, "replacement": kind} for scope in scopes(plan, run) for kind in kinds)


def read(plan: Plan, values: Values) -> Files:
    """Return what curves need: the last model, its scores, and the other tables that give orders."""
    run, whole = values["run"], values["scope"] != SITES
    found = {
        **plan.trained_models(run, "choose", "test", epochs=plan.last(run)),
        "scores": plan.tables("scores", [run]),
    }
    return {**found, **(order_tables(plan, run) if whole else {})}


def read_epochs(plan: Plan, values: Values) -> Files:
    """Return what curves of epochs need: all models of a detailed run, else the last, and scores."""
    run = values["run"]
    epochs = None if run in plan.detailed else plan.last(run)
    return {**plan.trained_models(run, "choose", "test", epochs=epochs), "scores": plan.tables("scores", [run])}


def settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the curves by every order."""
    if values["scope"] == SITES:
        return main_settings(plan, values)
    found = plan.sections(values["run"], "pruning", "scores", "answers", "sampling")
    return {**found, "pruning": leave_out(found["pruning"], "scopes")}


def main_settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the curves by the main order only."""
    found = plan.sections(values["run"], "pruning", "answers", "sampling")
    return {**found, "pruning": leave_out(found["pruning"], "scopes", "criteria", "normalisations", "random_draws")}


def flags(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the scope, whether only the main order is drawn, and the replacement."""
    main = {"only_main": "true"} if values["scope"] == SITES else {}
    replaced = {"replacement": values["replacement"]} if "replacement" in values else {}
    return {"scopes": [values["scope"]], **main, **replaced}


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
REPLACED = replace(PRUNE, calls=list_replaced, outputs={"output": PRUNING_REPLACED})
EPOCHS = replace(
    PRUNE,
    calls=lambda plan: plan.calls(plan.runs),
    outputs={"output": PRUNING_EPOCHS},
    reads=read_epochs,
    settings=main_settings,
    flags=lambda plan, values: {"scopes": ["all"], "only_main": "true"},
)
EXPERIMENT = Experiment(
    noun="pruning",
    rules=(
        Rule(stages=(PRUNE,), per=("run",), by_kind=True, priority=10, minutes=600),
        Rule(stages=(REPLACED,), name="pruning_replaced", priority=10, minutes=600),
        Rule(stages=(EPOCHS,), name="pruning_epochs", priority=15, minutes=600),  # the longest of the sweeps
    ),
    sections=("section",),
)
