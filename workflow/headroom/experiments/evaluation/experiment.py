"""The experiment: its jobs and tables."""

from headroom.experiments.evaluation.declared import EVALUATION
from headroom.experiments.experiment import Experiment
from headroom.study.plan import Plan
from headroom.study.stages import Rule, Stage


def sets(plan: Plan, run: str) -> list[str]:
    """Return the sets of the final scores."""
    return ["check", "test", *plan.task(run).corpus.far_names]


def sections(plan: Plan, run: str) -> list[str]:
    """Return the sections that decide the final scores."""
    search = ["evaluation"] if run in plan.translated else []
    return [*search, "answers", "sampling"]


EVALUATE = Stage(
    name="evaluation",
    about="compute the final scores of a run on every set",
    group="Models",
    calls=lambda plan: plan.calls(plan.runs),
    outputs={"output": EVALUATION},
    reads=lambda plan, values: plan.trained_model(values["run"], *sets(plan, values["run"])),
    settings=lambda plan, values: plan.sections(values["run"], *sections(plan, values["run"])),
    flags=lambda plan, values: {"sets": sets(plan, values["run"])},
    loads_model=True,
)
EXPERIMENT = Experiment(noun="evaluation", rules=(Rule(stages=(EVALUATE,)),))
