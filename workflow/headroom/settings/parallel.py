"""Where parallel text comes from."""

from typing import TYPE_CHECKING, Annotated, Literal, Union

from pydantic import Field

from headroom.settings.base import CorpusSettings, Settings, names_in


class SacrebleuCorpus(CorpusSettings):
    """Test sets that sacrebleu downloads; no training text, so only for a released model.

    Each is used for one thing, whole: no set is halved into `choose` and `check` as validation text is elsewhere.
    """

    source: Literal["sacrebleu"] = Field("sacrebleu", description="test sets that sacrebleu knows")
    pair: str = Field("en-fr", pattern=r"^[a-z]{2,3}-[a-z]{2,3}$", description="source and target language")
    choose: str = Field("wmt13", description="test set that chooses heads")
    check: str = Field("wmt12", description="test set that checks what was chosen")
    test: str = Field("wmt14/full", description="test set of the final figures")
    far: dict[str, str] = Field(default_factory=dict, description="test sets of other domains, by the name they get")

    @property
    def named_sets(self) -> dict[str, str]:
        """The names that sacrebleu has for every set, by the set's key, e.g. `far.mtnt`."""
        far = {f"far.{name}": test_set for name, test_set in self.far.items()}
        return {"choose": self.choose, "check": self.check, "test": self.test, **far}


class ParallelHubCorpus(CorpusSettings):
    """A translation data set of the Hugging Face Hub; needs a network, or the data set in the library's cache."""

    source: Literal["hub"] = Field("hub", description="loaded from the Hugging Face Hub")
    dataset: str = Field(min_length=1, description="name on the Hub; of files such as parquet, not of a script")
    name: str | None = Field(None, description="configuration of the data set; unset for its only one")
    revision: str | None = Field(None, description="commit, tag or branch to load; without it the newest")
    source_language: str = Field(description="code of the source language, as in the data set, e.g. de")
    target_language: str = Field(description="code of the target language, e.g. en")
    column: str = Field("translation", description="column with a text for each language code")
    train: str = Field("train", description="split for training; a part is written as train[:98%]")
    valid: str = Field("validation", description="split for validation: odd pairs choose heads, even ones check")
    test: str = Field("test", description="split for the test")
    far: dict[str, str] = Field(default_factory=dict, description="splits of other domains, by the name they get")

    @property
    def splits(self) -> dict[str, str]:
        """The split of the data set for every set, by the set's name."""
        return {"train": self.train, "valid": self.valid, "test": self.test, **self.far}


class GeneratedCorpus(CorpusSettings):
    """Sentence pairs made by the seeded grammar: gold trees, no download."""

    source: Literal["generated"] = Field("generated", description="made by the grammar of this project")
    seed: int = Field(1, ge=0, description="seed of the grammar; the same seed gives the same files")
    train: int = Field(12000, ge=1, description="training pairs")
    valid: int = Field(1000, ge=2, description="validation pairs: odd lines choose heads, even lines check")
    test: int = Field(500, ge=1, description="test pairs of the training domain")
    far: int = Field(500, ge=1, description="test pairs of the far domain")


if TYPE_CHECKING:
    DatasetName = str
else:
    DatasetName = Literal[names_in("catalogue.yaml")]


class CatalogueCorpus(CorpusSettings):
    """A public data set of the catalogue, from a mirror or by download, checked against its checksums."""

    source: Literal["catalogue"] = Field("catalogue", description="taken from the catalogue")
    dataset: DatasetName = Field("multi30k", description="name of the data set in the catalogue")
    far: tuple[str, ...] = Field(("mscoco", "newstest2015"), description="the catalogue's far-domain sets to fetch too")


class Pair(Settings):
    """Two aligned text files, one sentence a line."""

    source: str = Field(description="path of the source side")
    target: str = Field(description="path of the target side")


class FilesCorpus(CorpusSettings):
    """Your own parallel text: UTF-8, one sentence a line, both sides aligned by line."""

    source: Literal["files"] = Field("files", description="files of your own")
    source_language: str = Field("source", description="name of the source language, for the report")
    target_language: str = Field("target", description="name of the target language, for the report")
    train: Pair | None = Field(None, description="training pairs; only a released model needs none")
    valid: Pair = Field(description="validation pairs: odd lines choose heads, even lines check")
    test: Pair = Field(description="test pairs")
    far: dict[str, Pair] = Field(default_factory=dict, description="test pairs of other domains, by name")

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
