"""The tasks of a study: what is trained, and which experiments look at it."""

from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import Field, PositiveInt, model_validator

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.settings.arms import (
    Arm,
    ArmSettings,
    AtSites,
    BaselineArm,
    DisagreementSubspaceArm,
    SvgdArm,
    check_arm,
    shaped,
)
from headroom.settings.base import Settings
from headroom.settings.encoder import Encoder, NewEncoder
from headroom.settings.experiments import (
    AblationSettings,
    AttentionMapsSettings,
    AttentionStatsSettings,
    ChosenGateSettings,
    DecodingSettings,
    DiversitySettings,
    EvaluationSettings,
    KeepOneSettings,
    LabellingSettings,
    PruningSettings,
    RelevanceSettings,
    RemovalSettings,
    RoleSettings,
    ScopedGateSettings,
    ScopedPruningSettings,
    ScoreSettings,
    TimingSettings,
    UpdateCostSettings,
)
from headroom.settings.labelled import GeneratedPairs, LabelledCorpus, Treebank, check_treebank, default_treebank
from headroom.settings.models import (
    FineTuningSettings,
    ModelSettings,
    ReleasedClassifier,
    ReleasedModel,
    TrainingSettings,
)
from headroom.settings.parallel import Corpus, GeneratedCorpus, SacrebleuCorpus, VocabularySettings


def _one_arm() -> dict[str, Arm]:
    return {"baseline": BaselineArm()}


def _both_arms() -> dict[str, Arm]:
    return {"baseline": BaselineArm(), "svgd": SvgdArm()}


LONGEST_NAME = 60
"""Characters of the name of an arm or a task; file names are made of both."""

OF_TRAINING = ("vocabulary", "model", "training", "update_cost")
"""Sections of translation that a released model has no use for."""
OF_FINE_TUNING = ("encoder", "training")
"""Sections of classification that a released classifier has no use for."""


class TranslationSettings(Settings):
    """Translation with a fairseq Transformer."""

    corpus: Corpus = Field(default_factory=GeneratedCorpus, description="the parallel text")
    released: ReleasedModel | None = Field(
        None, description="a model that others trained, to look at instead of training; unset to train"
    )
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
    detailed_seeds: PositiveInt = Field(
        1, description="seeds of the first arm that get ablation, keep-one, every order, removal and timing"
    )
    ablation: AblationSettings = Field(default_factory=AblationSettings, description="every head removed alone")
    keep_one: KeepOneSettings = Field(default_factory=KeepOneSettings, description="one head kept per site")
    scores: ScoreSettings = Field(default_factory=ScoreSettings, description="gradient importance")
    relevance: RelevanceSettings = Field(default_factory=RelevanceSettings, description="relevance of heads")
    pruning: ScopedPruningSettings = Field(default_factory=ScopedPruningSettings, description="pruning curves")
    removal: RemovalSettings = Field(default_factory=RemovalSettings, description="real removal")
    gates: ScopedGateSettings = Field(default_factory=ScopedGateSettings, description="learned gates")
    timing: TimingSettings = Field(default_factory=TimingSettings, description="speed")
    diversity: DiversitySettings = Field(default_factory=DiversitySettings, description="diversity of heads")
    update_cost: UpdateCostSettings = Field(
        default_factory=UpdateCostSettings, description="cost of repulsion per update"
    )
    treebank: Treebank = Field(
        default_factory=default_treebank,
        description="dependency trees of the source language; of other than generated text none but those named here",
    )
    attention_stats: AttentionStatsSettings = Field(
        default_factory=AttentionStatsSettings, description="confidence of heads, and where they point"
    )
    roles: RoleSettings = Field(default_factory=RoleSettings, description="roles of heads")
    attention_maps: AttentionMapsSettings = Field(
        default_factory=AttentionMapsSettings, description="attention maps of heads with roles"
    )

    @model_validator(mode="after")
    def _arms_can_be_trained(self) -> Self:
        for name, arm in self.arms.items():
            check_arm_name("translation", name)
            try:
                model = shaped(self.model, arm)
            except HeadroomError as error:
                raise ValueError(f"translation.arms.{name}.{error}") from None
            layers = {"E": model.encoder_layers, "A": model.decoder_layers, "D": model.decoder_layers}
            sites = [Site(kind, layer, model.heads) for kind, n in layers.items() for layer in range(1, n + 1)]
            check_arm(f"translation.arms.{name}", arm, sites)
        return self

    @model_validator(mode="after")
    def _trains_or_not(self) -> Self:
        if self.released is None:
            if isinstance(self.corpus, SacrebleuCorpus):
                raise ValueError(
                    "translation.corpus.source: test sets of sacrebleu have no training text; name a model at "
                    "translation.released, or choose another source"
                )
            check_training_text("translation", self.corpus)
            return self
        check_one_arm("translation", self.arms)
        check_idle(self, "translation", OF_TRAINING)
        return self

    @property
    def epochs(self) -> int:
        """Number of checkpoints of a run: a released model has one."""
        return 1 if self.released else self.training.epochs

    @model_validator(mode="after")
    def _keeps_heads_that_there_are(self) -> Self:
        encoder = self.model.encoder_layers * self.model.heads
        heads = {"E": encoder, "all": encoder + 2 * self.model.decoder_layers * self.model.heads}
        for scope in () if self.released else self.gates.scopes:
            if wrong := [count for count in self.gates.kept_heads if count > heads[scope]]:
                raise ValueError(
                    f"translation.gates.kept_heads: {wrong[0]} is more than the {heads[scope]} heads in scope {scope}"
                )
        return self

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_far_sets("translation", self.ablation, self.corpus.far_names)
        check_treebank("translation", self.treebank, self.corpus)
        if isinstance(self.corpus, GeneratedCorpus):
            check_sizes("translation", self.timing, self.scores, test=self.corpus.test, valid=self.corpus.valid)
        return self


