"""The experiment: its jobs and tables."""

from dataclasses import replace

from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.experiment import stats_of_pruned
from headroom.experiments.roles.declared import ROLES
from headroom.study.plan import Plan
from headroom.study.stages import Rule, Stage


def stats_tables_of_pruned(plan: Plan, run: str) -> list[str]:
    """Return the attention statistics of a run's pruned models."""
    names = (f"{run}.{way}.{strength}" for way, strength in stats_of_pruned(plan, run))
    return plan.tables("attention_stats", names)


ASSIGN = Stage(
    name="roles",
    about="assign roles to heads by where they point",
    group="What heads do",
    named=False,
    calls=lambda plan: plan.calls(plan.transformers),
    outputs={"output": ROLES},
    reads=lambda plan, values: {"pointing": plan.tables("attention_stats", [values["run"]])},
)
PRUNED = replace(
    ASSIGN,
    calls=lambda plan: plan.calls(run for run in plan.detailed if stats_of_pruned(plan, run)),
    outputs={"output": replace(ROLES, path="roles/{run}.pruned.csv")},
    reads=lambda plan, values: {"pointing": stats_tables_of_pruned(plan, values["run"])},
)
EXPERIMENT = Experiment(
    noun="roles",
    rules=(Rule(stages=(ASSIGN, PRUNED), per=(), environment="plain", minutes=15),),
    sections=("page",),
)
