"""The experiment: its jobs and tables."""

from headroom.experiments.experiment import Experiment
from headroom.experiments.keep_one.declared import KEEP_ONE
from headroom.study.stages import Rule, Stage

KEEP = Stage(
    name="keep_one",
    about="keep one head per site",
    group="Which heads matter",
    calls=lambda plan: plan.replaced,
    outputs={"output": KEEP_ONE},
    reads=lambda plan, values: plan.trained_model(values["run"], "choose", "test"),
    settings=lambda plan, values: plan.sections(values["run"], "keep_one", "answers", "sampling"),
    flags=lambda plan, values: {"sets": ["choose", "test"], "replacement": values["replacement"]},
    loads_model=True,
    sharded=True,
)
EXPERIMENT = Experiment(noun="keep_one", rules=(Rule(stages=(KEEP,), minutes=600, megabytes=2200),), sections=("page",))