class ClassificationSettings(Settings):
    """Classification with a BERT-like encoder, fine-tuned or trained from scratch."""

    corpus: LabelledCorpus = Field(default_factory=GeneratedPairs, description="the labelled text")
    released: ReleasedClassifier | None = Field(
        None, description="a classifier that is fine-tuned already, to look at instead of training; unset to train"
    )
    encoder: Encoder = Field(default_factory=NewEncoder, description="the encoder to start from")
    training: FineTuningSettings = Field(default_factory=FineTuningSettings, description="how it is trained")
    arms: dict[str, ArmSettings] = Field(
        default_factory=_one_arm,
        description="ways to train, by name; the first is what the others are compared with",
        min_length=1,
    )
    labelling: LabellingSettings = Field(default_factory=LabellingSettings, description="labels and metrics")
    detailed_seeds: PositiveInt = Field(
        1, description="seeds of the first arm that get ablation, keep-one, every order, removal and timing"
    )
    ablation: AblationSettings = Field(default_factory=AblationSettings, description="every head removed alone")
    keep_one: KeepOneSettings = Field(default_factory=KeepOneSettings, description="one head kept per site")
    scores: ScoreSettings = Field(default_factory=ScoreSettings, description="gradient importance")
    relevance: RelevanceSettings = Field(default_factory=RelevanceSettings, description="relevance of heads")
    pruning: PruningSettings = Field(default_factory=PruningSettings, description="pruning curves")
    removal: RemovalSettings = Field(default_factory=RemovalSettings, description="real removal")
    gates: ChosenGateSettings = Field(default_factory=ChosenGateSettings, description="learned gates")
    timing: TimingSettings = Field(default_factory=TimingSettings, description="speed")
    diversity: DiversitySettings = Field(default_factory=DiversitySettings, description="diversity of heads")
    treebank: Treebank = Field(
        default_factory=default_treebank,
        description="dependency trees of the text's language; of other than generated text none but those named here",
    )
    attention_stats: AttentionStatsSettings = Field(
        default_factory=AttentionStatsSettings, description="confidence of heads, and where they point"
    )
    roles: RoleSettings = Field(default_factory=RoleSettings, description="roles of heads")
    attention_maps: AttentionMapsSettings = Field(
        default_factory=AttentionMapsSettings, description="attention maps of heads with roles"
    )

    @property
    def epochs(self) -> int:
        """Number of checkpoints of a run: a released classifier has one."""
        return 1 if self.released else self.training.epochs


