"""Settings of the experiments, one section each."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, field_validator, model_validator

from headroom.core.interventions import Repair, Replacement
from headroom.settings.base import Settings


class AblationSettings(Settings):
    """Removal of each head on its own."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are removed on; unset for all"
    )
    far_sets: tuple[str, ...] | None = Field(
        None, description="far domains that ablation is repeated on; unset for all that the corpus has"
    )


class KeepOneSettings(Settings):
    """Each head kept as the only one of its site."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are kept on; unset for all"
    )


class InterventionSettings(Settings):
    """Removal of heads in sweeps: single heads, one head kept per site, pruning curves."""

    replacement: tuple[Replacement, ...] = Field(
        ("zero",),
        description="replacements of the z of removed heads: zero, always; for each further one, mean (of the head on "
        "the set `choose`) or resample (another example of the batch), ablation, keep_one and pruning are repeated and "
        "written to tables of their own",
    )

    @field_validator("replacement")
    @classmethod
    def _zero_and_others_once(cls, replacement: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
        if "zero" not in replacement:
            raise ValueError("zero is missing, which claims are about; add it")
        if repeated := [name for name in replacement if replacement.count(name) > 1]:
            raise ValueError(f"the replacement {repeated[0]} is given twice; give it once")
        return replacement


class ScoreSettings(Settings):
    """Gradient importance of heads (Michel et al. 2019, Eq. 2), in all granularities from one pass."""

    examples: PositiveInt | None = Field(
        None, description="examples of the `choose` set, from its start, that heads are scored on; unset for all"
    )
    batch_examples: PositiveInt = Field(
        32, description="examples in a batch; only the granularity `batch` depends on it"
    )


class RelevanceSettings(Settings):
    """Relevance of heads by layer-wise relevance propagation (Voita et al. 2019, section 4), at the last epoch."""

    examples: int = Field(
        100, ge=2, description="examples of the `check` set, from its start, whose outputs are explained"
    )
    batch_examples: PositiveInt = Field(32, description="examples in a batch; does not change the result")
    rule: Literal["epsilon", "alpha-beta"] = Field(
        "epsilon",
        description="how relevance is divided among the contributions to a sum: in proportion to them (epsilon), or "
        "separately among positive and negative ones (alpha-beta; Bach et al. 2015, Eq. 60)",
    )
    epsilon: PositiveFloat = Field(
        1e-6,
        description="outputs of much smaller magnitude pass no relevance (epsilon); smaller sums of contributions of "
        "one sign count as none (alpha-beta)",
    )
    alpha: float = Field(
        0.5,
        gt=0,
        description="share of positive contributions, that of negative ones is 1 - alpha (alpha-beta only): 0.5 in "
        "Voita et al.'s code; also usual are 1 (none to negative ones) and 2. Up to 1 no relevance is negative if the "
        "explained logit is positive",
    )


Scope = Literal["all", "E", "A", "D"]
CriterionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
"""A criterion of `headroom.methods.criteria`; the workflow checks that it exists."""
Normalised = Literal["raw", "layer"]


class MainSettings(Settings):
    """The main criterion of the study."""

    main: CriterionName = Field(
        "gradient-example",
        description="criterion among `criteria` whose raw scores, ranked once, give the main order: that of claims, of "
        "every epoch and site, of real removal, timing, the controls of gates and the comparison of arms, and the one "
        "that `reverse` reverses",
    )


class PruningSettings(MainSettings):
    """Curves of the metric against the number of heads removed."""

    step: float = Field(0.1, gt=0, le=1, description="share of the heads in scope removed at each step")
    test_examples: PositiveInt | None = Field(
        None, description="examples of the test set, from its start, that curves are measured on; unset for all"
    )
    criteria: tuple[CriterionName, ...] = Field(
        ("gradient-token", "gradient-example", "gradient-batch", "gradient-squared"),
        description="criteria that give an order, gradient criteria fixed and (raw scores) re-scored after every step; "
        "others: relevance, confidence, gates, gates-exact, gates-exact-straight-through. The order by ablation is "
        "always included",
    )
    normalisations: tuple[Normalised, ...] = Field(
        ("raw", "layer"), description="unscaled scores, or scores divided by the l2 norm over the site's heads"
    )
    random_draws: PositiveInt = Field(5, description="random orders, the control")


class ScopedPruningSettings(PruningSettings):
    """Curves of the metric against the number of heads removed, of models with several kinds of attention."""

    scopes: tuple[Scope, ...] = Field(
        ("all", "E", "A", "D"), description="heads that compete: all kinds together, or one kind only"
    )


class RetrainingSettings(Settings):
    """Further training of good, random and bad layouts of one size (Prasanna et al. 2020), and of the full model."""

    updates: NonNegativeInt = Field(
        0, description="updates of the weights, the same for every layout and the full model; 0 for no further training"
    )
    share: float = Field(0.5, gt=0, lt=1, description="share of all heads removed, the same in every layout")
    criterion: CriterionName = Field(
        "gradient-example",
        description="criterion among `criteria` by whose scores on `choose` the most important heads are kept (good) "
        "or the least important ones (bad). It is given here and not chosen by results on the test set",
    )
    random_draws: PositiveInt = Field(
        3, description="random layouts: of the first random orders of the curves, the same in all runs"
    )
    batch_examples: PositiveInt = Field(64, description="examples in a training batch")
    learning_rate: PositiveFloat | None = Field(
        None,
        description="initial learning rate, which falls linearly to zero. Unset: the default of `gates.learning_rate`",
    )


class BakeoffSettings(Settings):
    """Comparison of criteria at equal numbers of heads and known cost."""

    criteria: tuple[CriterionName, ...] = Field(
        (),
        description="criteria whose orders are compared over every seed of the first arm; empty for no comparison. "
        "Always included: random orders, `top-first` and `bottom-first`, and single-head `ablation` of detailed runs",
    )
    rescored: tuple[CriterionName, ...] = Field(
        (), description="those of them whose remaining heads are also re-scored after every step"
    )
    repairs: tuple[Repair, ...] = Field(
        (), description="repairs without training, each applied to every pruned model of every order"
    )
    examples: PositiveInt | None = Field(
        200, description="examples of the `choose` set, from its start, that heads are scored on; unset for all"
    )
    batch_examples: PositiveInt = Field(32, description="examples in a batch")
    step: float = Field(0.1, gt=0, le=1, description="share of all heads removed at each step")
    test_examples: PositiveInt | None = Field(
        None, description="examples of the test set, from its start, that curves are measured on; unset for all"
    )
    random_draws: PositiveInt = Field(5, description="random orders, the control")
    retraining: RetrainingSettings = Field(
        default_factory=RetrainingSettings, description="further training of layouts of one size"
    )

    @model_validator(mode="after")
    def _named_are_compared(self) -> Self:
        if unknown := [name for name in self.rescored if name not in self.criteria]:
            raise ValueError(f"rescored: '{unknown[0]}' is not in criteria; add it there")
        if self.retraining.updates and self.retraining.criterion not in self.criteria:
            raise ValueError(f"retraining.criterion: '{self.retraining.criterion}' is not in criteria; add it there")
        return self


class RemovalSettings(Settings):
    """Real removal: the checkpoint without its least important heads."""

    share: float = Field(0.5, ge=0, le=1, description="share of all heads sliced out, least important first")
    repair: Repair = Field(
        "none",
        description="change of output projections that compensates for removed heads without training, from outputs of "
        "heads on the set `choose`: mean-bias (means of removed heads in the bias), scale (a scale per remaining head, "
        "by least squares), obs (optimal brain surgeon), refit (least squares), or none",
    )


Way = Literal["hard-concrete.all", "exact.all", "exact-straight-through.all"]
ScopedWay = Literal[
    "hard-concrete.all",
    "hard-concrete.E",
    "exact.all",
    "exact.E",
    "exact-straight-through.all",
    "exact-straight-through.E",
]


USUAL_RATE = 0.001
"""Learning rate of weights in further training, for models that were trained from scratch."""


class GateTrainingSettings(Settings):
    """Further training of a trained model, with gates on its heads or without."""

    updates: PositiveInt = Field(
        300,
        description="updates of the weights after the model was trained, the same with learned gates, in controls and "
        "after training from scratch; exact selection first trains only its gates for 0.4 times as many",
    )
    learning_rate: PositiveFloat | None = Field(
        None,
        description="initial learning rate of the weights, which falls linearly to zero. Unset: that of the "
        "fine-tuning for "
        "pretrained encoders (training.learning_rate) and released classifiers (0.00002), 0.001 for all other models",
    )
    gate_learning_rate: PositiveFloat = Field(0.1, description="learning rate of the gates; constant")

    @property
    def rate(self) -> float:
        """The learning rate of the weights: the given one, always set by the workflow, or `USUAL_RATE`."""
        return self.learning_rate or USUAL_RATE


class GateSettings(GateTrainingSettings):
    """Learned gates: hard concrete by a sweep over lambda (Voita et al. 2019), exact K (Li et al. 2021), controls."""

    penalties: tuple[PositiveFloat, ...] = Field(
        (0.003, 0.01, 0.03), description="lambda: penalty on an open gate in nats per target (hard-concrete)"
    )
    kept_shares: tuple[float, ...] = Field(
        (0.25, 0.5, 0.75), description="shares of the heads that exact selection and the controls keep"
    )
    kept_heads: tuple[NonNegativeInt, ...] = Field(
        (), description="numbers of heads that exact selection and the controls keep, in addition to the shares"
    )
    random_draws: PositiveInt = Field(1, description="random layouts per share, trained further: the control")
    batch_examples: PositiveInt = Field(64, description="examples in a training batch")
    test_examples: PositiveInt | None = Field(
        None,
        description="examples of the test set, from its start, on which pruned models are evaluated; unset for all",
    )

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        for name in ("penalties", "kept_shares", "kept_heads"):
            written = [f"{value:g}" if isinstance(value, float) else str(value) for value in getattr(self, name)]
            if len(set(written)) < len(written):  # the values become file names
                raise ValueError(f"{name}: a value is given twice; give each once")
        if wrong := [share for share in self.kept_shares if not 0 <= share <= 1]:
            raise ValueError(f"kept_shares: {wrong[0]} is out of range; give numbers from 0 to 1")
        return self


class ChosenGateSettings(GateSettings):
    """Learned gates, and the methods by which a study learns them."""

    ways: tuple[Way, ...] = Field(
        ("hard-concrete.all", "exact.all"),
        description="methods that learn which heads to keep, `<method>.<scope>`; empty for no gates and no controls",
    )


Start = Literal["scratch", "rewound-init", "rewound-epoch1"]
"""Initial weights of a learned layout: new ones; those of the trained model before its first update (rewinding to
iteration 0: Frankle and Carbin 2019); those after its first epoch (late rewinding: Frankle et al. 2019). Behnke and
Heafield 2020 rewind pruned Transformers."""


class ScopedGateSettings(GateSettings):
    """Learned gates of models with several kinds of attention."""

    ways: tuple[ScopedWay, ...] = Field(
        ("hard-concrete.E", "hard-concrete.all", "exact.all"),
        description="methods that learn which heads to keep, `<method>.<scope>`: of all heads, or of the encoder (E) "
        "with the decoder frozen; empty for no gates and no controls",
    )
    from_scratch: tuple[PositiveFloat, ...] = Field(
        (), description="values of lambda whose layout by hard-concrete.all is also trained from the start"
    )
    from_scratch_starts: tuple[Start, ...] = Field(
        ("scratch",),
        description="initial weights of such a layout, one training each: new ones with a separate seed "
        "(scratch), or the trained run's weights before its first update (rewound-init) or after its first epoch "
        "(rewound-epoch1)",
    )
    from_scratch_random_draws: NonNegativeInt = Field(
        1,
        description="random layouts with the same number of heads, trained from the new weights of `scratch`: the "
        "control, "
        "one training each",
    )

    @model_validator(mode="after")
    def _layouts_are_learned(self) -> Self:
        known = self.penalties if "hard-concrete.all" in self.ways else ()
        if unknown := [value for value in self.from_scratch if value not in known]:
            raise ValueError(
                f"from_scratch: {unknown[0]} is not a lambda of hard-concrete.all; add it to penalties, or leave it out"
            )
        starts = self.from_scratch_starts
        if twice := [start for start in starts if starts.count(start) > 1]:
            raise ValueError(f"from_scratch_starts: {twice[0]} is given twice; give it once")
        return self

    @property
    def scopes(self) -> list[str]:
        """The scopes of the methods and of the controls, if any."""
        return sorted({way.partition(".")[2] for way in self.ways} | ({"all"} if self.ways else set()))


class TimingSettings(Settings):
    """Speed of the full, the masked and the sliced model, interleaved."""

    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        (0.25, 0.5, 0.75), description="shares of all heads removed"
    )
    batch_sizes: tuple[PositiveInt, ...] = Field((1, 4, 16, 64), description="sentences per batch")
    warmup: PositiveInt = Field(3, description="rounds before counting")
    repeats: PositiveInt = Field(30, description="counted rounds; each times every model once")
    threads: PositiveInt = Field(1, description="threads torch may use while timing")


class UpdateCostSettings(Settings):
    """Seconds of one update, all arms interleaved on the same batch of the study's own data."""

    warmup: NonNegativeInt = Field(5, description="rounds of updates before counting")
    repeats: PositiveInt = Field(30, description="counted rounds; each makes one update in every arm")
    threads: PositiveInt = Field(1, description="threads torch may use while timing")


