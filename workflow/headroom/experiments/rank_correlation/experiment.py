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
    found = {name: plan.tables(name, [run]) for name in ("scores", "ablation")}
    found |= {name.replace("_", "-"): plan.tables(name, transformer) for name in ("attention_stats", "relevance")}
    halves = [path for name in ("scores", "ablation") for path in plan.tables(f"{name}_halves", [run])]
    return {**found, "gates": survival_tables(plan, run), "halves": halves}


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
    rules=(
        Rule(stages=(SETTLE, AGREE, CORRELATE), name="rankings", per=(), environment="plain", minutes=15, memory=1000),
    ),
    sections=("section",),
)
