"""The experiment: its jobs and tables."""

from headroom.experiments.diversity.declared import DIVERSITY, PARTICLES
from headroom.experiments.experiment import Experiment
from headroom.study.stages import Rule, Stage

COMPARE = Stage(
    name="diversity",
    about="measure the similarity of the heads of a site",
    group="What heads do",
    calls=lambda plan: plan.calls(plan.runs),
    outputs={"output": DIVERSITY},
    reads=lambda plan, values: plan.trained_models(values["run"], "check", epochs=plan.whole(values["run"])),
    settings=lambda plan, values: plan.sections(values["run"], "diversity"),
    flags=lambda plan, values: {"set": "check"},
    loads_model=True,
)
MEASURE = Stage(
    name="particles",
    about="measure heads as particles: norms, kernels, direction of repulsion",
    group="What heads do",
    module="headroom.experiments.diversity.particles",
    calls=COMPARE.calls,
    outputs={"output": PARTICLES},
    reads=COMPARE.reads,
    loads_model=True,
)
EXPERIMENT = Experiment(noun="diversity", rules=(Rule(stages=(COMPARE, MEASURE)),))