class DiversitySettings(Settings):
    """Diversity of heads at every epoch: similarity of their weights, values, attention maps and outputs z."""

    examples: PositiveInt = Field(500, description="examples of the `check` set that heads are compared on")
    batch_examples: PositiveInt = Field(100, description="examples in a batch; does not change the result")


Relation = Annotated[str, Field(pattern=r"^[a-z]+(:[a-z]+)*$")]


class AttentionStatsSettings(Settings):
    """Where heads point (Voita et al. 2019, Sections 4 and 5)."""

    relations: tuple[Relation, ...] = Field(
        ("nsubj", "obj", "amod", "advmod"),
        min_length=1,
        description="dependency relations, each measured in both directions; a subtype such as nsubj:pass is a "
        "separate relation from nsubj",
    )
    frequent_tokens: PositiveInt = Field(
        500,
        description="sentences count for rare words if their least frequent piece is not among this many most frequent "
        "ones; make it smaller for vocabularies below 2,000",
    )
    examples: PositiveInt | None = Field(
        None, description="examples of the `check` set, and sentences of the treebank, from the start; unset for all"
    )
    batch_examples: PositiveInt = Field(32, description="examples in a batch; does not change the result")

    @field_validator("relations")
    @classmethod
    def _once_each(cls, relations: tuple[str, ...]) -> tuple[str, ...]:
        if repeated := [name for name in relations if relations.count(name) > 1]:
            raise ValueError(f"the relation {repeated[0]} is given twice; give it once")
        return relations


