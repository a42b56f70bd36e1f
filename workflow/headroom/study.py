"""The configuration of a study as a whole: defaults, checks and the names that follow from it."""

import json
import re
from dataclasses import dataclass
from typing import Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from headroom.ground.errors import HeadroomError
from headroom.settings.base import Settings
from headroom.settings.sampling import SamplingSettings
from headroom.settings.sentence_pairs import GeneratedPairs
from headroom.settings.task import (
    OF_FINE_TUNING,
    OF_TRAINING,
    ClassificationSettings,
    TranslationSettings,
    check_arms_of_classifier,
    check_far_sets,
    check_idle,
    check_sizes,
    check_training_text,
)
from headroom.settings.training import Device
from headroom.settings.treebank import check_treebank

TRANSLATION = "translation"


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
        "starter", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", description="name; results go to results/<study>/"
    )
    device: Device = Field("auto", description="where to compute: auto takes CUDA where there is one")
    mirror: str | None = Field(
        None, description="directory laid out as <dataset>/<file> that downloads are tried from first"
    )
    seeds: tuple[int, ...] = Field((1, 2), description="one run per task, arm and seed", min_length=1)
    sampling: SamplingSettings = Field(default_factory=SamplingSettings, description="significance")
    translation: TranslationSettings | None = Field(None, description="the translation task; unset for none")
    classification: dict[str, ClassificationSettings] = Field(
        default_factory=dict, description="classification tasks, by name"
    )

    @field_validator("classification")
    @classmethod
    def _plain_names(cls, tasks: dict[str, ClassificationSettings]) -> dict[str, ClassificationSettings]:
        for name in tasks:
            if name == TRANSLATION or not name.replace("-", "").isalnum():
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
            if task.experiments.detailed_seeds > len(self.seeds):
                raise ValueError(
                    f"{_place(name)}.experiments.detailed_seeds: {task.experiments.detailed_seeds} is more than the "
                    f"{len(self.seeds)} of seeds"
                )
        return self

    @model_validator(mode="after")
    def _classification_fits(self) -> Self:
        for name, task in self.classification.items():
            check_far_sets(_place(name), task.experiments, task.corpus.far_names)
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
        whole = self.model_dump(mode="json", exclude={"mirror"})
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
            for seed in self.seeds[: task.experiments.detailed_seeds]
        ]


def _place(task: str) -> str:
    """Return where a task's settings stand in the configuration."""
    return task if task == TRANSLATION else f"classification.{task}"


def load_study(configuration: dict[str, object]) -> Study:
    """Check a configuration and fill in the defaults.

    Raises:
        HeadroomError: Naming the first key that is wrong, its value and what is expected.
    """
    try:
        return Study.model_validate(configuration)
    except ValidationError as error:
        raise HeadroomError(f"configuration{_explained(error.errors()[0])}") from None


def _explained(error: ErrorDetails) -> str:
    whole_section = error["type"] == "value_error" and isinstance(error.get("input"), dict)
    key, found = _key(error), "" if whole_section else f"(found: {error.get('input')!r:.80})"
    message = re.sub(" or instance of .*", "", error["msg"].removeprefix("Value error, "))
    message = message.replace("valid dictionary", "section of keys").replace("valid tuple", "list")
    if not key:  # a check of several sections: the message names the key itself
        return f": {message}"
    if error["type"] == "extra_forbidden":
        message, found = "no such key; see docs/configuration.md for all keys", ""
    elif error["type"] == "union_tag_invalid":
        message, found = f"'{error['ctx']['tag']}' is unknown; choose one of {error['ctx']['expected_tags']}", ""
    elif error["type"] == "union_tag_not_found":
        message, found = "missing; see docs/configuration.md for what it can be", ""
    return f", key {key}: {message[:1].lower()}{message[1:]} {found}".rstrip()


def _key(error: ErrorDetails) -> str:
    """Return the key as it is written in the configuration: without the tag of a section's variant."""
    places = [str(part) for part in error["loc"]]
    sections = [place for place in ("corpus", "encoder", "arms", "treebank") if place in places[:3]]
    if sections:
        variant = places.index(sections[0]) + (2 if sections[0] == "arms" else 1)
        del places[variant : variant + 1]
    if error["type"].startswith("union_tag"):
        places.append(error["ctx"]["discriminator"].strip("'"))
    return ".".join(places)
