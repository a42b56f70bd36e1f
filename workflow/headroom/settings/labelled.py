"""Sources of labelled text and dependency trees."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import AfterValidator, Field, field_validator

from headroom.settings.base import CorpusSettings, HubSource, Settings, names_in

Metric = Literal["accuracy", "f1", "matthews"]

Label = Annotated[str, Field(min_length=1, pattern=r"^\S+( +\S+)*$", coerce_numbers_to_str=True)]
"""A name without surrounding white space or tabs; numbers in a configuration are converted to text."""

Labels = Annotated[tuple[Label, ...], Field(min_length=2)]


def check_labels(labels: Sequence[str]) -> None:
    """Raise ValueError if a label is given twice, also as another form of the same number, e.g. 1 and 1.0."""
    for place, label in enumerate(labels):
        if same := [other for other in labels[:place] if match_label(other, [label]) == label]:
            also = "" if same[0] == label else f", also as '{same[0]}'"
            raise ValueError(f"the label '{label}' is given twice{also}; give it once")


def _check_metrics(metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
    if repeated := [name for name in metrics if metrics.count(name) > 1]:
        raise ValueError(f"the metric '{repeated[0]}' is given twice; give it once")
    return metrics


Metrics = Annotated[tuple[Metric, ...], Field(min_length=1), AfterValidator(_check_metrics)]
"""Metrics, the main one first. F1 of more than two labels is the mean over them."""


_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?")


def match_label(label: str, labels: Sequence[str]) -> str:
    """Return the one of some labels that a label is, if any, as it is or as the same number: 1.0 is 1; else itself."""
    if label in labels or not _NUMBER.fullmatch(label):
        return label
    return next((one for one in labels if _NUMBER.fullmatch(one) and float(one) == float(label)), label)


if TYPE_CHECKING:
    LabelledDatasetName = str
    TreebankName = str
else:
    LabelledDatasetName = Literal[names_in("labelled_catalogue.yaml")]
    TreebankName = Literal[names_in("treebank_catalogue.yaml")]


class LabelledCatalogueCorpus(CorpusSettings):
    """A public labelled data set of the catalogue, from a mirror or by download, verified by its checksums."""

    source: Literal["catalogue"] = Field("catalogue", description="from the catalogue")
    dataset: LabelledDatasetName = Field("sst2", description="name of the data set in the catalogue")
    far: tuple[str, ...] = Field(
        (),
        description="additional far-domain sets of the catalogue: out_of_domain of cola, mnli_matched of snli",
    )


def _check_labels(labels: tuple[str, ...] | None) -> tuple[str, ...] | None:
    check_labels(labels or ())
    return labels


class LabelledFilesCorpus(CorpusSettings):
    """Your own labelled text: TSV, UTF-8, columns sentence (or sentence1 and sentence2) and label by name."""

    source: Literal["files"] = Field("files", description="local files")
    train: str | None = Field(None, description="path of the training examples; optional with a released classifier")
    valid: str = Field(
        description="path of the validation examples: odd ones choose heads, even ones check; if labels "
        "alternate, every second one of each label"
    )
    test: str = Field(description="path of the test examples")
    far: dict[str, str] = Field(default_factory=dict, description="paths of test examples of other domains, by name")
    labels: Labels = Field(description="all labels, in the order of the classifier's outputs")
    metrics: Metrics = Field(("accuracy",), description="metrics, the main one first")

    _different_labels = field_validator("labels")(_check_labels)

    @property
    def paths(self) -> dict[str, str]:
        """Every file by its key in this section, e.g. `far.reviews`."""
        far = {f"far.{name}": path for name, path in self.far.items()}
        train = {"train": self.train} if self.train else {}
        return {**train, "valid": self.valid, "test": self.test, **far}


class HubCorpus(HubSource):
    """A data set of the Hugging Face Hub; needs a network, or the data set in the library's cache."""

    train: str = Field("train", description="split for training; a part is written as train[:98%]")
    sentences: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)] = Field(
        ("sentence",), description="column of the sentences, or the two columns of a pair"
    )
    label: str = Field("label", description="column of the labels")
    labels: Labels | None = Field(
        None, description="names of the labels in the order of their numbers; unset for those of the data set"
    )
    metrics: Metrics = Field(("accuracy",), description="metrics, the main one first")

    _different_labels = field_validator("labels")(_check_labels)


LabelledCorpus = Annotated[
    Union[LabelledCatalogueCorpus, LabelledFilesCorpus, HubCorpus],  # noqa: UP007
    Field(discriminator="source"),
]


class GeneratedTreebank(Settings):
    """Gold trees of the grammar that generated the parallel text: those of `check`."""

    source: Literal["generated"] = Field("generated", description="generated by the grammar of this project")


class CatalogueTreebank(Settings):
    """A public treebank of the catalogue, from a mirror or by download, verified by its checksum."""

    source: Literal["catalogue"] = Field("catalogue", description="from the catalogue")
    treebank: TreebankName = Field("ud-english-pud", description="name of the treebank in the catalogue")


class TreebankFile(Settings):
    """Your own treebank: one file in CoNLL-U, in the language that the encoder reads."""

    source: Literal["files"] = Field("files", description="a local file")
    path: str = Field(min_length=1, description="path of the .conllu")


class NoTreebank(Settings):
    """No trees: attention along dependency relations is not measured."""

    source: Literal["none"] = Field("none", description="no trees")


Treebank = Annotated[
    Union[GeneratedTreebank, CatalogueTreebank, TreebankFile, NoTreebank],  # noqa: UP007
    Field(discriminator="source"),
]


def default_treebank(checked: dict[str, Any]) -> Treebank:
    """Return the default trees of a task: those of the grammar if it generated the text."""
    return GeneratedTreebank() if is_generated(checked.get("corpus")) else NoTreebank()


def check_treebank(task: str, treebank: Treebank, corpus: Settings) -> None:
    """Raise ValueError, with the key, if trees of the grammar are requested for text that it did not generate."""
    if isinstance(treebank, GeneratedTreebank) and not is_generated(corpus):
        raise ValueError(
            f"{task}.treebank.source: text that is not generated has no trees of the grammar; "
            "choose source: catalogue, files or none"
        )


def is_generated(corpus: Any) -> bool:
    """Return whether the grammar generated the text."""
    return getattr(corpus, "source", None) == "generated"
