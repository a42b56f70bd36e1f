"""Sources of plain text, and pairs of sentences, for language models."""

from typing import TYPE_CHECKING, Annotated, Literal, Self, Union

from pydantic import Field, model_validator

from headroom.settings.base import CorpusSettings, HubSource, Settings, names_in

Documents = Literal["line", "blank", "file"]


class DocumentFiles(CorpusSettings):
    """Your own text in UTF-8: documents in one place, which are divided into sets, or a place for every set."""

    source: Literal["files"] = Field("files", description="local files")
    documents: Documents = Field(
        "line",
        description="what a document is: a line (line), lines up to an empty one (blank), or a whole file (file). "
        "Places are files, with `file` directories",
    )
    path: str | None = Field(
        None, min_length=1, description="place of all documents, divided into sets; or give valid and test"
    )
    valid_share: float = Field(0.3, gt=0, lt=1, description="share of the documents of `path` that choose and check")
    test_share: float = Field(0.3, gt=0, lt=1, description="share of the documents of `path` for the test")
    seed: int = Field(1, ge=0, description="seed of the division of `path`")
    train: str | None = Field(
        None, min_length=1, description="place of further text, which says how frequent words are; optional"
    )
    valid: str | None = Field(
        None, min_length=1, description="place of validation documents: odd ones choose heads, even ones check"
    )
    test: str | None = Field(None, min_length=1, description="place of test documents")
    far: dict[str, str] = Field(default_factory=dict, description="places of documents of other domains, by name")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.path and (self.train or self.valid or self.test):
            raise ValueError("give either path, or valid and test (and train), not both")
        if not self.path and not (self.valid and self.test):
            raise ValueError("no text; give path, or valid and test")
        if self.valid_share + self.test_share > 1:
            raise ValueError(
                f"valid_share {self.valid_share:g} and test_share {self.test_share:g} are more than all documents; "
                "make one smaller"
            )
        return self

    @property
    def paths(self) -> dict[str, str]:
        """Every place by its key in this section, e.g. `far.news`."""
        own = {name: getattr(self, name) for name in ("path", "train", "valid", "test")}
        far = {f"far.{name}": path for name, path in self.far.items()}
        return {**{name: path for name, path in own.items() if path}, **far}


if TYPE_CHECKING:
    TextName = str
else:
    TextName = Literal[names_in("document_catalogue.yaml")]


class DocumentCatalogueCorpus(CorpusSettings):
    """Public text of the catalogue, from a mirror or by download, verified by its checksums."""

    source: Literal["catalogue"] = Field("catalogue", description="from the catalogue")
    dataset: TextName = Field("wikitext-2-raw", description="name of the text in the catalogue")
    far: tuple[str, ...] = Field((), description="additional far-domain sets of the catalogue")


class DocumentHubCorpus(HubSource):
    """A data set of the Hugging Face Hub, a document in every row; needs a network, or the library's cache."""

    text: str = Field("text", description="column of the documents")
    train: str | None = Field(
        None, description="split of further text, which says how frequent words are; optional, e.g. train[:1%]"
    )


DocumentCorpus = Annotated[
    Union[DocumentFiles, DocumentCatalogueCorpus, DocumentHubCorpus],  # noqa: UP007
    Field(discriminator="source"),
]


class PairSettings(Settings):
    """Good and bad sentences (as BLiMP has): how often the model finds the good one of a pair more probable."""

    path: str = Field(min_length=1, description="path of a TSV with the columns group, good and bad")
