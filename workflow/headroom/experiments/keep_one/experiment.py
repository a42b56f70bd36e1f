"""The experiment: its jobs and tables."""

from dataclasses import replace

from headroom.experiments.ablation.experiment import list_replaced
from headroom.experiments.experiment import Experiment
from headroom.experiments.keep_one.table import KEEP_ONE, KEEP_ONE_REPLACED
from headroom.study.stages import Rule, Stage

SETS = {"sets": ["choose", "test"]}
KEEP = Stage(
    name="keep_one",
    about="keep one head per site",
    group="Which heads matter",
    calls=lambda plan: plan.calls(plan.detailed),
    outputs={"output": KEEP_ONE},
    reads=lambda plan, values: plan.trained_model(values["run"], "choose", "test"),
    settings=lambda plan, values: plan.sections(values["run"], "keep_one", "answers", "sampling"),
    flags=lambda plan, values: SETS,
    loads_model=True,
    sharded=True,
)
REPLACED = replace(
    KEEP,
    calls=list_replaced,
    outputs={"output": KEEP_ONE_REPLACED},
    flags=lambda plan, values: {**SETS, "replacement": values["replacement"]},
)
EXPERIMENT = Experiment(
    noun="keep_one",
    rules=(Rule(stages=(KEEP,), minutes=600), Rule(stages=(REPLACED,), name="keep_one_replaced", minutes=600)),
    sections=("section",),
)
