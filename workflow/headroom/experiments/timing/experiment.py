"""The experiment: its jobs and tables."""

from headroom.core.memory import Work
from headroom.experiments.experiment import Experiment
from headroom.experiments.timing.table import TIMING, TIMING_SAMPLES
from headroom.study.memory import Call
from headroom.study.stages import Rule, Stage


def time(call: Call) -> Work:
    """Return the work of timed batches of the plain model and, for every share, a masked and a sliced one."""
    timing = call.task.timing
    examples, models = max(timing.batch_sizes), 1.0 + 2 * len(timing.shares)
    return call.passes(examples, "test", copies=models, generated=examples)


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
    work=time,
)
EXPERIMENT = Experiment(noun="timing", rules=(Rule(stages=(TIME,), exclusive=True),), sections=("section",))
