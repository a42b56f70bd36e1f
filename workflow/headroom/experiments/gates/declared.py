"""The settings and tables of this experiment."""

from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from headroom.core.columns import DIFFERENCE, FULL, HEAD, REMOVED, RUN, SIGNATURE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings

Way = Literal["hard-concrete.all"]

ScopedWay = Literal["hard-concrete.all", "hard-concrete.E"]

USUAL_RATE = 0.001
"""Learning rate of weights in further training, for models that were trained from scratch."""


class GateTrainingSettings(Settings):
    """Further training of a trained model, with gates on its heads or without."""

    gate_updates: NonNegativeInt = 0
    updates: PositiveInt = Field(
        300,
        description="further updates of the weights, with every gate fixed at 0 or 1; the same for learned gates, "
        "controls and models from scratch",
    )
    learning_rate: PositiveFloat | None = Field(
        None,
        description="learning rate of the weights, constant in `gate_updates` and falling linearly to zero in "
        "`updates`. Unset: that of the fine-tuning for "
        "pretrained encoders (training.learning_rate) and released classifiers (0.00002), 0.001 for all other models",
    )
    gate_learning_rate: PositiveFloat = Field(
        0.1,
        description="learning rate of the gates; constant. At 0.1 most gates come to 0 or 1 in some hundred updates, "
        "the last ones in some thousand (claim V14 counts them)",
    )

    @property
    def weight_updates(self) -> int:
        """The updates of the weights in both phases."""
        return self.gate_updates + self.updates

    @property
    def rate(self) -> float:
        """The learning rate of the weights: the given one, always set by the workflow, or `USUAL_RATE`."""
        return self.learning_rate or USUAL_RATE


class GateSettings(GateTrainingSettings):
    """Learned gates: hard concrete by a sweep over lambda (Voita et al. 2019), and controls."""

    gate_updates: PositiveInt = Field(
        600,
        description="updates in which gates are learned together with the weights. Controls and models from scratch "
        "have as many more updates of the weights",
    )
    penalties: tuple[PositiveFloat, ...] = Field(
        (0.003, 0.01, 0.03), description="lambda: penalty on an open gate in nats per target (hard-concrete)"
    )
    kept_shares: tuple[float, ...] = Field((0.25, 0.5, 0.75), description="shares of the heads that the controls keep")
    random_draws: PositiveInt = Field(1, description="random layouts per share, trained further: the control")
    batch_examples: PositiveInt = Field(64, description="examples in a training batch")
    test_examples: PositiveInt | None = Field(
        None,
        description="examples of `test`, and of `check`, from their starts, on which pruned models are evaluated; "
        "unset for all. Claims are judged on `test`; a model can be chosen on `check`",
    )

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        for name in ("penalties", "kept_shares"):
            written = [f"{value:g}" for value in getattr(self, name)]
            if len(set(written)) < len(written):  # the values become file names
                raise ValueError(f"{name}: a value is given twice; give each once")
        if wrong := [share for share in self.kept_shares if not 0 <= share <= 1]:
            raise ValueError(f"kept_shares: {wrong[0]} is out of range; give numbers from 0 to 1")
        return self


class ChosenGateSettings(GateSettings):
    """Learned gates, and the methods by which a study learns them."""

    ways: tuple[Way, ...] = Field(
        ("hard-concrete.all",),
        description="methods that learn which heads to keep, `<method>.<scope>`; empty for no gates and no controls",
    )


class ScopedGateSettings(GateSettings):
    """Learned gates of models with several kinds of attention."""

    ways: tuple[ScopedWay, ...] = Field(
        ("hard-concrete.E", "hard-concrete.all"),
        description="methods that learn which heads to keep, `<method>.<scope>`: of all heads, or of the encoder (E) "
        "with the decoder frozen; empty for no gates and no controls",
    )
    from_scratch: tuple[PositiveFloat, ...] = Field(
        (), description="values of lambda whose layout by hard-concrete.all is also trained from the start"
    )
    from_scratch_random_draws: NonNegativeInt = Field(
        1,
        description="random layouts with the same number of heads, trained from the same new weights: the control, "
        "one training each",
    )

    @model_validator(mode="after")
    def _layouts_are_learned(self) -> Self:
        known = self.penalties if "hard-concrete.all" in self.ways else ()
        if unknown := [value for value in self.from_scratch if value not in known]:
            raise ValueError(
                f"from_scratch: {unknown[0]} is not a lambda of hard-concrete.all; add it to penalties, or leave it out"
            )
        return self

    @property
    def scopes(self) -> list[str]:
        """The scopes of the methods and of the controls, if any."""
        return sorted({way.partition(".")[2] for way in self.ways} | ({"all"} if self.ways else set()))


