"""The experiment: its jobs and tables."""

from headroom.experiments.experiment import Experiment
from headroom.experiments.phenomena.declared import PHENOMENA
from headroom.settings.tasks import TaskSettings
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values


def tested(plan: Plan) -> list[str]:
    """Return the runs with accuracies per phenomenon: every seed of the first arm, on generated text with trees."""
    return [name for name in plan.translated if _has_phenomena(plan.task(name)) and plan.is_first_arm(name)]


def _has_phenomena(task: TaskSettings) -> bool:
    return not task.released and task.corpus.source == "generated" and task.treebank.source != "none"


def read(plan: Plan, values: Values) -> Files:
    """Return what the accuracies need: a model, the words that test phenomena, the roles of heads."""
    run = values["run"]
    cases = f"{plan.results}/{plan.task_of(values)}/corpus/test.phenomena.csv"
    return {**plan.trained_model(run, "test"), "cases": [cases], "roles": plan.tables("roles", [run])}


TEST = Stage(
    name="phenomena",
    about="measure accuracy per phenomenon, also without the heads of a relation",
    group="What heads do",
    calls=lambda plan: plan.calls(tested(plan)),
    outputs={"output": PHENOMENA},
    reads=read,
    settings=lambda plan, values: plan.sections(values["run"], "phenomena", "sampling"),
    flags=lambda plan, values: {"set": "test"},
    loads_model=True,
)
EXPERIMENT = Experiment(noun="phenomena", rules=(Rule(stages=(TEST,), minutes=60),), sections=("page",))
