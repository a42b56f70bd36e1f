"""The shape of the translation model."""

from typing import Self

from pydantic import Field, PositiveInt, model_validator

from headroom.settings.base import Settings


class ModelSettings(Settings):
    """A Transformer for translation (fairseq's `transformer`)."""

    encoder_layers: PositiveInt = Field(3, le=1000, description="encoder layers")
    decoder_layers: PositiveInt = Field(3, le=1000, description="decoder layers")
    heads: PositiveInt = Field(8, description="heads of every attention site")
    width: PositiveInt = Field(64, description="width of embeddings and layers; a multiple of `heads`")
    feed_forward: PositiveInt = Field(128, description="width of the feed-forward sub-layers")
    dropout: float = Field(0.05, ge=0, lt=1, description="dropout on embeddings and sub-layer outputs")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="dropout on attention weights")
    pre_norm: bool = Field(False, description="layer norm before each sub-layer instead of after it")
    share_embeddings: bool = Field(
        True, description="one embedding matrix for source, target and output (needs a joint vocabulary)"
    )

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self
