"""Models that are trained already: by others, or by you elsewhere."""

from typing import Self

from pydantic import Field, model_validator

from headroom.settings.base import Settings


class MosesSettings(Settings):
    """Text as such a model reads it: Moses tokens, cut by joint byte-pair codes (subword-nmt).

    The defaults are those of fairseq's WMT14 English-French: its training text went through Moses's
    normalize-punctuation.perl and remove-non-printing-char.perl, and through tokenizer.perl with -a.
    """

    source_language: str = Field("en", pattern=r"^[a-z]{2,3}$", description="code of the source language")
    target_language: str = Field("fr", pattern=r"^[a-z]{2,3}$", description="code of the target language")
    normalise: bool = Field(True, description="normalise punctuation, and drop what cannot be printed, before tokens")
    split_hyphens: bool = Field(True, description="make hyphens inside words tokens: @-@ (tokenizer.perl -a)")


class ReleasedModel(MosesSettings):
    """A checkpoint that was released with its dictionaries and byte-pair codes; it is used as it is."""

    url: str | None = Field(None, pattern=r"^https?://", description="tar archive to download; or give path")
    path: str | None = Field(None, min_length=1, description="directory or tar archive of your own; or give url")
    sha256: str | None = Field(
        None, pattern=r"^[0-9a-f]{64}$", description="checksum of the archive; unset to take what comes and log it"
    )
    checkpoint_file: str = Field("model.pt", min_length=1, description="name of the checkpoint inside")
    codes_file: str = Field("bpecodes", min_length=1, description="name of the byte-pair codes inside")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.url is None) == (self.path is None):
            raise ValueError("a released model is found by url or by path: give one of the two")
        return self

    @property
    def dictionaries(self) -> tuple[str, str]:
        """Names of the source and the target dictionary inside, as fairseq gives them."""
        return f"dict.{self.source_language}.txt", f"dict.{self.target_language}.txt"


class ReleasedClassifier(Settings):
    """A classifier that is fine-tuned already, in the Hub's directory format; it is used as it is."""

    path: str | None = Field(
        None, min_length=1, description="directory of your own: config.json, model.safetensors, a tokenizer; or name"
    )
    name: str | None = Field(
        None, min_length=1, description="name of a classifier on the Hub, e.g. owner/model; or path"
    )
    revision: str = Field("main", description="branch, tag or commit of the Hub; a commit pins the weights")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.path is None) == (self.name is None):
            raise ValueError("a released classifier is found by path or by name: give one of the two")
        return self
