"""Where labelled text and dependency trees come from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union

from pydantic import Field, model_validator

from headroom.settings.base import CorpusSettings, Settings, names_in


class GeneratedPairs(CorpusSettings):
    """Sentence pairs made by the seeded grammar and labelled by how they were made; no download."""

    source: Literal["generated"] = Field("generated", description="made by the grammar of this project")
    seed: int = Field(1, ge=0, description="seed of the grammar; the same seed gives the same files")
    train: int = Field(24000, ge=3, description="training pairs")
    valid: int = Field(1000, ge=2, description="validation pairs: odd lines choose heads, even lines check")
    test: int = Field(1000, ge=1, description="test pairs of the training domain")
    far: int = Field(1000, ge=1, description="test pairs of the other domain")


Metric = Literal["accuracy", "f1", "matthews"]

Label = Annotated[str, Field(min_length=1, pattern=r"^\S+( +\S+)*$", coerce_numbers_to_str=True)]
"""A name without tabs or white space around it; a number in a configuration is taken as a name."""

Labels = Annotated[tuple[Label, ...], Field(min_length=2)]
Metrics = Annotated[tuple[Metric, ...], Field(min_length=1)]


def check_task(labels: Sequence[str], metrics: Sequence[str]) -> None:
    """Check that these metrics can judge these labels.

    Raises:
        ValueError: If a label or metric is named twice, or F1, which needs one positive class, is asked of more
            than two labels.
    """
    for kind, names in (("label", labels), ("metric", metrics)):
        if repeated := [name for name in names if list(names).count(name) > 1]:
            raise ValueError(f"the {kind} '{repeated[0]}' is given twice")
    if "f1" in metrics and len(labels) != 2:
        raise ValueError(f"the metric f1 needs two labels, the second is the positive class; here are {len(labels)}")


if TYPE_CHECKING:
    LabelledDatasetName = str
    TreebankName = str
else:
    LabelledDatasetName = Literal[names_in("labelled_catalogue.yaml")]
    TreebankName = Literal[names_in("treebank_catalogue.yaml")]


class LabelledCatalogueCorpus(CorpusSettings):
    """A public labelled data set of the catalogue, from a mirror or by download, checked against its checksums."""

    source: Literal["catalogue"] = Field("catalogue", description="taken from the catalogue")
    dataset: LabelledDatasetName = Field("sst2", description="name of the data set in the catalogue")
    far: tuple[str, ...] = Field(
        (),
        description="the catalogue's far-domain sets to fetch too: out_of_domain of cola, mnli_matched of snli",
    )


class LabelledFilesCorpus(CorpusSettings):
    """Your own labelled text: TSV, UTF-8, columns sentence (or sentence1 and sentence2) and label by name."""

    source: Literal["files"] = Field("files", description="files of your own")
    train: str | None = Field(None, description="path of the training examples; only a released classifier needs none")
    valid: str = Field(description="path of the validation examples: odd ones choose heads, even ones check")
    test: str = Field(description="path of the test examples")
    far: dict[str, str] = Field(default_factory=dict, description="paths of test examples of other domains, by name")
    labels: Labels = Field(description="all labels, in the order of the classifier's outputs")
    metrics: Metrics = Field(("accuracy",), description="how to judge, the main metric first")

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        check_task(self.labels, self.metrics)
        return self

    @property
    def paths(self) -> dict[str, str]:
        """Every file by its key in this section, e.g. `far.reviews`."""
        far = {f"far.{name}": path for name, path in self.far.items()}
        train = {"train": self.train} if self.train else {}
        return {**train, "valid": self.valid, "test": self.test, **far}


class HubCorpus(CorpusSettings):
    """A data set of the Hugging Face Hub; needs a network, or the data set in the library's cache."""

    source: Literal["hub"] = Field("hub", description="loaded from the Hugging Face Hub")
    dataset: str = Field(min_length=1, description="name on the Hub, e.g. nyu-mll/glue")
    name: str | None = Field(None, description="configuration of the data set, e.g. mnli")
    revision: str | None = Field(None, description="commit or tag to load; without it the newest")
    sentences: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)] = Field(
        ("sentence",), description="column of the sentences, or the two columns of a pair"
    )
    label: str = Field("label", description="column of the labels")
    train: str = Field("train", description="split for training; a part is written as train[:98%]")
    valid: str = Field("validation", description="split for validation: odd ones choose heads, even ones check")
    test: str = Field("test", description="split for the test; its labels must be public")
    far: dict[str, str] = Field(default_factory=dict, description="splits of other domains, by the name they get")
    labels: Labels | None = Field(
        None, description="names of the labels in the order of their numbers; without it those of the data set"
    )
    metrics: Metrics = Field(("accuracy",), description="how to judge, the main metric first")

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        if self.labels is not None:
            check_task(self.labels, self.metrics)
        return self

    @property
    def splits(self) -> dict[str, str]:
        """The split of the data set for every set, by the set's name."""
        return {"train": self.train, "valid": self.valid, "test": self.test, **self.far}


LabelledCorpus = Annotated[
    Union[GeneratedPairs, LabelledCatalogueCorpus, LabelledFilesCorpus, HubCorpus],  # noqa: UP007
    Field(discriminator="source"),
]


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
