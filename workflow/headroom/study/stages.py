"""What a job of the workflow is: a program or several, what they read and write, and the settings that decide them."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headroom.core.table import Table
from headroom.study.plan import Plan

Values = Mapping[str, str]
"""The wildcards of a call, e.g. its run."""

Files = Mapping[str, Sequence[str]]
"""Files by the flag that names them."""

UNNAMED = ("outside", "dates", "models", "shards")
"""Inputs without a flag: files outside the results, files whose change matters, directories of models, shards."""

DIRECTORIES = ("corpus", "vocabulary", "encoder", "data")
"""Inputs whose flag takes the directory of the files."""

Outputs = Mapping[str, Table | str | Sequence[str]]
"""What a program writes by flag: tables, or paths below the results. A directory ends in a slash."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A program, `python -m headroom <name>`, and all of its calls in a study.

    Attributes:
        name: Its name.
        about: What it does, in a line for `--help`.
        group: The group of `--help` that lists it.
        module: The module with its command line, by default that of the experiment of its name.
        calls: From a plan to the wildcards of every call.
        outputs: By flag, its tables and other files with wildcards, or a function from a plan and a task to them.
        reads: From a plan and wildcards to its inputs by flag. Paths may contain Snakemake's path variables.
        settings: From a plan and wildcards to the sections of the configuration that decide its results.
        flags: From a plan and wildcards to further flags.
        derived: As `flags`, also from all files of the job as they are on the disk, by flag.
        imports: From a plan and wildcards to the modules that it imports by name.
        named: Whether it takes the names of study and run, columns of its tables.
        loads_model: Whether it loads a trained model: it gets the engine and the device.
        sharded: Whether its evaluations can be divided over several jobs.
        unnamed: Further inputs without a flag.
        downloads: Whether, from a plan and a task, it downloads files, and takes the mirror.
    """

    name: str
    about: str
    group: str
    module: str = ""
    calls: Callable[[Plan], Iterable[Values]] = field(default=lambda _plan: ())
    outputs: Outputs | Callable[[Plan, str], Outputs] = field(default_factory=dict)
    reads: Callable[[Plan, Values], Files] = field(default=lambda _plan, _values: {})
    settings: Callable[[Plan, Values], Mapping[str, Any]] = field(default=lambda _plan, _values: {})
    flags: Callable[[Plan, Values], Mapping[str, Any]] = field(default=lambda _plan, _values: {})
    derived: Callable[[Plan, Values, Files], Mapping[str, Any]] = field(default=lambda _plan, _values, _files: {})
    imports: Callable[[Plan, Values], Sequence[str]] = field(default=lambda _plan, _values: ())
    named: bool = True
    loads_model: bool = False
    sharded: bool = False
    unnamed: Sequence[str] = ()
    downloads: Callable[[Plan, str], bool] = field(default=lambda _plan, _task: False)

    @property
    def place(self) -> str:
        """The module with its command line."""
        return self.module or f"headroom.experiments.{self.name}.stage"

    def outputs_of(self, plan: Plan, task: str) -> Outputs:
        """Return what it writes for a task."""
        return self.outputs if isinstance(self.outputs, Mapping) else self.outputs(plan, task)

    def written(self, plan: Plan, values: Values, task: str | None = None) -> dict[str, list[str]]:
        """Return the output paths of a call of a task by flag, as patterns of the wildcards that `values` lacks."""
        found: dict[str, list[str]] = {}
        for flag, made in self.outputs_of(plan, plan.task_of(values) if task is None else task).items():
            paths = [made.path] if isinstance(made, Table) else [made] if isinstance(made, str) else made
            found[flag] = [fill(path, values) for path in paths]
            if isinstance(made, Table) and made.resampled:
                found["resamples"] = [f"{path.removesuffix('.csv')}.npz" for path in found[flag]]
        return found

    def decided_by(self, plan: Plan, values: Values) -> dict[str, Any]:
        """Return the flags of a call that name no file: they decide its results."""
        found: dict[str, Any] = (
            {"run": values.get("run"), "study": plan.study.study} if self.named and "run" in values else {}
        )
        if self.loads_model:
            found |= {"engine": plan.engine(values["run"]), "device": plan.study.device}
        shared = plan.of_reading(values["run"]) if self.loads_model else {}
        settings = {name: as_data(section) for name, section in {**shared, **self.settings(plan, values)}.items()}
        return {**found, **self.flags(plan, values), **({"settings": settings} if settings else {})}

    def places(self, plan: Plan, values: Values, inputs: Files, outputs: Files) -> dict[str, Any]:
        """Return the flags of a call that name files.

        Args:
            plan: The plan.
            values: The wildcards of the call.
            inputs: Its input files by flag, as they are on the disk.
            outputs: Its output files by flag.
        """
        unnamed = {*UNNAMED, *self.unnamed}
        found: dict[str, Any] = {
            flag: place_of(flag, files) for flag, files in inputs.items() if files and flag not in unnamed
        }
        found |= {flag: outputs_at(flag, files) for flag, files in outputs.items() if flag != "resamples"}
        return {**found, **self.derived(plan, values, {**inputs, **outputs})}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Stages whose calls are jobs of one form; what takes seconds shares a job with its like.

    Attributes:
        stages: The stages; their calls of the same wildcards share a job.
        per: The wildcards that tell jobs apart; calls that differ in others share a job. None for all.
        by_kind: Whether jobs of different kinds of tasks have different outputs, so that their rules have names of
            their own, e.g. `training_translation`.
        name: Its name, by default that of the first stage.
        priority: Jobs of a higher priority start first.
        minutes: The longest time of a job.
        megabytes: The memory that a job requests, without that for its models.
        environment: The environment, a file in `envs/`, or a function from a plan and a task to it; by default that
            of the task's models.
        exclusive: Whether its jobs measure time, and have the machine for themselves.
        gpus: From a plan to the GPUs of a job; each has a process.
    """

    stages: tuple[Stage, ...]
    per: tuple[str, ...] | None = None
    by_kind: bool = False
    name: str = ""
    priority: int = 0
    minutes: int = 120
    megabytes: int = 1200
    environment: str | Callable[[Plan, str], str] = Plan.environment_of
    exclusive: bool = False
    gpus: Callable[[Plan], int] | None = None

    @property
    def title(self) -> str:
        """Its name."""
        return self.name or self.stages[0].name


