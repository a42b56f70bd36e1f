"""Where the sentence pairs come from, and the vocabulary made of them."""

from typing import Annotated, Literal, Union

from pydantic import Field, field_validator

from headroom.settings.base import Settings
from headroom.settings.online_text import ParallelHubCorpus, SacrebleuCorpus
from headroom.settings.sets import check_far_names

SPLITS = ("train", "choose", "check", "test")
"""The sets of every corpus: training, the two halves of the validation set, test."""


class GeneratedCorpus(Settings):
    """Sentence pairs made by the seeded grammar: gold trees, no download."""

    source: Literal["generated"] = Field("generated", description="made by the grammar of this project")
    seed: int = Field(1, ge=0, description="seed of the grammar; the same seed gives the same files")
    train: int = Field(12000, ge=1, description="training pairs")
    valid: int = Field(1000, ge=2, description="validation pairs: odd lines choose heads, even lines check")
    test: int = Field(500, ge=1, description="test pairs of the training domain")
    far: int = Field(500, ge=1, description="test pairs of the far domain")

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""
        return ("far",)


class CatalogueCorpus(Settings):
    """A public data set of the catalogue, from a mirror or by download, checked against its checksums."""

    source: Literal["catalogue"] = Field("catalogue", description="taken from the catalogue")
    dataset: Literal["multi30k"] = Field("multi30k", description="name of the data set in the catalogue")
    far: tuple[str, ...] = Field(("mscoco", "newstest2015"), description="the catalogue's far-domain sets to fetch too")

    @field_validator("far")
    @classmethod
    def _once_each(cls, far: tuple[str, ...]) -> tuple[str, ...]:
        check_far_names(far)
        return far

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""
        return self.far


class Pair(Settings):
    """Two aligned text files, one sentence a line."""

    source: str = Field(description="path of the source side")
    target: str = Field(description="path of the target side")


class FilesCorpus(Settings):
    """Your own parallel text: UTF-8, one sentence a line, both sides aligned by line."""

    source: Literal["files"] = Field("files", description="files of your own")
    source_language: str = Field("source", description="name of the source language, for the report")
    target_language: str = Field("target", description="name of the target language, for the report")
    train: Pair | None = Field(None, description="training pairs; only a released model needs none")
    valid: Pair = Field(description="validation pairs: odd lines choose heads, even lines check")
    test: Pair = Field(description="test pairs")
    far: dict[str, Pair] = Field(default_factory=dict, description="test pairs of other domains, by name")

    @field_validator("far")
    @classmethod
    def _free_names(cls, far: dict[str, Pair]) -> dict[str, Pair]:
        check_far_names(far)
        return far

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""
        return tuple(self.far)

    @property
    def pairs(self) -> dict[str, Pair]:
        """The files of every set by its name; without train if none is given."""
        train = {"train": self.train} if self.train else {}
        return {**train, "valid": self.valid, "test": self.test, **self.far}

    @property
    def paths(self) -> dict[str, str]:
        """Every file by its key in this section, e.g. `train.source`."""
        return {
            f"{'far.' if name in self.far else ''}{name}.{side}": str(getattr(pair, side))
            for name, pair in self.pairs.items()
            for side in ("source", "target")
        }


Corpus = Annotated[
    Union[GeneratedCorpus, CatalogueCorpus, FilesCorpus, SacrebleuCorpus, ParallelHubCorpus],  # noqa: UP007
    Field(discriminator="source"),
]


class VocabularySettings(Settings):
    """The joint SentencePiece vocabulary of both languages."""

    size: int = Field(2000, ge=16, description="pieces of the vocabulary, both languages together")
    model_type: Literal["bpe", "unigram"] = Field("bpe", description="kind of SentencePiece model")
