"""The experiment: its jobs and tables."""

from collections.abc import Mapping
from typing import Any

from headroom.experiments.arms.table import ARMS, OVERLAP
from headroom.experiments.experiment import Experiment
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values


def compared(plan: Plan) -> list[Values]:
    """Return one call for a study in which a task has several arms."""
    return [{}] if plan.armed else []


def read(plan: Plan, _values: Values) -> Files:
    """Return the tables of all runs of tasks with several arms."""
    names = {"evaluation": "evaluation", "curves": "pruning_epochs", "scores": "scores", "diversity": "diversity"}
    runs = plan.runs_of(*plan.armed)
    return {flag: plan.tables(name, runs) for flag, name in {**names, "training": "training"}.items()}


def mains(plan: Plan, _values: Values) -> Mapping[str, Any]:
    """Return the main criterion of every task with several arms."""
    main = [[task, plan.study.tasks[task].pruning.main] for task in plan.armed]
    return {"study": plan.study.study, "main": main}


def arms(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the arms of every task with several, and its main criterion."""
    return {**mains(plan, values), "arms": [[task, *plan.study.tasks[task].arms] for task in plan.armed]}


COMPARE = Stage(
    name="arms",
    about="compare the arms of every task, paired over seeds",
    group="Arms",
    calls=compared,
    outputs={"output": ARMS},
    reads=read,
    flags=arms,
)
INTERSECT = Stage(
    name="overlap",
    about="compare the important heads of seeds and arms",
    group="Arms",
    module="headroom.experiments.arms.overlap",
    calls=compared,
    outputs={"output": OVERLAP},
    reads=lambda plan, values: {"scores": plan.tables("scores", plan.runs_of(*plan.armed))},
    flags=mains,
)
EXPERIMENT = Experiment(
    noun="arms",
    rules=(Rule(stages=(COMPARE, INTERSECT), environment="plain", minutes=15, memory=2000),),
    sections=("repulsion_section",),
)
