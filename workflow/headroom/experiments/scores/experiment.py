"""The experiment: its jobs and tables."""

from headroom.experiments.experiment import Experiment
from headroom.experiments.scores.declared import SCORES
from headroom.study.stages import Rule, Stage

SCORE = Stage(
    name="scores",
    about="score every head by a family of criteria, e.g. gradient importance, with the cost of each",
    group="Which heads matter",
    calls=lambda plan: plan.calls(plan.runs),
    outputs={"output": SCORES},
    reads=lambda plan, values: plan.trained_models(values["run"], "choose"),
    settings=lambda plan, values: plan.sections(values["run"], "scores"),
    flags=lambda plan, values: {"set": "choose"},
    loads_model=True,
)
EXPERIMENT = Experiment(noun="scores", rules=(Rule(stages=(SCORE,)),), sections=("page",))
