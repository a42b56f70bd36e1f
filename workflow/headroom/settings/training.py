"""How a model is trained."""

from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from headroom.settings.base import Settings

Device = Literal["auto", "cpu", "cuda"]


class TrainingSettings(Settings):
    """Training with fairseq: label-smoothed cross-entropy, Adam, inverse square root schedule."""

    epochs: PositiveInt = Field(10, le=1000, description="passes over the training data; each leaves a checkpoint")
    learning_rate: PositiveFloat = Field(3e-3, description="peak learning rate")
    warmup_updates: PositiveInt = Field(400, description="updates of linear warm-up")
    max_tokens: PositiveInt = Field(768, description="tokens in a batch, padding included")
    update_frequency: PositiveInt = Field(1, description="batches whose gradients are added to one update")
    label_smoothing: float = Field(0.05, ge=0, lt=1, description="label smoothing")
    weight_decay: float = Field(0.0, ge=0, description="L2 weight decay of Adam")
    clip_norm: float = Field(0.0, ge=0, description="largest gradient norm; 0 does not clip")
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="number format of the forward and backward pass (float16 needs CUDA)"
    )
