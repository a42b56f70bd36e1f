"""The experiment: its jobs and tables."""

from collections.abc import Mapping
from typing import Any

from headroom.experiments.experiment import Experiment
from headroom.experiments.update_cost.declared import UPDATE_COST
from headroom.settings.tasks import TranslationSettings
from headroom.study.plan import Plan, leave_out
from headroom.study.stages import Files, Rule, Stage, Values


def read(plan: Plan, values: Values) -> Files:
    """Return what updates need: the binarised text and its dictionaries."""
    files = {"data": plan.binarised(values["task"]), "vocabulary": plan.vocabulary(values["task"])}
    return {flag: [f"{plan.results}/{file}" for file in own] for flag, own in files.items()}


def settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the time of an update in every arm, without epochs and checkpoints."""
    task = plan.study.tasks[values["task"]]
    assert isinstance(task, TranslationSettings)
    arms = {name: arm.model_dump(mode="json") for name, arm in task.arms.items()}
    training = leave_out(task.training, "epochs", "early_checkpoints")
    return {"arms": arms, "model": task.model, "training": training, "update_cost": task.update_cost}


TIME = Stage(
    name="update_cost",
    about="time the updates of every arm of the first translation task",
    group="Arms",
    calls=lambda plan: [{"task": task} for task in plan.armed if plan.kind_of(task) == "translation"][:1],
    outputs={"output": UPDATE_COST},
    reads=read,
    unnamed=("vocabulary",),
    settings=settings,
    flags=lambda plan, values: {"study": plan.study.study, "device": plan.study.device},
    imports=lambda plan, values: ["headroom.engines.fairseq.arms"],
)
EXPERIMENT = Experiment(noun="update_cost", rules=(Rule(stages=(TIME,), per=(), exclusive=True, minutes=60),))
