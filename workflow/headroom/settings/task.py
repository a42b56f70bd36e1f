"""The tasks of a study: what is trained, and which experiments look at it."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from headroom.settings.base import Settings
from headroom.settings.corpus import Corpus, GeneratedCorpus, VocabularySettings
from headroom.settings.cost import CostSettings
from headroom.settings.decoding import DecodingSettings, EvaluationSettings
from headroom.settings.diversity import DiversitySettings
from headroom.settings.encoder import Encoder, NewEncoder
from headroom.settings.experiments import ExperimentSettings
from headroom.settings.fine_tuning import FineTuningSettings
from headroom.settings.labelled import LabelledCorpus
from headroom.settings.labelling import LabellingSettings
from headroom.settings.model import ModelSettings
from headroom.settings.pruning import PruningSettings, ScopedPruningSettings
from headroom.settings.removal import RemovalSettings
from headroom.settings.repulsion import Arm, ArmSettings, BaselineArm, SvgdArm
from headroom.settings.scores import ScoreSettings
from headroom.settings.sentence_pairs import GeneratedPairs
from headroom.settings.timing import TimingSettings
from headroom.settings.training import TrainingSettings


def _both_arms() -> dict[str, Arm]:
    return {"baseline": BaselineArm(), "svgd": SvgdArm()}


class TranslationSettings(Settings):
    """Translation with a fairseq Transformer."""

    corpus: Corpus = Field(default_factory=GeneratedCorpus, description="the parallel text")
    vocabulary: VocabularySettings = Field(default_factory=VocabularySettings, description="subword pieces")
    model: ModelSettings = Field(default_factory=ModelSettings, description="the model's shape")
    training: TrainingSettings = Field(default_factory=TrainingSettings, description="how it is trained")
    arms: dict[str, ArmSettings] = Field(
        default_factory=_both_arms,
        description="ways to train, by name; the first is what the others are compared with",
        min_length=1,
    )
    decoding: DecodingSettings = Field(default_factory=DecodingSettings, description="translation")
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings, description="final scores")
    experiments: ExperimentSettings = Field(default_factory=ExperimentSettings, description="what is run on which runs")
    scores: ScoreSettings = Field(default_factory=ScoreSettings, description="gradient importance")
    pruning: ScopedPruningSettings = Field(default_factory=ScopedPruningSettings, description="pruning curves")
    removal: RemovalSettings = Field(default_factory=RemovalSettings, description="real removal")
    timing: TimingSettings = Field(default_factory=TimingSettings, description="speed")
    diversity: DiversitySettings = Field(default_factory=DiversitySettings, description="diversity of heads")
    cost: CostSettings = Field(default_factory=CostSettings, description="cost of repulsion per update")

    @model_validator(mode="after")
    def _names_are_plain(self) -> Self:
        for arm in self.arms:
            if not arm.replace("-", "").isalnum():
                raise ValueError(f"translation.arms: '{arm}' is not a name; use letters, digits and hyphens")
        return self

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_far_sets("translation", self.experiments, self.corpus.far_names)
        if isinstance(self.corpus, GeneratedCorpus):
            check_sizes("translation", self.timing, self.scores, test=self.corpus.test, valid=self.corpus.valid)
        return self


class ClassificationSettings(Settings):
    """Classification with a BERT-like encoder, fine-tuned or trained from scratch."""

    corpus: LabelledCorpus = Field(default_factory=GeneratedPairs, description="the labelled text")
    encoder: Encoder = Field(default_factory=NewEncoder, description="the encoder to start from")
    training: FineTuningSettings = Field(default_factory=FineTuningSettings, description="how it is trained")
    labelling: LabellingSettings = Field(default_factory=LabellingSettings, description="labels and metrics")
    experiments: ExperimentSettings = Field(default_factory=ExperimentSettings, description="what is run on which runs")
    scores: ScoreSettings = Field(default_factory=ScoreSettings, description="gradient importance")
    pruning: PruningSettings = Field(default_factory=PruningSettings, description="pruning curves")
    removal: RemovalSettings = Field(default_factory=RemovalSettings, description="real removal")
    timing: TimingSettings = Field(default_factory=TimingSettings, description="speed")

    @property
    def arms(self) -> Mapping[str, Arm]:
        """The ways to train: so far fine-tuning as it is."""
        return {"baseline": BaselineArm()}


def check_far_sets(task: str, experiments: ExperimentSettings, known: tuple[str, ...]) -> None:
    """Raise ValueError, naming the key, if experiments want far domains that the corpus does not have."""
    if unknown := [name for name in experiments.far_sets or () if name not in known]:
        raise ValueError(
            f"{task}.experiments.far_sets: '{unknown[0]}' is no far domain of the corpus, which has "
            f"{', '.join(known) or 'none'}"
        )


def check_sizes(task: str, timing: TimingSettings, scores: ScoreSettings, *, test: int, valid: int) -> None:
    """Raise ValueError, naming the key, if experiments want more examples than the corpus will have."""
    largest = max(timing.batch_sizes, default=0)
    if largest > test:
        raise ValueError(
            f"{task}.timing.batch_sizes: a batch of {largest} is larger than the test set; make {task}.corpus.test at "
            f"least {largest}, or leave it out"
        )
    choose = (valid + 1) // 2
    if (scores.examples or 0) > choose:
        raise ValueError(
            f"{task}.scores.examples: {scores.examples} is more than the {choose} examples of `choose`, "
            f"which is half of {task}.corpus.valid"
        )
