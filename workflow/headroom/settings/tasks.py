"""The tasks of a study: models, training, and the settings of the experiments."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator

from headroom.experiments.ablation.declared import AblationSettings
from headroom.experiments.attention_stats.declared import AttentionStatsSettings, RelevanceSettings
from headroom.experiments.bakeoff.declared import BakeoffSettings
from headroom.experiments.diversity.declared import DiversitySettings
from headroom.experiments.evaluation.declared import EvaluationSettings
from headroom.experiments.gates.declared import ChosenGateSettings, ScopedGateSettings
from headroom.experiments.keep_one.declared import KeepOneSettings
from headroom.experiments.phenomena.declared import PhenomenaSettings
from headroom.experiments.pruning.declared import PruningSettings, ScopedPruningSettings
from headroom.experiments.removal.declared import RemovalSettings
from headroom.experiments.scores.declared import ScoreSettings
from headroom.experiments.timing.declared import TimingSettings
from headroom.experiments.update_cost.declared import UpdateCostSettings
from headroom.settings.answers import (
    DecodingSettings,
    InterventionSettings,
    LabellingSettings,
    MaskedWindowSettings,
    WindowSettings,
)
from headroom.settings.arms import Arm, ArmSettings, BaselineArm, SvgdArm
from headroom.settings.base import Settings
from headroom.settings.documents import DocumentCorpus, PairSettings
from headroom.settings.labelled import LabelledCorpus, NoTreebank, Treebank, default_treebank
from headroom.settings.models import (
    Encoder,
    FineTuningSettings,
    HubModelSettings,
    ModelSettings,
    NewEncoder,
    ReleasedModel,
    TrainingSettings,
)
from headroom.settings.parallel import Corpus, GeneratedCorpus, VocabularySettings


def _one_arm() -> dict[str, Arm]:
    return {"baseline": BaselineArm()}


def _both_arms() -> dict[str, Arm]:
    return {"baseline": BaselineArm(), "svgd": SvgdArm()}


ReleasedTranslator = Annotated[ReleasedModel | HubModelSettings, Field(discriminator="library")]


class ExperimentsSettings(Settings):
    """The sections of all kinds of tasks."""

    arms: dict[str, ArmSettings] = Field(
        default_factory=_one_arm,
        description="training methods, by name; the others are compared with the first",
        min_length=1,
    )
    detailed_seeds: PositiveInt = Field(
        1, description="seeds of the first arm with ablation, keep-one, every order, removal and timing"
    )
    ablation: AblationSettings = Field(default_factory=AblationSettings, description="removal of each head on its own")
    keep_one: KeepOneSettings = Field(default_factory=KeepOneSettings, description="one head kept per site")
    intervention: InterventionSettings = Field(
        default_factory=InterventionSettings, description="replacements of removed heads in sweeps"
    )
    scores: ScoreSettings = Field(default_factory=ScoreSettings, description="gradient importance")
    relevance: RelevanceSettings = Field(default_factory=RelevanceSettings, description="relevance of heads")
    bakeoff: BakeoffSettings = Field(default_factory=BakeoffSettings, description="comparison of criteria")
    removal: RemovalSettings = Field(default_factory=RemovalSettings, description="real removal")
    timing: TimingSettings = Field(default_factory=TimingSettings, description="speed")
    diversity: DiversitySettings = Field(default_factory=DiversitySettings, description="diversity of heads")
    attention_stats: AttentionStatsSettings = Field(
        default_factory=AttentionStatsSettings,
        description="confidence of heads, and their attention to positions, relations and rare words",
    )


class TranslationSettings(ExperimentsSettings):
    """Translation with a Transformer: trained or released by fairseq, or released in the Hub's format."""

    task: Literal["translation"] = Field("translation", description="what the model is asked")
    corpus: Corpus = Field(default_factory=GeneratedCorpus, description="the parallel text")
    released: ReleasedTranslator | None = Field(
        None, description="a released model, used instead of training one; unset to train"
    )
    vocabulary: VocabularySettings = Field(default_factory=VocabularySettings, description="subword tokens")
    model: ModelSettings = Field(default_factory=ModelSettings, description="the model's shape")
    training: TrainingSettings = Field(default_factory=TrainingSettings, description="training of the model")
    arms: dict[str, ArmSettings] = Field(
        default_factory=_both_arms,
        description="training methods, by name; the others are compared with the first",
        min_length=1,
    )
    decoding: DecodingSettings = Field(default_factory=DecodingSettings, description="translation")
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings, description="final scores")
    pruning: ScopedPruningSettings = Field(default_factory=ScopedPruningSettings, description="pruning curves")
    gates: ScopedGateSettings = Field(default_factory=ScopedGateSettings, description="learned gates")
    update_cost: UpdateCostSettings = Field(
        default_factory=UpdateCostSettings, description="cost of repulsion per update"
    )
    phenomena: PhenomenaSettings = Field(
        default_factory=PhenomenaSettings, description="accuracy per phenomenon of the generated language"
    )
    treebank: Treebank = Field(
        default_factory=default_treebank,
        description="dependency trees of the source language; required for text that is not generated, or none",
    )

    @model_validator(mode="before")
    @classmethod
    def _by_fairseq(cls, given: Any) -> Any:
        """Take fairseq for the library of a released model that names none."""
        if not isinstance(given, dict) or not isinstance(given.get("released"), dict):
            return given
        return {**given, "released": {"library": "fairseq", **given["released"]}}

    unused: ClassVar = ("vocabulary", "model", "training", "update_cost")
    """Sections that do not apply to a released model."""

    @property
    def epochs(self) -> int:
        """Number of checkpoints of a run."""
        return len(self.released.series) if self.released else self.training.epochs


