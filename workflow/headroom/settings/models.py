"""Shapes of models, sources of encoders, training, and released models."""

from itertools import pairwise
from typing import Annotated, Literal, Self, Union

from pydantic import (
    AfterValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from headroom.core.heads import Site
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
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}; change one of them")
        return self

    @property
    def sites(self) -> list[Site]:
        """The attention sites of such a model, in table order."""
        layers = {"E": self.encoder_layers, "A": self.decoder_layers, "D": self.decoder_layers}
        return [Site(kind, layer, self.heads) for kind, count in layers.items() for layer in range(1, count + 1)]


class NewEncoder(Settings):
    """A BERT of this shape with new weights, and a WordPiece vocabulary learned from the training text."""

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
            raise ValueError(f"width {width} is not a multiple of heads {heads}; change one of them")
        return width


class DirectoryEncoder(Settings):
    """A pretrained encoder on this machine, in the Hub's directory format."""

    source: Literal["directory"] = Field("directory", description="a local directory")
    path: str = Field(description="directory with config.json, model.safetensors and a tokenizer")


class HubEncoder(Settings):
    """A pretrained encoder of the Hugging Face Hub; needs a network."""

    source: Literal["hub"] = Field("hub", description="downloaded from the Hub")
    name: str = Field("bert-base-uncased", description="name on the Hub, e.g. google-bert/bert-base-uncased")
    revision: str = Field("main", description="branch, tag or commit; a commit pins the weights")


class SelfAttentiveEncoder(Settings):
    """A bidirectional LSTM with attention hops (Lin et al. 2017), with new weights; the hops are its heads.

    It is trained from scratch: set its learning rate to about 0.001.
    """

    source: Literal["self-attentive"] = Field("self-attentive", description="a self-attentive sentence encoder")
    embedding: PositiveInt = Field(64, description="width of the embedding")
    hidden: PositiveInt = Field(64, description="units of the LSTM in each direction")
    attention: PositiveInt = Field(64, description="hidden units of the attention (rows of W_s1)")
    hops: PositiveInt = Field(8, description="attention hops (rows of W_s2), which are the heads")
    fully_connected: PositiveInt = Field(128, description="units of the layer after the hops")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout on embeddings and on the fully connected layer")
    penalty: float = Field(
        0.0, ge=0, description="weight of the penalty ||A A^T - I||_F^2 on similar hops, in training"
    )
    vocabulary: PositiveInt = Field(2000, description="largest number of WordPieces")


Encoder = Annotated[
    Union[NewEncoder, DirectoryEncoder, HubEncoder, SelfAttentiveEncoder],  # noqa: UP007
    Field(discriminator="source"),
]

PRETRAINED = ("directory", "hub")
"""The sources of encoders that come with weights, the same at the start of every run."""


Device = Literal["auto", "cpu", "cuda"]


def _check_shares(shares: tuple[float, ...]) -> tuple[float, ...]:
    """Raise ValueError if shares of an epoch are no shares, too exact for a file's name, or not in rising order."""
    if wrong := [share for share in shares if not 0 < share < 1 or round(share, 3) != share]:
        raise ValueError(f"{wrong[0]:g} is no share; give numbers between 0 and 1 with at most three decimals")
    if wrong := [share for before, share in pairwise(shares) if share <= before]:
        raise ValueError(f"{wrong[0]:g} does not rise; give each share once, the lowest first")
    return shares


EarlyCheckpoints = Annotated[
    tuple[float, ...],
    AfterValidator(_check_shares),
    Field(
        description="shares of the first epoch after which there is a checkpoint too, e.g. 0.1 and 0.5; heads are "
        "scored and pruned there as after every epoch"
    ),
]
"""Checkpoints inside the first epoch: early in training on a large set."""


class TrainingSettings(Settings):
    """Training with fairseq: label-smoothed cross-entropy, Adam, an inverse square root schedule, and annealing."""

    epochs: PositiveInt = Field(10, le=1000, description="passes over the training data, with a checkpoint after each")
    early_checkpoints: EarlyCheckpoints = ()
    learning_rate: PositiveFloat = Field(3e-3, description="peak learning rate")
    warmup_updates: PositiveInt = Field(400, description="updates of linear warm-up")
    annealed_share: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of all updates, the last ones, in which the learning rate falls linearly to zero. The rate "
        "then depends on `epochs`: another number is another training",
    )
    max_tokens: PositiveInt = Field(768, description="tokens in a batch, padding included")
    update_frequency: PositiveInt = Field(1, description="batches whose gradients are accumulated for an update")
    label_smoothing: float = Field(0.05, ge=0, lt=1, description="label smoothing")
    weight_decay: float = Field(0.0, ge=0, description="weight decay of Adam, decoupled from the gradient")
    clip_norm: float = Field(0.0, ge=0, description="largest gradient norm; 0 does not clip")
    precision: Literal["float32", "tf32", "bfloat16", "float16"] = Field(
        "float32",
        description="number format of the forward and backward pass in training (tf32 and float16 need CUDA)",
    )


