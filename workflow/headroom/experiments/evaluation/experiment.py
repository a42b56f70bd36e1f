"""The experiment: its jobs and tables."""

from headroom.core.memory import Work
from headroom.experiments.evaluation.table import EVALUATION
from headroom.experiments.experiment import Experiment
from headroom.settings.tasks import TranslationSettings
from headroom.study.memory import Call
from headroom.study.plan import Plan
from headroom.study.stages import Rule, Stage


def sets(plan: Plan, run: str) -> list[str]:
    """Return the sets of the final scores."""
    return ["check", "test", *plan.task(run).corpus.far_names]


def sections(plan: Plan, run: str) -> list[str]:
    """Return the sections that decide the final scores."""
    search = ["evaluation"] if run in plan.translated else []
    return [*search, "answers", "sampling"]


def answer(call: Call) -> Work:
    """Return the work of final answers; translations are searched for with a beam."""
    task = call.task
    beam = task.evaluation.beam if isinstance(task, TranslationSettings) else 1
    return call.judge(*sets(call.plan, call.values["run"]), beam=beam)


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
    work=answer,
)
EXPERIMENT = Experiment(noun="evaluation", rules=(Rule(stages=(EVALUATE,)),))
