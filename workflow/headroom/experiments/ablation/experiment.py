"""The experiment: its jobs and tables."""

from collections.abc import Iterator
from dataclasses import replace

from headroom.experiments.ablation.table import ABLATION, ABLATION_HALVES, ABLATION_REPLACED
from headroom.experiments.experiment import Experiment
from headroom.study.plan import Plan
from headroom.study.stages import Rule, Stage, Values


def sets(plan: Plan, run: str) -> list[str]:
    """Return the sets on which a run's heads are ablated."""
    far = plan.task(run).ablation.far_sets
    return ["choose", "test", *(plan.task(run).corpus.far_names if far is None else far)]


def list_replaced(plan: Plan) -> Iterator[Values]:
    """Yield the runs whose sweeps are repeated with another replacement than zero."""
    yield from ({"run": run, "replacement": kind} for run in plan.detailed for kind in plan.replacements(run))


ABLATE = Stage(
    name="ablation",
    about="remove each head on its own",
    group="Which heads matter",
    calls=lambda plan: plan.calls(plan.detailed),
    outputs={"output": ABLATION, "halves": ABLATION_HALVES},
    reads=lambda plan, values: plan.trained_model(values["run"], *sets(plan, values["run"])),
    settings=lambda plan, values: plan.sections(values["run"], "ablation", "answers", "sampling"),
    flags=lambda plan, values: {"sets": sets(plan, values["run"])},
    loads_model=True,
    sharded=True,
)
REPLACED = replace(
    ABLATE,
    calls=list_replaced,
    outputs={"output": ABLATION_REPLACED},
    flags=lambda plan, values: {"sets": sets(plan, values["run"]), "replacement": values["replacement"]},
)
EXPERIMENT = Experiment(
    noun="ablation",
    rules=(
        Rule(stages=(ABLATE,), priority=20, minutes=600),
        Rule(stages=(REPLACED,), name="ablation_replaced", priority=20, minutes=600),
    ),
    sections=("section",),
)
