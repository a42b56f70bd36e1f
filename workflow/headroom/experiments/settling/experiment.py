"""The experiment: its jobs and tables."""

from headroom.experiments.experiment import Experiment
from headroom.experiments.settling.table import SETTLING
from headroom.study.stages import Stage

SETTLE = Stage(
    name="settling",
    about="measure when head importance stabilises during training",
    group="Which heads matter",
    calls=lambda plan: plan.calls(run for run in plan.runs if len(plan.epochs(plan.runs[run].task)) > 1),
    outputs={"output": SETTLING},
    reads=lambda plan, values: {"scores": plan.tables("scores", [values["run"]])},
)
EXPERIMENT = Experiment(noun="settling", sections=("section",))
