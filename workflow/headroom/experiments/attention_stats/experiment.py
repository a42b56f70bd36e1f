"""The experiment: its jobs and tables."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headroom.experiments.attention_stats.declared import ATTENTION_STATS, DISTANCES, RELEVANCE
from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.experiment import models_of, pruned_checkpoint, stats_of_pruned, table_of_models
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values


def read_pruned(plan: Plan, values: Values) -> Files:
    """Return what statistics of a pruned model need: the directory of its method's models, and their table."""
    run, way = values["run"], values["way"]
    models = {"models": [models_of(plan, run, way)], "dates": [table_of_models(plan, run, way)]}
    return {**plan.data(run, "check", "train"), **models, "treebank": plan.treebank(run)}


def name_pruned(plan: Plan, values: Values, files: Files) -> Mapping[str, Any]:
    """Return the checkpoint and the name of a pruned model."""
    place = pruned_checkpoint(plan, files["models"][0], values["run"], values["strength"])
    return {"checkpoint": place, "name": f"{values['way']}.{values['strength']}"}


def list_pruned(plan: Plan) -> Iterator[Values]:
    """Yield the pruned models whose roles are computed."""
    for run in plan.detailed:
        yield from ({"run": run, "way": way, "strength": name} for way, name in stats_of_pruned(plan, run))


OBSERVE = Stage(
    name="attention_stats",
    about="measure where every head points: offsets, relations, rare words, confidence",
    group="What heads do",
    calls=lambda plan: plan.calls(plan.transformers),
    outputs={"output": ATTENTION_STATS, "distances": DISTANCES},
    reads=lambda plan, values: {
        **plan.trained_model(values["run"], "check", *plan.frequent_words(values["run"])),
        "treebank": plan.treebank(values["run"]),
    },
    settings=lambda plan, values: plan.sections(values["run"], "attention_stats", "sampling"),
    flags=lambda plan, values: {"set": "check", "models": ["trained", "untrained"]},
    loads_model=True,
)
RELATE = Stage(
    name="relevance",
    about="compute the relevance of heads by layer-wise relevance propagation",
    group="What heads do",
    module="headroom.experiments.attention_stats.relevance",
    calls=OBSERVE.calls,
    outputs={"output": RELEVANCE},
    reads=lambda plan, values: plan.trained_model(values["run"], "check"),
    settings=lambda plan, values: plan.sections(values["run"], "relevance"),
    flags=lambda plan, values: {"set": "check"},
    loads_model=True,
)
PRUNED = replace(
    OBSERVE,
    calls=list_pruned,
    outputs={"output": replace(ATTENTION_STATS, path="attention_stats/{run}.{way}.{strength}.csv")},
    reads=read_pruned,
    flags=lambda plan, values: {"set": "check"},
    derived=name_pruned,
)
EXPERIMENT = Experiment(
    noun="attention_stats",
    rules=(
        Rule(stages=(OBSERVE, RELATE)),
        Rule(stages=(PRUNED,), name="attention_stats_pruned", per=("run",), by_kind=True),
    ),
)
