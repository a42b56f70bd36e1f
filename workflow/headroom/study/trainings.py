"""The trainings of a study: the epochs at which their jobs end, and what these are told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.models.command import LIBRARIES
from headroom.settings.tasks import DocumentsSettings, TranslationSettings
from headroom.study.plan import Plan, leave_out, local_files


def list_ends(plan: Plan, run: str) -> range:
    """Return the last epochs of the jobs of a training but the last one."""
    epochs = plan.task(run).epochs
    return range(plan.study.epochs_per_job or epochs, epochs, plan.study.epochs_per_job or epochs)


def earlier_part(plan: Plan, run: str, end: str = "") -> list[str]:
    """Return the table of the job of a training before the one that ends at an epoch ("": the last one), if any."""
    before = [epoch for epoch in list_ends(plan, run) if epoch < int(end or plan.task(run).epochs)]
    return plan.tables("training_so_far", [f"{run}.epoch{epoch}" for epoch in before[-1:]])


def find_import(plan: Plan, run: str) -> str:
    """Return the module that imports released models of a run's kind."""
    return f"{LIBRARIES[plan.library_of(plan.runs[run].task)]}.released"


def tell_released(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return what the import of a released model is told."""
    engine = plan.library_of(plan.runs[run].task)
    return {"engine": engine, "fairseq" if engine == "fairseq" else "released": plan.task(run).released}


def find_downloads(plan: Plan, wildcards: Any, _input: Any, output: Any) -> dict[str, str]:
    """Return the flag for the directory of fairseq's archives: not an output, so that a download resumes."""
    task = plan.runs[wildcards.run].task
    place = Path(output.checkpoints).parents[1] / task / "downloads"
    return {"downloads": str(place)} if plan.library_of(task) == "fairseq" else {}


def list_released_files(plan: Plan, run: str) -> list[str]:
    """Return the user's files of a released model."""
    released = plan.task(run).released
    return [file for one in released.series for file in local_files(one.path)] if released else []


def tell(plan: Plan, run: str, end: str = "") -> Mapping[str, Any]:
    """Return what the training of a run is told; `end` is the epoch at which its job ends, "" for the last one."""
    own = plan.runs[run]
    several = {"processes": plan.study.gpus} if plan.study.gpus > 1 else {}
    told = {"device": plan.study.device, "arm_name": own.arm, "seed": own.seed, **({"until": int(end)} if end else {})}
    return {**told, **several, **settings(plan, run)}


def find_state(plan: Plan, _wildcards: Any, _input: Any, output: Any) -> dict[str, str]:
    """Return the flag for the directory of a training's resumable state, beside the results.

    It is not an output: Snakemake deletes the outputs of failed jobs, and the training would restart.
    """
    table = Path(output.output)  # <results>/<study>/training/{run}.csv
    run = table.stem.partition(".epoch")[0] if table.parent.name == "training_so_far" else table.stem
    return {"work": str(table.parents[3] / "work" / plan.study.study / run)}


def settings(plan: Plan, run: str) -> dict[str, Any]:
    """Return the sections of the configuration for the training of a run."""
    task = plan.task(run)
    assert not isinstance(task, DocumentsSettings)
    shape = {"model": task.model} if isinstance(task, TranslationSettings) else {}
    return {"arm": task.arms[plan.runs[run].arm], "training": task.training, **shape}


def tell_evaluation(plan: Plan, run: str) -> Mapping[str, Any]:
    """Return what the final evaluation of a run is told: translations are searched for by a beam."""
    search = ["evaluation"] if run in plan.translated else []
    sets = ["check", "test", *plan.task(run).corpus.far_names]
    return {"sets": sets, **plan.sections(run, *search, "answers", "sampling")}


def tell_updates(plan: Plan) -> Mapping[str, Any]:
    """Return what the timing of the updates of every arm is told, without epochs and checkpoints."""
    task = plan.study.tasks[plan.timed_task]
    assert isinstance(task, TranslationSettings)
    arms = {name: arm.model_dump(mode="json") for name, arm in task.arms.items()}
    training = leave_out(task.training, "epochs", "early_checkpoints")
    sections = {"arms": arms, "model": task.model, "training": training, "update_cost": task.update_cost}
    return {"device": plan.study.device, **sections}
