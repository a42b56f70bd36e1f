"""The experiment: its jobs and tables."""

from headroom.experiments.experiment import Experiment
from headroom.experiments.minimal_pairs.declared import MINIMAL_PAIRS
from headroom.settings.tasks import LanguageSettings
from headroom.study.plan import Plan, keep
from headroom.study.stages import Files, Rule, Stage, Values


def tested(plan: Plan) -> list[str]:
    """Return the runs of language models whose study has pairs."""
    return [run for run in plan.detailed if isinstance(own := plan.task(run), LanguageSettings) and own.pairs]


def read(plan: Plan, values: Values) -> Files:
    """Return what the accuracies need: a model, its scores and the pairs."""
    pairs = f"{plan.results}/{plan.task_of(values)}/corpus/pairs.tsv"
    return {
        **plan.trained_model(values["run"], "test"),
        "pairs": [pairs],
        "scores": plan.tables("scores", [values["run"]]),
    }


TEST = Stage(
    name="minimal_pairs",
    about="measure accuracy on minimal pairs as heads are removed",
    group="What heads do",
    calls=lambda plan: plan.calls(tested(plan)),
    outputs={"output": MINIMAL_PAIRS},
    reads=read,
    settings=lambda plan, values: {
        **plan.sections(values["run"], "sampling"),
        "pruning": keep(plan.task(values["run"]).pruning, "main", "unit", "step"),
    },
    loads_model=True,
)
EXPERIMENT = Experiment(noun="minimal_pairs", rules=(Rule(stages=(TEST,), minutes=60),), sections=("page",))
