"""The configuration of a whole study: defaults, validation and the names of runs."""

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, PositiveInt, field_validator

from headroom.settings.base import SamplingSettings, Settings
from headroom.settings.models import Device
from headroom.settings.tasks import TaskSettings

Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""The range of seeds that all libraries accept."""


@dataclass(frozen=True)
class Run:
    """One trained model of a study: its name is `<task>.<arm>.seed<seed>`."""

    task: str
    arm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.task}.{self.arm}.seed{self.seed}"


class Study(Settings):
    """One study: tasks, seeds and experiments."""

    study: str = Field(
        "starter",
        max_length=100,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
        description="name; results go to results/<study>/",
    )
    device: Device = Field("auto", description="device: auto uses CUDA if available")
    gpus: PositiveInt = Field(
        1,
        le=64,
        description="GPUs per training; more than 1 require device: cuda. They share the batches of every update, "
        "which does not depend on their number: update_frequency of translation and batch_size of "
        "classification must be multiples of it",
    )
    mirror: str | None = Field(
        None,
        description="directory or http(s) address, laid out as <dataset>/<file>, that is tried before downloads",
    )
    seeds: tuple[Seed, ...] = Field((1, 2), description="one run per task, arm and seed", min_length=1)
    shards: PositiveInt = Field(
        1, le=1000, description="jobs per sweep over heads, for clusters; the tables are identical"
    )
    epochs_per_job: PositiveInt | None = Field(
        None,
        description="maximum number of epochs per training job, for time limits; unset for all. The models are "
        "identical",
    )
    sampling: SamplingSettings = Field(default_factory=SamplingSettings, description="significance")
    tasks: dict[str, TaskSettings] = Field(default_factory=dict, description="what models are asked on which text")

    @field_validator("study", mode="before")
    @classmethod
    def _can_name_files(cls, name: Any) -> Any:
        if isinstance(name, str) and (wrong := re.sub(r"[A-Za-z0-9_-]", "", name)):
            raise ValueError(f"'{name}' has the character '{wrong[0]}'; use letters, digits, hyphens and underscores")
        return name

    def used(self) -> str:
        """Return the configuration as JSON with defaults, restricted to the values that affect results."""
        whole = self.model_dump(mode="json", exclude={"mirror", "shards", "epochs_per_job"})
        for name, task in self.tasks.items():
            section = whole["tasks"][name]
            for arm in section["arms"].values():
                if arm.get("alpha", 0) is None:  # it depends on the model
                    del arm["alpha"]
            for unused in task.unused if task.released else ():
                del section[unused]
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)

    def runs(self) -> dict[str, Run]:
        """Return every run by its name: tasks, arms and seeds in order."""
        runs = [Run(name, arm, seed) for name, task in self.tasks.items() for arm in task.arms for seed in self.seeds]
        return {str(run): run for run in runs}

    def detailed_runs(self) -> list[str]:
        """Return the runs with detailed experiments: the first seeds of every task's first arm."""
        return [
            str(Run(name, next(iter(task.arms)), seed))
            for name, task in self.tasks.items()
            for seed in self.seeds[: task.detailed_seeds]
        ]