def check_arms_of_classifier(place: str, task: ClassificationSettings) -> None:
    """Raise ValueError, naming the key, if an arm is one that the task's encoder cannot have."""
    if task.released:
        check_one_arm(place, task.arms)
    for name, arm in task.arms.items():
        check_arm_name(place, name)
        key = f"{place}.arms.{name}"
        if arm.heads and task.encoder.source not in ("new", "self-attentive"):
            raise ValueError(f"{key}.heads: a pretrained encoder has the heads that it has; leave this out")
        if arm.attention_dropout is not None and task.encoder.source != "new":
            raise ValueError(f"{key}.attention_dropout: only encoders of source new take it; leave it out")
        if isinstance(arm, AtSites) and (decoder := [word for word in arm.sites if word[0] in "AD"]):
            raise ValueError(f"{key}.sites: an encoder has no site {decoder[0]}; its sites are of kind E")
        if task.encoder.source == "self-attentive":
            if isinstance(arm, DisagreementSubspaceArm):
                raise ValueError(f"{key}.method: the hops of a self-attentive encoder have no values of their own")
            check_arm(key, arm, [Site("E", 1, arm.heads or task.encoder.hops)])
        if isinstance(task.encoder, NewEncoder):
            heads = arm.heads or task.encoder.heads
            if task.encoder.width % heads:
                raise ValueError(f"{key}.heads: width {task.encoder.width} is not a multiple of heads {heads}")
            check_arm(key, arm, [Site("E", layer, heads) for layer in range(1, task.encoder.layers + 1)])


def check_arm_name(place: str, name: str) -> None:
    """Raise ValueError, naming the key, if this cannot name an arm."""
    if not is_name(name):
        raise ValueError(f"{place}.arms: '{name}' is not a name; use letters, digits and hyphens")


def is_name(text: str) -> bool:
    """Return whether a text can name an arm or a task: it becomes part of file names and of command lines."""
    return text.replace("-", "").isalnum() and not text.startswith("-") and len(text) <= LONGEST_NAME


def check_one_arm(place: str, arms: Mapping[str, Arm]) -> None:
    """Raise ValueError, naming the key, if a model that is not trained has other arms than the baseline."""
    if [arm.method for arm in arms.values()] != ["baseline"]:
        raise ValueError(
            f"{place}.arms: a released model is not trained again; give one arm, baseline: {{method: baseline}}"
        )


def check_idle(task: Settings, name: str, sections: Sequence[str]) -> None:
    """Raise ValueError, naming the key, if a task with a released model has sections on training one."""
    if idle := [section for section in sections if section in task.model_fields_set]:
        raise ValueError(
            f"{name}.{idle[0]}: the model at {name}.released has its own and is not trained again; "
            "leave this section out"
        )


def check_training_text(name: str, corpus: Settings) -> None:
    """Raise ValueError, naming the key, if there is no text to train a model on."""
    if getattr(corpus, "train", "unknown") is None:
        raise ValueError(f"{name}.corpus.train: missing; only a model at {name}.released needs no training text")


def check_far_sets(task: str, ablation: AblationSettings, known: tuple[str, ...]) -> None:
    """Raise ValueError, naming the key, if ablation wants far domains that the corpus does not have."""
    if unknown := [name for name in ablation.far_sets or () if name not in known]:
        raise ValueError(
            f"{task}.ablation.far_sets: '{unknown[0]}' is no far domain of the corpus, which has "
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
