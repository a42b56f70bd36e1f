"""How a classifier is trained."""

from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from headroom.settings.base import Settings


class FineTuningSettings(Settings):
    """Fine-tuning with transformers' Trainer: AdamW, linear warm-up and decay (Michel et al. 2019: the defaults)."""

    epochs: PositiveInt = Field(3, le=1000, description="passes over the training data; each leaves a checkpoint")
    learning_rate: PositiveFloat = Field(2e-5, description="peak learning rate")
    batch_size: PositiveInt = Field(32, description="examples per update")
    max_length: PositiveInt = Field(128, description="longest input in pieces; what is longer is cut")
    warmup_share: float = Field(0.1, ge=0, lt=1, description="share of all updates that the rate rises in")
    weight_decay: float = Field(0.01, ge=0, description="decoupled weight decay of AdamW")
    clip_norm: float = Field(1.0, ge=0, description="largest gradient norm; 0 does not clip")
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="number format of the forward and backward pass (float16 needs CUDA)"
    )