class FineTuningSettings(Settings):
    """Fine-tuning with transformers' Trainer: AdamW, linear warm-up and decay (Michel et al. 2019: the defaults)."""

    epochs: PositiveInt = Field(3, le=1000, description="passes over the training data, with a checkpoint after each")
    early_checkpoints: EarlyCheckpoints = ()
    learning_rate: PositiveFloat = Field(2e-5, description="peak learning rate")
    batch_size: PositiveInt = Field(32, description="examples per update")
    max_length: PositiveInt = Field(128, description="longest input in tokens; longer inputs are truncated")
    warmup_share: float = Field(0.1, ge=0, lt=1, description="share of all updates with a rising learning rate")
    weight_decay: float = Field(0.01, ge=0, description="decoupled weight decay of AdamW")
    clip_norm: float = Field(1.0, ge=0, description="largest gradient norm; 0 does not clip")
    precision: Literal["float32", "tf32", "bfloat16", "float16"] = Field(
        "float32",
        description="number format of the forward and backward pass in training (tf32 and float16 need CUDA)",
    )


class MosesSettings(Settings):
    """The input text of released models: Moses tokens, split by joint byte-pair codes (subword-nmt).

    The defaults are those of fairseq's WMT14 English-French: its training text was processed by Moses's
    normalize-punctuation.perl and remove-non-printing-char.perl, and through tokenizer.perl with -a.
    """

    source_language: str = Field("en", pattern=r"^[a-z]{2,3}$", description="code of the source language")
    target_language: str = Field("fr", pattern=r"^[a-z]{2,3}$", description="code of the target language")
    normalise: bool = Field(
        True, description="normalise punctuation and drop non-printing characters before tokenisation"
    )
    split_hyphens: bool = Field(True, description="make hyphens inside words tokens: @-@ (tokenizer.perl -a)")


class ReleasedModel(MosesSettings):
    """A checkpoint of fairseq that was released with its dictionaries and byte-pair codes; used without training."""

    library: Literal["fairseq"] = Field("fairseq", description="what runs it: fairseq")
    url: str | None = Field(None, pattern=r"^https?://", description="tar archive to download; or give path")
    path: str | None = Field(None, min_length=1, description="local directory or tar archive; or give url")
    sha256: str | None = Field(
        None, pattern=r"^[0-9a-f]{64}$", description="checksum of the archive; unset to accept any and log it"
    )
    checkpoint_file: str = Field("model.pt", min_length=1, description="name of the checkpoint inside")
    codes_file: str = Field("bpecodes", min_length=1, description="name of the byte-pair codes inside")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.url is None) == (self.path is None):
            raise ValueError("released model: give either url or path")
        return self

    @property
    def series(self) -> tuple[Self]:
        """The model alone."""
        return (self,)

    @property
    def dictionaries(self) -> tuple[str, str]:
        """Names of the source and the target dictionary inside, as in fairseq."""
        return f"dict.{self.source_language}.txt", f"dict.{self.target_language}.txt"


Dtype = Literal["float32", "bfloat16", "float16"]

BUILDERS = {
    "classification": "AutoModelForSequenceClassification",
    "translation": "AutoModelForSeq2SeqLM",
    "language": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
}
"""By kind of task, the class of transformers that builds a model for it."""


class HubModelSettings(Settings):
    """A model of the library transformers in the Hub's directory format; used without training."""

    library: Literal["transformers"] = Field("transformers", description="what runs it: transformers")
    path: str | None = Field(
        None,
        min_length=1,
        description="local directory with config.json, safetensors and a tokenizer; or give name",
    )
    name: str | None = Field(
        None, min_length=1, description="name of a model on the Hub, e.g. owner/model; or give path"
    )
    revision: str = Field("main", description="branch, tag or commit of the Hub; a commit pins the weights")
    earlier: tuple[str, ...] = Field(
        (),
        description="earlier checkpoints of the same training, the first one first: directories with `path`, branches, "
        "tags or commits with `name`. Each is an epoch of the run, and the model itself is the last",
    )
    gguf: str | None = Field(
        None, min_length=1, description="name of a GGUF file in the model's directory, to be read instead of the others"
    )
    dtype: Dtype = Field(
        "float32",
        description="number format of the weights; with few bits, differences between heads disappear in rounding",
    )
    removable: bool = Field(
        True, description="whether heads can be removed, not only masked; without, removal and timing are left out"
    )
    below_chance: bool = Field(
        False,
        description="whether a classifier may be less accurate than chance, or than with its labels in another order, "
        "and an encoder-decoder may expect translations in the next line; otherwise they are refused before other jobs",
    )
    source_code: str | None = Field(
        None, description="code of the source language, for multilingual translation models, e.g. eng_Latn"
    )
    target_code: str | None = Field(
        None, description="code of the target language, for multilingual translation models, e.g. deu_Latn"
    )
    prefix: str | None = Field(
        None, description="text before every source sentence, for T5, e.g. `translate English to German: `"
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.path is None) == (self.name is None):
            raise ValueError("released model: give either path or name")
        return self

    @property
    def series(self) -> tuple[Self, ...]:
        """The earlier checkpoints and the model itself."""
        key = "path" if self.path else "revision"
        return (*(self.model_copy(update={key: one, "earlier": ()}) for one in self.earlier), self)

    @property
    def place(self) -> DirectoryEncoder | HubEncoder:
        """Where its directory is."""
        if self.path:
            return DirectoryEncoder(path=self.path)
        return HubEncoder(name=str(self.name), revision=self.revision)
