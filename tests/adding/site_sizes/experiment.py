"""The experiment: its jobs and tables."""

from headroom.experiments.experiment import Experiment
from headroom.experiments.site_sizes.table import SITE_SIZES
from headroom.study.stages import Rule, Stage

COUNT = Stage(
    name="site_sizes",
    about="count the heads of every site",
    group="Which heads matter",
    calls=lambda plan: plan.calls(plan.detailed),
    outputs={"output": SITE_SIZES},
    reads=lambda plan, values: plan.trained_model(values["run"], "check"),
    settings=lambda plan, values: plan.sections(values["run"], "site_sizes"),
    loads_model=True,
)
EXPERIMENT = Experiment(noun="site_sizes", rules=(Rule(stages=(COUNT,), minutes=30),), sections=("section",))
