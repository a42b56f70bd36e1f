"""The configuration of a study as a whole: defaults, checks and the names that follow from it."""

import re
from typing import Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from headroom.ground.errors import HeadroomError
from headroom.settings.base import Settings
from headroom.settings.corpus import Corpus, GeneratedCorpus, VocabularySettings
from headroom.settings.cost import CostSettings
from headroom.settings.decoding import DecodingSettings, EvaluationSettings, SamplingSettings
from headroom.settings.diversity import DiversitySettings
from headroom.settings.experiments import ExperimentSettings
from headroom.settings.model import ModelSettings
from headroom.settings.pruning import PruningSettings
from headroom.settings.removal import RemovalSettings
from headroom.settings.repulsion import Arm, ArmSettings, BaselineArm, SvgdArm
from headroom.settings.scores import ScoreSettings
from headroom.settings.timing import TimingSettings
from headroom.settings.training import Device, TrainingSettings

TASK = "translation"


def _both_arms() -> dict[str, Arm]:
    return {"baseline": BaselineArm(), "svgd": SvgdArm()}


class Study(Settings):
    """One study: data, models, arms, seeds and experiments."""

    study: str = Field(
        "starter", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", description="name; results go to results/<study>/"
    )
    device: Device = Field("auto", description="where to compute: auto takes CUDA where there is one")
    mirror: str | None = Field(
        None, description="directory laid out as <dataset>/<file> that downloads are tried from first"
    )
    corpus: Corpus = Field(default_factory=GeneratedCorpus, description="the parallel text")
    vocabulary: VocabularySettings = Field(default_factory=VocabularySettings, description="subword pieces")
    model: ModelSettings = Field(default_factory=ModelSettings, description="the model's shape")
    training: TrainingSettings = Field(default_factory=TrainingSettings, description="how it is trained")
    arms: dict[str, ArmSettings] = Field(
        default_factory=_both_arms,
        description="ways to train, by name; the first is what the others are compared with",
        min_length=1,
    )
    seeds: tuple[int, ...] = Field((1, 2), description="one run per arm and seed", min_length=1)
    decoding: DecodingSettings = Field(default_factory=DecodingSettings, description="translation")
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings, description="final scores")
    sampling: SamplingSettings = Field(default_factory=SamplingSettings, description="significance")
    experiments: ExperimentSettings = Field(default_factory=ExperimentSettings, description="what is run on which runs")
    scores: ScoreSettings = Field(default_factory=ScoreSettings, description="gradient importance")
    pruning: PruningSettings = Field(default_factory=PruningSettings, description="pruning curves")
    removal: RemovalSettings = Field(default_factory=RemovalSettings, description="real removal")
    timing: TimingSettings = Field(default_factory=TimingSettings, description="speed")
    diversity: DiversitySettings = Field(default_factory=DiversitySettings, description="diversity of heads")
    cost: CostSettings = Field(default_factory=CostSettings, description="cost of repulsion per update")

    @model_validator(mode="after")
    def _names_are_plain(self) -> Self:
        for arm in self.arms:
            if not arm.replace("-", "").isalnum():
                raise ValueError(f"arms: '{arm}' is not a name; use letters, digits and hyphens")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: a seed is given twice")
        return self

    @model_validator(mode="after")
    def _experiments_fit(self) -> Self:
        known, wanted = self.corpus.far_names, self.experiments.far_sets or ()
        if unknown := [name for name in wanted if name not in known]:
            raise ValueError(
                f"experiments.far_sets: '{unknown[0]}' is no far domain of the corpus, which has "
                f"{', '.join(known) or 'none'}"
            )
        if self.experiments.detailed_seeds > len(self.seeds):
            raise ValueError(
                f"experiments.detailed_seeds: {self.experiments.detailed_seeds} is more than the "
                f"{len(self.seeds)} of seeds"
            )
        return self

    @model_validator(mode="after")
    def _enough_sentences(self) -> Self:
        """Check what is known before there is a corpus: the sets that the grammar will make."""
        if isinstance(self.corpus, GeneratedCorpus):
            largest = max(self.timing.batch_sizes, default=0)
            if largest > self.corpus.test:
                raise ValueError(
                    f"timing.batch_sizes: a batch of {largest} is larger than the test set; make corpus.test at "
                    f"least {largest}, or leave it out"
                )
            choose = (self.corpus.valid + 1) // 2
            if "sentences" in self.scores.model_fields_set and self.scores.sentences > choose:
                raise ValueError(
                    f"scores.sentences: {self.scores.sentences} is more than the {choose} sentences of `choose`, "
                    "which is half of corpus.valid"
                )
        return self

    def runs(self) -> dict[str, tuple[str, int]]:
        """Return every run's name with its arm and seed, arms in order."""
        return {f"{TASK}.{arm}.seed{seed}": (arm, seed) for arm in self.arms for seed in self.seeds}

    def detailed_runs(self) -> list[str]:
        """Return the runs that the detailed experiments look at: the first arm's first seeds."""
        first = next(iter(self.arms))
        return [f"{TASK}.{first}.seed{seed}" for seed in self.seeds[: self.experiments.detailed_seeds]]


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
    key, found = _key(error), f"(found: {error.get('input')!r:.80})"
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
    variant = {"corpus": 1, "arms": 2}.get(places[0] if places else "", len(places))
    del places[variant : variant + 1]
    if error["type"].startswith("union_tag"):
        places.append(error["ctx"]["discriminator"].strip("'"))
    return ".".join(places)
