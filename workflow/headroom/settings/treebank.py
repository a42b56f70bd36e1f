"""Where the dependency trees come from that the roles of heads are measured on."""

from typing import Annotated, Any, Literal, Union

from pydantic import Field

from headroom.settings.base import Settings

TreebankName = Literal["ud-english-pud", "ud-english-ewt", "ud-german-pud"]


class GeneratedTreebank(Settings):
    """Gold trees of the grammar that made the corpus: of translation those of `check`, else of new sentences."""

    source: Literal["generated"] = Field("generated", description="made by the grammar of this project")
    sentences: int = Field(1000, ge=2, description="new sentences for a classifier; translation has those of `check`")


class CatalogueTreebank(Settings):
    """A public treebank of the catalogue, from a mirror or by download, checked against its checksum."""

    source: Literal["catalogue"] = Field("catalogue", description="taken from the catalogue")
    treebank: TreebankName = Field("ud-english-pud", description="name of the treebank in the catalogue")


class TreebankFile(Settings):
    """Your own treebank: one file in CoNLL-U, in the language that the encoder reads."""

    source: Literal["files"] = Field("files", description="a file of your own")
    path: str = Field(min_length=1, description="path of the .conllu")


class NoTreebank(Settings):
    """No trees: what heads do with dependency relations is not measured."""

    source: Literal["none"] = Field("none", description="no trees")


Treebank = Annotated[
    Union[GeneratedTreebank, CatalogueTreebank, TreebankFile, NoTreebank],  # noqa: UP007
    Field(discriminator="source"),
]


def default_treebank(checked: dict[str, Any]) -> Treebank:
    """Return the trees of a task that names none: those of the grammar if its text is made by it."""
    return GeneratedTreebank() if is_generated(checked.get("corpus")) else NoTreebank()


def check_treebank(task: str, treebank: Treebank, corpus: Settings) -> None:
    """Raise ValueError, naming the key, if trees of the grammar are asked for text that it did not make."""
    if isinstance(treebank, GeneratedTreebank) and not is_generated(corpus):
        raise ValueError(
            f"{task}.treebank.source: the text is not generated, so there are no trees of the grammar for it; "
            "name a treebank of the catalogue, a file of your own, or none"
        )


def is_generated(corpus: Any) -> bool:
    """Return whether the grammar made the text."""
    return getattr(corpus, "source", None) == "generated"
