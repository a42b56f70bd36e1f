"""The experiment: its jobs and tables."""

from headroom.experiments.experiment import Experiment
from headroom.experiments.timing.declared import TIMING, TIMING_SAMPLES
from headroom.study.stages import Rule, Stage

TIME = Stage(
    name="timing",
    about="time full, masked and sliced models",
    group="Without heads",
    calls=lambda plan: plan.calls(run for run in plan.detailed if run in plan.removable),
    outputs={"output": TIMING, "samples": TIMING_SAMPLES},
    reads=lambda plan, values: {
        **plan.trained_model(values["run"], "test"),
        "scores": plan.tables("scores", [values["run"]]),
    },
    settings=lambda plan, values: plan.with_order(values["run"], "timing"),
    flags=lambda plan, values: {"set": "test"},
    loads_model=True,
)
EXPERIMENT = Experiment(noun="timing", rules=(Rule(stages=(TIME,), exclusive=True),), sections=("page",))
