"""The experiment: its jobs and tables."""

from headroom.experiments.agreement.declared import AGREEMENT
from headroom.experiments.bakeoff.experiment import compared, families
from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.experiment import survival_tables
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values


def list_runs(plan: Plan) -> list[str]:
    """Return the runs with several rankings of their heads: of epochs, or of sets, criteria and replacements."""
    runs = plan.runs
    several = {run for run in runs if len(plan.epochs(runs[run].task)) > 1}
    chosen = {run for task in plan.study.tasks for run in compared(plan, task)}
    return [run for run in runs if run in several | chosen | {*plan.detailed}]


def read(plan: Plan, values: Values) -> Files:
    """Return the tables with rankings of a run's heads."""
    run = values["run"]
    task = plan.runs[run].task
    found = {"scores": plan.tables("scores", [run])}
    if run in compared(plan, task):
        found["compared"] = plan.tables("scores_compared", (f"{run}.{one}" for one in families(plan, task)))
    if run not in plan.detailed:
        return found
    zero, *others = (f"{run}.{one}" for one in plan.replacements(run))
    found |= {"ablation": plan.tables("ablation", [zero]), "replaced": plan.tables("ablation", others)}
    transformer = {run}.intersection(plan.transformers)
    found |= {name.replace("_", "-"): plan.tables(name, transformer) for name in ("attention_stats", "relevance")}
    return {**found, "gates": survival_tables(plan, run), "halves": plan.tables("ablation_halves", [zero])}


COMPARE = Stage(
    name="agreement",
    about="compare rankings of the same heads: on several sets, in all epochs, by criteria, by replacements",
    group="Which heads matter",
    calls=lambda plan: plan.calls(list_runs(plan)),
    outputs={"output": AGREEMENT},
    reads=read,
    settings=lambda plan, values: plan.with_main(values["run"]),
)
EXPERIMENT = Experiment(
    noun="agreement",
    rules=(Rule(stages=(COMPARE,), per=(), environment="plain", minutes=15),),
    sections=("page",),
)
