"""The configuration of a study as a whole: defaults, checks and the names that follow from it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import Field, PositiveInt, ValidationError, field_validator, model_validator

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.settings.base import SamplingSettings, Settings
from headroom.settings.config_errors import check_texts, explained, one_line
from headroom.settings.labelled import GeneratedPairs, check_treebank
from headroom.settings.models import Device
from headroom.settings.tasks import (
    OF_FINE_TUNING,
    OF_TRAINING,
    ClassificationSettings,
    TranslationSettings,
    check_arms_of_classifier,
    check_far_sets,
    check_idle,
    check_sizes,
    check_training_text,
    is_name,
)

Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What every library takes as a seed."""

TRANSLATION = "translation"
TAKEN = (TRANSLATION, "pruned", "benchmarks")
"""What no classification task can be called: rules and directories of results have these names."""


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
    device: Device = Field("auto", description="where to compute: auto takes CUDA where there is one")
    gpus: PositiveInt = Field(
        1,
        le=64,
        description="GPUs that each training uses; more than 1 need device: cuda. They share the batches of every "
        "update, which is the same whatever their number: update_frequency of translation and batch_size of "
        "classification have to be multiples of it",
    )
    mirror: str | None = Field(
        None,
        description="directory or http(s) address, laid out as <dataset>/<file>, that downloads are tried from first",
    )
    seeds: tuple[Seed, ...] = Field((1, 2), description="one run per task, arm and seed", min_length=1)
    shards: PositiveInt = Field(
        1, le=1000, description="jobs that every sweep over heads is cut into, for clusters; the tables are the same"
    )
    epochs_per_job: PositiveInt | None = Field(
        None, description="epochs that one job trains at most, for time limits; unset for all. The models are the same"
    )
    sampling: SamplingSettings = Field(default_factory=SamplingSettings, description="significance")
    translation: TranslationSettings | None = Field(None, description="the translation task; unset for none")
    classification: dict[str, ClassificationSettings] = Field(
        default_factory=dict, description="classification tasks, by name"
    )

    @field_validator("classification")
    @classmethod
    def _plain_names(cls, tasks: dict[str, ClassificationSettings]) -> dict[str, ClassificationSettings]:
        for name in tasks:
            if name in TAKEN or not is_name(name):
                raise ValueError(f"'{name}' cannot name a classification task; use letters, digits and hyphens")
        return tasks

    @model_validator(mode="after")
    def _has_runs(self) -> Self:
        if not self.tasks:
            raise ValueError("a study needs a task: give the key translation, or classification, or both")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: a seed is given twice")
        for name, task in self.tasks.items():
            if task.released and len(self.seeds) > 1:
                raise ValueError(f"seeds: the model of {_place(name)}.released is one run; give one seed")
            if task.detailed_seeds > len(self.seeds):
                raise ValueError(
                    f"{_place(name)}.detailed_seeds: {task.detailed_seeds} is more than the {len(self.seeds)} of seeds"
                )
        return self

    @model_validator(mode="after")
    def _gpus_can_share(self) -> Self:
        if self.gpus > 1 and self.device != "cuda":
            raise ValueError(f"gpus: {self.gpus} of them need device: cuda, and it is {self.device}; leave gpus out")
        for name, task in self.tasks.items():
            key = "update_frequency" if name == TRANSLATION else "batch_size"
            if not task.released and (size := getattr(task.training, key)) % self.gpus:
                advice = ", and max_tokens so much smaller" if name == TRANSLATION else ""
                raise ValueError(
                    f"{_place(name)}.training.{key}: {self.gpus} gpus cannot share {size}; make it a multiple of "
                    f"{self.gpus}{advice}"
                )
        return self

    @model_validator(mode="after")
    def _classification_fits(self) -> Self:
        for name, task in self.classification.items():
            check_far_sets(_place(name), task.ablation, task.corpus.far_names)
            check_treebank(_place(name), task.treebank, task.corpus)
            check_arms_of_classifier(_place(name), task)
            if task.released:
                check_idle(task, _place(name), OF_FINE_TUNING)
            else:
                check_training_text(_place(name), task.corpus)
            if isinstance(task.corpus, GeneratedPairs):
                sizes = {"test": task.corpus.test, "valid": task.corpus.valid}
                check_sizes(_place(name), task.timing, task.scores, **sizes)
        return self

    @property
    def tasks(self) -> dict[str, TranslationSettings | ClassificationSettings]:
        """The settings of every task by name, translation first."""
        return {**({TRANSLATION: self.translation} if self.translation else {}), **self.classification}

    def used(self) -> str:
        """Return the configuration as JSON, defaults filled in: all that results depend on, and nothing idle."""
        whole = self.model_dump(mode="json", exclude={"mirror", "shards", "epochs_per_job"})
        for name, task in self.tasks.items():
            section = whole[TRANSLATION] if name == TRANSLATION else whole["classification"][name]
            for idle in (OF_TRAINING if name == TRANSLATION else OF_FINE_TUNING) if task.released else ():
                del section[idle]
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)

    def runs(self) -> dict[str, Run]:
        """Return every run by its name: tasks, arms and seeds in order."""
        runs = [Run(name, arm, seed) for name, task in self.tasks.items() for arm in task.arms for seed in self.seeds]
        return {str(run): run for run in runs}

    def detailed_runs(self) -> list[str]:
        """Return the runs that the detailed experiments look at: every task's first arm's first seeds."""
        return [
            str(Run(name, next(iter(task.arms)), seed))
            for name, task in self.tasks.items()
            for seed in self.seeds[: task.detailed_seeds]
        ]


def _place(task: str) -> str:
    """Return where a task's settings stand in the configuration."""
    return task if task == TRANSLATION else f"classification.{task}"


def load_study(configuration: object) -> Study:
    """Check a configuration and fill in the defaults.

    Raises:
        HeadroomError: Naming the first key that is wrong, its value and what is expected.
    """
    try:
        study = Study.model_validate(configuration)
    except ValidationError as error:
        raise HeadroomError(explained(error.errors()[0])) from None
    except UnicodeEncodeError:  # half of a surrogate pair, which nothing can be checked with
        check_texts(configuration)
        raise
    check_texts(study.model_dump(mode="json"))
    return study


def read_study(path: str) -> Study:
    """Read a study's file and check it.

    Raises:
        HeadroomError: If it is no file of UTF-8 text in YAML, naming the line; and as of `load_study`.
    """
    try:
        return load_study(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise HeadroomError(f"{path}: {error.strerror}; studies are config.yaml and those in studies/") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise HeadroomError(f"{path}, line {line} is not UTF-8: save the file in this encoding") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise HeadroomError(one_line(f"{path}, line {line} is not YAML: {error.problem}")) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # characters and values that YAML cannot have
        raise HeadroomError(one_line(f"{path} is not YAML: {error}")) from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the name of the study that a file describes."""
    parser = stage_parser("headroom.settings.study", "Check a study and print its name.")
    parser.add_argument("study", help="path of the configuration")
    print(read_study(parser.parse_args(arguments).study).study)


if __name__ == "__main__":
    run(main)
