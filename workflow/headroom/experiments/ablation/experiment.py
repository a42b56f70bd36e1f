"""The experiment: its jobs and tables."""

from headroom.experiments.ablation.declared import ABLATION, ABLATION_HALVES
from headroom.experiments.experiment import Experiment
from headroom.study.plan import Plan
from headroom.study.stages import Rule, Stage


def sets(plan: Plan, run: str) -> list[str]:
    """Return the sets on which a run's heads are ablated."""
    far = plan.task(run).ablation.far_sets
    return ["choose", "test", *(plan.task(run).corpus.far_names if far is None else far)]


ABLATE = Stage(
    name="ablation",
    about="remove each head on its own",
    group="Which heads matter",
    calls=lambda plan: plan.replaced,
    outputs={"output": ABLATION, "halves": ABLATION_HALVES},
    reads=lambda plan, values: plan.trained_model(values["run"], *sets(plan, values["run"])),
    settings=lambda plan, values: plan.sections(values["run"], "ablation", "answers", "sampling"),
    flags=lambda plan, values: {"sets": sets(plan, values["run"]), "replacement": values["replacement"]},
    loads_model=True,
    sharded=True,
)
EXPERIMENT = Experiment(
    noun="ablation", rules=(Rule(stages=(ABLATE,), priority=20, minutes=600, megabytes=2200),), sections=("page",)
)