_WAY = (
    Column(
        "method",
        "text",
        "`hard-concrete`: gates under an L0 penalty (Voita et al. 2019)",
    ),
    Column("scope", "text", "heads with gates: `all`, or `E`, those of the encoder, with the decoder frozen"),
    Column(
        "setting",
        "number",
        "of `hard-concrete` lambda, the nats per target that an open gate costs; of the others K, the number of heads"
        " kept",
    ),
)

GATES = Table(
    path="gates/{run}.{way}.csv",
    key=("run", "epoch", "method", "scope", "setting", "kind", "layer", "head"),
    columns=(
        *RUN,
        *_WAY,
        *HEAD,
        Column(
            "score",
            "number",
            "the learned parameter: log alpha of a hard-concrete gate",
        ),
        Column("kept", "integer", "1 if the head is kept: P(g = 1) > P(g = 0); else 0"),
        SIGNATURE,
    ),
    about="Learned gates after further training: one row per head and setting. One file per run and way,"
    " `gates/<run>.<method>.<scope>.csv`.",
)

PRUNED_MODELS = Table(
    path="pruned_models/{run}.{way}.csv",
    resampled=True,
    key=("run", "epoch", "method", "scope", "setting", "draw", "start", "gates", "set", "metric"),
    columns=(
        *RUN,
        _WAY[0].means(
            "as in [gates](#gates); further `continued`: no head removed, the same further training; `gradient`: the K"
            " best heads by the main criterion are kept; `random`: K random heads are kept; `scratch`: the layout of"
            " `hard-concrete` at this lambda, trained from new weights; `random-scratch`: the same number of random"
            " heads, trained from new weights"
        ),
        *_WAY[1:],
        Column("draw", "integer", "number of the random layout, from 1; else 0"),
        Column("kept", "integer", "heads kept"),
        Column("heads", "integer", "heads in scope"),
        Column(
            "undecided",
            "integer",
            "gates that are neither 0 nor 1 with a probability of 0.95; empty without gate probabilities",
        ),
        Column(
            "start",
            "text",
            "the initial weights. Those of the trained model: `converged`; `falling`: its last epoch still reduced the"
            " validation loss by more than 1 %; `unknown`: trained elsewhere. Or `scratch`, followed by the run's"
            " training and then the further training: new weights with a separate seed (that of the run plus"
            " 2^31, modulo 2^32), also for the order of batches and dropout",
        ),
        Column(
            "gates",
            "text",
            "`hard`: after all updates, without the removed heads. Further, of `hard-concrete`, when gates have been"
            " learned and before the weights are trained on: `soft`, under gates as learned, without noise, and"
            " `hardened`, with the same weights under gates made 0 or 1. Hardened less soft is what rounding costs;"
            " hard less hardened is what training on recovers",
        ),
        *(
            FULL.means("the metric of the model before further training, with all heads") if column == FULL else column
            for column in DIFFERENCE
        ),
        REMOVED,
        Column(
            "updates",
            "integer",
            "updates of the weights in both phases of further training: the same for every method",
        ),
        Column(
            "gate_updates",
            "integer",
            "updates in which gates were learned: the first of `updates` for `hard-concrete`; 0 for fixed layouts",
        ),
        Column(
            "total_updates",
            "integer",
            "all updates of the weights, including the original training: the same for pruned models, controls and"
            " models trained from the start; empty for a model that was trained elsewhere",
        ),
        SIGNATURE,
    ),
    about="""
Pruned models after further training, compared with the original model on the same examples. Further training has two
phases: gates are learned, then they are fixed and the weights are trained on. Hard models are evaluated on `check`,
too, so that a model can be chosen there and judged on `test`. Layouts that
are trained from the start (`scratch`, `random-scratch`) get the run's epochs and then the same further
training. One file per run and way, `pruned_models/<run>.<method>.<scope>.csv`, per scope of the controls,
`pruned_models/<run>.controls.<scope>.csv`, and per model trained from the start,
`pruned_models/<run>.scratch-<lambda>.csv` (random layouts: `<run>.random<draw>-<lambda>.csv`).
""",
)