class ClassificationSettings(ExperimentsSettings):
    """Classification with a BERT-like encoder, fine-tuned or trained from scratch."""

    task: Literal["classification"] = Field("classification", description="what the model is asked")
    corpus: LabelledCorpus = Field(description="the labelled text")
    released: HubModelSettings | None = Field(
        None, description="a fine-tuned classifier, used instead of training one; unset to train"
    )
    encoder: Encoder = Field(default_factory=NewEncoder, description="the initial encoder")
    training: FineTuningSettings = Field(default_factory=FineTuningSettings, description="training of the model")
    labelling: LabellingSettings = Field(default_factory=LabellingSettings, description="labels and metrics")
    pruning: PruningSettings = Field(default_factory=PruningSettings, description="pruning curves")
    gates: ChosenGateSettings = Field(default_factory=ChosenGateSettings, description="learned gates")
    treebank: Treebank = Field(
        default_factory=NoTreebank, description="dependency trees of the text's language, or none"
    )

    unused: ClassVar = ("encoder", "training")
    """Sections that do not apply to a released classifier."""

    @property
    def epochs(self) -> int:
        """Number of checkpoints of a run."""
        return len(self.released.series) if self.released else self.training.epochs


class DocumentsSettings(ExperimentsSettings):
    """Prediction of tokens of plain text with a released model."""

    corpus: DocumentCorpus = Field(description="the text")
    released: HubModelSettings = Field(description="the language model")
    windows: WindowSettings = Field(default_factory=WindowSettings, description="parts of documents that it reads")
    pruning: PruningSettings = Field(default_factory=PruningSettings, description="pruning curves")
    treebank: Treebank = Field(
        default_factory=NoTreebank, description="dependency trees of the text's language, or none"
    )

    unused: ClassVar = ()
    """Sections that do not apply to a released model."""

    gates: ClassVar = ChosenGateSettings(ways=())
    """None: gates are learned in training."""

    @property
    def epochs(self) -> int:
        """Number of checkpoints of a run."""
        return len(self.released.series)


class LanguageSettings(DocumentsSettings):
    """Prediction of the next token of plain text with a released decoder."""

    task: Literal["language"] = Field("language", description="what the model is asked")
    pairs: PairSettings | None = Field(None, description="pairs of a good and a bad sentence; unset for none")


class MaskedSettings(DocumentsSettings):
    """Prediction of masked tokens of plain text with a released encoder, as it was pretrained."""

    task: Literal["masked"] = Field("masked", description="what the model is asked")
    windows: MaskedWindowSettings = Field(
        default_factory=MaskedWindowSettings, description="parts of documents that it reads"
    )


TaskSettings = Annotated[
    TranslationSettings | ClassificationSettings | LanguageSettings | MaskedSettings, Field(discriminator="task")
]
"""The settings of a task of any kind."""