def is_directory(path: str) -> bool:
    """Return whether an output is a directory."""
    return path.endswith("/")


def fill(pattern: str, values: Values) -> str:
    """Return a pattern with the values of some of its wildcards."""
    for name, value in values.items():
        pattern = pattern.replace(f"{{{name}}}", value)
    return pattern


def place_of(flag: str, files: Sequence[str]) -> str | list[str]:
    """Return the value of a flag for input files: a directory, the last or all models, or the files."""
    if flag in DIRECTORIES:
        return os.path.dirname(files[0])
    if flag == "checkpoint":
        return models_in(files)[-1]
    return models_in(files) if flag == "checkpoints" else list(files)


def outputs_at(flag: str, files: Sequence[str]) -> str:
    """Return the value of a flag for output files: the file, or the directory of several."""
    if flag == "checkpoints":
        return os.path.dirname(models_in(files)[0])
    return os.path.dirname(files[0]) if len(files) > 1 else files[0]


def models_in(files: Sequence[str]) -> list[str]:
    """Return the models whose files these are: a file of fairseq or a directory each."""
    return list(dict.fromkeys(file if file.endswith(".pt") else os.path.dirname(file) for file in files))


def as_data(section: Any) -> Any:
    """Return a section of the configuration as data."""
    return section.model_dump(mode="json") if hasattr(section, "model_dump") else section