class RoleSettings(Settings):
    """Thresholds of the roles of heads."""

    positional_share: float = Field(
        0.9, gt=0, le=1, description="positional: minimum share of the largest weights at one relative position"
    )
    margin: float = Field(
        0.1, ge=0, description="syntactic: accuracy above that of the relation's most frequent relative position"
    )
    margin_unit: Literal["points", "relative"] = Field(
        "points", description="whether the margin is a difference of accuracies or a share of the baseline's"
    )
    rare_share: float = Field(
        0.5, gt=0, le=1, description="rare words: minimum share of the largest weights on one of the two rarest pieces"
    )


class PhenomenaSettings(Settings):
    """Accuracy per phenomenon of the generated language, without the heads of each relation."""

    examples: PositiveInt | None = Field(300, description="examples of the `test` set, from the start; unset for all")
    random_draws: PositiveInt = Field(5, description="draws of as many other encoder heads as each relation has")


class AttentionMapsSettings(Settings):
    """Attention maps of heads with roles."""

    sentences: PositiveInt = Field(4, description="sentences of 6 to 14 words whose maps are written")


class DecodingSettings(Settings):
    """Translation of an evaluation set. Sweeps over heads decode greedily, final scores with a beam."""

    length_factor: float = Field(
        1.5, ge=0, description="a translation has at most length_factor * source pieces + length_offset"
    )
    length_offset: PositiveInt = Field(10, description="see length_factor; pieces")
    sentences_at_once: PositiveInt = Field(64, description="sentences decoded at a time, sorted by length")


class EvaluationSettings(Settings):
    """Final scores of every run."""

    beam: PositiveInt = Field(5, description="beam size")
    length_penalty: float = Field(1.0, description="exponent of the length by which scores are divided")


ClassificationMetric = Literal["accuracy", "f1", "matthews"]


class LabellingSettings(Settings):
    """Labelling of an evaluation set."""

    examples_at_once: PositiveInt = Field(64, description="examples labelled at a time, sorted by length")
    metrics: tuple[ClassificationMetric, ...] | None = Field(
        None, description="metrics of the task, the main one first; unset for those of the corpus"
    )
