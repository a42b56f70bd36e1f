"""The experiment: its jobs and tables."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headroom.engines.command import ENGINES
from headroom.experiments.experiment import Experiment
from headroom.experiments.training.declared import TRAINING
from headroom.settings.tasks import LanguageSettings, TranslationSettings
from headroom.study.plan import Plan, leave_out
from headroom.study.stages import Files, Rule, Stage, Values

PIECES = 32
"""The pieces of a sentence, of which a batch of fairseq has as many as `max_tokens` allows."""


def read(plan: Plan, values: Values) -> Files:
    """Return what a training reads: text or binarised text, the initial encoder, the table of the job before it."""
    task = plan.task_of(values)
    before = {"dates": earlier_job(plan, values["run"], values.get("end"))}
    if plan.engine_of(task) == "fairseq":
        files = {"data": plan.binarised(task), "vocabulary": plan.vocabulary(task)}
    else:
        files = {"corpus": plan.corpus(task, "train", "choose", "check"), "encoder": plan.encoder(task)}
    return {**before, **{flag: [f"{plan.results}/{file}" for file in own] for flag, own in files.items()}}


def earlier_job(plan: Plan, run: str, end: str | None) -> list[str]:
    """Return the table of the job of a training before the one that ends at an epoch (None: the last one)."""
    before = [epoch for epoch in ends(plan, run) if epoch < int(end or plan.task(run).epochs)]
    return [f"{plan.results}/training_so_far/{run}.epoch{epoch}.csv" for epoch in before[-1:]]


def ends(plan: Plan, run: str) -> range:
    """Return the last epochs of the jobs of a training but the last one."""
    epochs = plan.task(run).epochs
    return range(plan.study.epochs_per_job or epochs, epochs, plan.study.epochs_per_job or epochs)


def settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of the training of a run."""
    task = plan.task(values["run"])
    assert not isinstance(task, LanguageSettings)
    shape = {"model": task.model} if isinstance(task, TranslationSettings) else {}
    return {"arm": task.arms[plan.runs[values["run"]].arm], "training": task.training, **shape}


def scratch_settings(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of a training that writes only its last checkpoint."""
    found = settings(plan, values)
    return {**found, "training": leave_out(found["training"], "early_checkpoints")}


def flags(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the flags of a training."""
    run = plan.runs[values["run"]]
    several = {"processes": plan.study.gpus} if plan.study.gpus > 1 else {}
    seeded = {"engine": plan.engine(values["run"]), "device": plan.study.device, "arm": run.arm, "seed": run.seed}
    return {**seeded, **several, **({"until": values["end"]} if "end" in values else {})}


def state_of(name: str, plan: Plan, files: Files) -> dict[str, str]:
    """Return the flag for the directory of a training's resumable state, beside the results.

    It is not an output: Snakemake deletes the outputs of failed jobs, and training would restart.
    """
    place = os.path.dirname(files["output"][0])  # <results>/<study>/training
    for _ in range(3):
        place = os.path.dirname(place)
    return {"work": os.path.join(place, "work", plan.study.study, name)}


def checkpoints(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return the outputs of a training."""
    places = [f"runs/{{run}}/epoch{epoch:g}" for epoch in plan.epochs(task)]
    return {"output": TRAINING, "checkpoints": [file for place in places for file in plan.model(task, place)]}


def list_parts(plan: Plan) -> Iterator[Values]:
    """Yield the jobs of trainings in several jobs but the last ones."""
    yield from ({"run": run, "end": str(end)} for run in plan.trained for end in ends(plan, run))


TRAIN = Stage(
    name="training",
    about="train a translation model or a classifier, a checkpoint per epoch",
    group="Models",
    calls=lambda plan: plan.calls(plan.trained),
    outputs=checkpoints,
    reads=read,
    unnamed=("vocabulary",),
    settings=settings,
    flags=flags,
    derived=lambda plan, values, files: state_of(values["run"], plan, files),
    imports=lambda plan, values: [f"{ENGINES[plan.engine(values['run'])]}.arms"],
)
PART = replace(
    TRAIN, calls=list_parts, outputs={"output": replace(TRAINING, path="training_so_far/{run}.epoch{end}.csv")}
)
OF_TRAINING: dict[str, Any] = {
    "by_kind": True,
    "priority": 50,
    "minutes": 24 * 60,
    "megabytes": 4000,
    "gpus": lambda plan: plan.study.gpus,
}
EXPERIMENT = Experiment(
    noun="training",
    rules=(Rule(stages=(TRAIN,), **OF_TRAINING), Rule(stages=(PART,), name="training_until", **OF_TRAINING)),
    sections=("page",),
)
