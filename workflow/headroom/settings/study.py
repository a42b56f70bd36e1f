"""The configuration of a whole study: defaults, validation and the names of runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, PositiveInt, ValidationError

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.settings.base import SamplingSettings, Settings
from headroom.settings.checks import OF_FINE_TUNING, OF_TRAINING, TRANSLATION, mistakes
from headroom.settings.config_errors import explain_error, one_line
from headroom.settings.models import Device
from headroom.settings.tasks import ClassificationSettings, TranslationSettings

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
    translation: TranslationSettings | None = Field(None, description="the translation task; unset for none")
    classification: dict[str, ClassificationSettings] = Field(
        default_factory=dict, description="classification tasks, by name"
    )

    @property
    def tasks(self) -> dict[str, TranslationSettings | ClassificationSettings]:
        """The settings of every task by name, translation first."""
        return {**({TRANSLATION: self.translation} if self.translation else {}), **self.classification}

    def used(self) -> str:
        """Return the configuration as JSON with defaults, restricted to the values that affect results."""
        whole = self.model_dump(mode="json", exclude={"mirror", "shards", "epochs_per_job"})
        for name, task in self.tasks.items():
            section = whole[TRANSLATION] if name == TRANSLATION else whole["classification"][name]
            for arm in section["arms"].values():
                if arm.get("alpha", 0) is None:  # it depends on the model
                    del arm["alpha"]
            for unused in (OF_TRAINING if name == TRANSLATION else OF_FINE_TUNING) if task.released else ():
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


def load_study(configuration: object, source: str = "configuration") -> Study:
    """Validate a configuration and fill in the defaults.

    Args:
        configuration: The sections and keys.
        source: Where they come from, for messages.

    Raises:
        HeadroomError: `<source>: <key>: <message>` for every mistake; first those within sections, then across them.
    """
    try:
        study = Study.model_validate(configuration)
        lines = list(mistakes(study))
    except ValidationError as error:
        # defaults that depend on an invalid value are no mistakes of their own
        own = [one for one in error.errors() if one["type"] != "default_factory_not_called"]
        lines = [explain_error(one, configuration) for one in own]
    if lines:
        raise HeadroomError("\n".join(one_line(f"{source}: {line}") for line in dict.fromkeys(lines)))
    return study


def read_study(path: str) -> Study:
    """Read and validate a study's file.

    Raises:
        HeadroomError: If it is not UTF-8 or not YAML, with the line; and as in `load_study`.
    """
    try:
        return load_study(yaml.safe_load(Path(path).read_text(encoding="utf-8")), path)
    except OSError as error:
        raise HeadroomError(f"{path}: {error.strerror}; studies are config.yaml and those in studies/") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise HeadroomError(f"{path}, line {line}: not UTF-8; save the file in this encoding") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise HeadroomError(one_line(f"{path}, line {line}: not YAML, {error.problem}; correct the line")) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # characters and values that are invalid in YAML
        raise HeadroomError(one_line(f"{path}: not YAML, {error}; correct the file")) from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the name of the study that a file describes."""
    parser = stage_parser("study", "Check a study and print its name.")
    parser.add_argument("study", help="path of the configuration")
    print(read_study(parser.parse_args(arguments).study).study)


if __name__ == "__main__":
    run(main)
