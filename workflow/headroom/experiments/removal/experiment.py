"""The experiment: its jobs and tables."""

from collections.abc import Mapping
from typing import Any

from headroom.experiments.experiment import Experiment
from headroom.experiments.removal.declared import PARAMETERS, REMOVAL
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values


def read(plan: Plan, values: Values) -> Files:
    """Return what removal needs: a model, its scores, the set it is checked on, and that of the repair, if any."""
    run = values["run"]
    sets = ["test", *(["choose"] if plan.task(run).removal.repair != "none" else [])]
    return {**plan.trained_model(run, *sets), "scores": plan.tables("scores", [run])}


def outputs(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return the table and the sliced model."""
    return {"sliced": plan.model(task, "sliced/{run}"), "output": REMOVAL}


REMOVE = Stage(
    name="removal",
    about="slice heads out and check against masking",
    group="Without heads",
    calls=lambda plan: plan.calls(run for run in plan.detailed if run in plan.removable),
    outputs=outputs,
    reads=read,
    settings=lambda plan, values: plan.with_order(values["run"], "removal", "answers"),
    flags=lambda plan, values: {"set": "test"},
    loads_model=True,
)
COUNT = Stage(
    name="parameters",
    about="count the parameters of heads, sites and model",
    group="Without heads",
    module="headroom.experiments.removal.parameters",
    calls=lambda plan: plan.calls(plan.detailed),
    outputs={"output": PARAMETERS},
    reads=lambda plan, values: plan.trained_model(values["run"], "test"),
    loads_model=True,
)
EXPERIMENT = Experiment(
    noun="removal", rules=(Rule(stages=(REMOVE, COUNT), by_kind=True, minutes=60),), sections=("page",)
)
