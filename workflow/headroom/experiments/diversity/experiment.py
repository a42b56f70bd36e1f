"""The experiment: its jobs and tables."""

from headroom.core.memory import Work
from headroom.experiments.diversity.table import DIVERSITY, PARTICLES
from headroom.experiments.experiment import Experiment
from headroom.study.memory import Call
from headroom.study.stages import Rule, Stage


def compare(call: Call) -> Work:
    """Return the work of passes that show attention weights; of the epoch before, the projections of heads are kept."""
    own, copies = call.task.diversity, 1.5 if call.task.epochs > 1 else 1.0
    return call.passes(own.batch_examples, "check", limit=own.examples, maps=True, copies=copies)


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
    work=compare,
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
