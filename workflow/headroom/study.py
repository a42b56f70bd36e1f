"""The configuration of a study as a whole: defaults, checks and the names that follow from it."""

from typing import Self

from pydantic import Field, ValidationError, model_validator

from headroom.ground.errors import HeadroomError
from headroom.settings.base import Settings
from headroom.settings.corpus import Corpus, GeneratedCorpus, VocabularySettings
from headroom.settings.cost import CostSettings
from headroom.settings.decoding import DecodingSettings, EvaluationSettings, SamplingSettings
from headroom.settings.diversity import DiversitySettings
from headroom.settings.experiments import ExperimentSettings
from headroom.settings.model import ModelSettings
from headroom.settings.pruning import PruningSettings, RemovalSettings
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
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "configuration"
        raise HeadroomError(f"configuration, key {key}: {_explained(dict(first))}") from None


def _explained(error: dict[str, object]) -> str:
    if error["type"] == "extra_forbidden":
        return "no such key; see docs/configuration.md for all keys"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]} (found: {error.get('input')!r:.80})"
