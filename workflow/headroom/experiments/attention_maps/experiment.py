"""The experiment: its jobs."""

from headroom.experiments.experiment import Experiment
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values

MAPS = "attention_maps/{run}.json"


def read(plan: Plan, values: Values) -> Files:
    """Return what maps need: a model, the roles of its heads, where they point, sentences."""
    run = values["run"]
    tables = {"roles": plan.tables("roles", [run]), "pointing": plan.tables("attention_stats", [run])}
    return {**plan.trained_model(run, "check"), "treebank": plan.treebank(run), **tables}


DRAW = Stage(
    name="attention_maps",
    about="extract attention maps of heads with roles",
    group="What heads do",
    calls=lambda plan: plan.calls(run for run in plan.detailed if run in plan.transformers),
    outputs={"output": MAPS},
    reads=read,
    flags=lambda plan, values: {"set": "check"},
    loads_model=True,
)
EXPERIMENT = Experiment(noun="attention_maps", rules=(Rule(stages=(DRAW,), minutes=30),))
