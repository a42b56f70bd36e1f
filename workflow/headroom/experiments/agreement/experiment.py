"""The experiment: its jobs and tables."""

from headroom.experiments.agreement.table import AGREEMENT
from headroom.experiments.experiment import Experiment
from headroom.study.stages import Stage

AGREE = Stage(
    name="agreement",
    about="compare the ablation effects of several sets",
    group="Which heads matter",
    calls=lambda plan: plan.calls(plan.detailed),
    outputs={"output": AGREEMENT},
    reads=lambda plan, values: {"ablation": plan.tables("ablation", [f"{values['run']}.zero"])},
)
EXPERIMENT = Experiment(noun="agreement", sections=("section",))
