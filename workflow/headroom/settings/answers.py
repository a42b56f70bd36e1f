"""The settings of answers: translations, labels, next and masked tokens, and of what replaces removed heads."""

from typing import Any, Self

from pydantic import Field, PositiveInt, field_validator, model_validator

from headroom.core.interventions import Replacement
from headroom.settings.base import Settings
from headroom.settings.labelled import Metrics


class DecodingSettings(Settings):
    """Translation of an evaluation set. Sweeps over heads decode greedily, final scores with a beam."""

    length_factor: float = Field(
        1.5, ge=0, description="a translation has at most length_factor * source tokens + length_offset"
    )
    length_offset: PositiveInt = Field(10, description="see length_factor; tokens")
    sentences_at_once: PositiveInt = Field(64, description="sentences decoded at a time, sorted by length")


class LabellingSettings(Settings):
    """Labelling of an evaluation set."""

    examples_at_once: PositiveInt = Field(64, description="examples labelled at a time, sorted by length")
    metrics: Metrics | None = Field(
        None, description="metrics of the task, the main one first; unset for those of the corpus"
    )


class WindowSettings(Settings):
    """Prediction of the next token in windows of a document: a window of n tokens has n - 1 predictions."""

    length: int = Field(512, ge=2, description="tokens of a window; the last one of a document may be shorter")
    stride: PositiveInt = Field(
        512,
        description="tokens from one window to the next; unset for `length`. With a smaller one windows overlap, and "
        "only predictions that no window before has made count",
    )
    per_set: PositiveInt | None = Field(
        None,
        description="windows of every set, spread evenly over its documents; unset for all. Other limits on examples "
        "count these, from the start",
    )
    windows_at_once: PositiveInt = Field(8, description="windows in a batch; does not change the result")

    @model_validator(mode="before")
    @classmethod
    def _by_length(cls, given: Any) -> Any:
        """Let windows follow each other if only their length is given."""
        return {"stride": given["length"], **given} if isinstance(given, dict) and "length" in given else given

    @model_validator(mode="after")
    def _no_gaps(self) -> Self:
        if self.stride > self.length:
            raise ValueError(f"stride {self.stride} leaves tokens out; give at most the length, {self.length}")
        return self


class MaskedWindowSettings(WindowSettings):
    """Prediction of masked tokens in windows of a document, from the tokens on both sides."""

    length: int = Field(
        512, ge=3, description="tokens of a window, those that the tokenizer writes around a text included"
    )
    masked_share: float = Field(
        0.15,
        gt=0,
        le=1,
        description="share of a window's tokens that is masked and predicted, the same ones in every run",
    )


class InterventionSettings(Settings):
    """Removal of heads in sweeps: single heads, one head kept per site, pruning curves."""

    replacement: tuple[Replacement, ...] = Field(
        ("zero",),
        description="replacements of the z of removed heads: zero, always; for each further one, mean (of the head on "
        "the set `choose`), resample (another example of the batch) or, for language models, first (its z at the first "
        "position, as if it attended to the first token alone), ablation, keep_one and pruning are repeated",
    )

    @field_validator("replacement")
    @classmethod
    def _zero_and_others_once(cls, replacement: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
        if "zero" not in replacement:
            raise ValueError("zero is missing, which claims are about; add it")
        if repeated := [name for name in replacement if replacement.count(name) > 1]:
            raise ValueError(f"the replacement {repeated[0]} is given twice; give it once")
        return replacement
