"""The experiment: its jobs and tables."""

from headroom.experiments.agreement.experiment import AGREE
from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.experiment import survival_tables
from headroom.experiments.rank_correlation.table import RANK_CORRELATION
from headroom.experiments.settling.experiment import SETTLE
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values


def read(plan: Plan, values: Values) -> Files:
    """Return the tables with rankings of a run's heads."""
    run = values["run"]
    transformer = {run}.intersection(plan.transformers)
    found = {"scores": plan.tables("scores", [run]), "ablation": plan.tables("ablation", [f"{run}.zero"])}
    found |= {name.replace("_", "-"): plan.tables(name, transformer) for name in ("attention_stats", "relevance")}
    return {**found, "gates": survival_tables(plan, run), "halves": plan.tables("ablation_halves", [f"{run}.zero"])}


CORRELATE = Stage(
    name="rank_correlation",
    about="compare the head rankings of several criteria",
    group="Which heads matter",
    calls=lambda plan: plan.calls(plan.detailed),
    outputs={"output": RANK_CORRELATION},
    reads=read,
    settings=lambda plan, values: plan.with_main(values["run"]),
)
EXPERIMENT = Experiment(
    noun="rank_correlation",
    rules=(Rule(stages=(SETTLE, AGREE, CORRELATE), name="rankings", per=(), environment="plain", minutes=15),),
    sections=("section",),
)
