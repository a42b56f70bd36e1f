"""Parallel text that is fetched from where it is published: sacrebleu's test sets, the Hugging Face Hub."""

import argparse
from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from headroom.ground.errors import HeadroomError
from headroom.settings.base import Settings
from headroom.settings.sets import check_far_names


def _free_names(far: dict[str, str]) -> dict[str, str]:
    check_far_names(far)
    return far


FarSets = Annotated[dict[str, str], AfterValidator(_free_names)]
"""Sets of other domains, by the name they get in the corpus."""


class SacrebleuCorpus(Settings):
    """Test sets that sacrebleu downloads; no training text, so only for a released model.

    Each is used for one thing, whole: no set is halved into `choose` and `check` as validation text is elsewhere.
    """

    source: Literal["sacrebleu"] = Field("sacrebleu", description="test sets that sacrebleu knows")
    pair: str = Field("en-fr", pattern=r"^[a-z]{2,3}-[a-z]{2,3}$", description="source and target language")
    choose: str = Field("wmt13", description="test set that chooses heads")
    check: str = Field("wmt12", description="test set that checks what was chosen")
    test: str = Field("wmt14/full", description="test set of the final figures")
    far: FarSets = Field(default_factory=dict, description="test sets of other domains, by the name they get")

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""
        return tuple(self.far)

    @property
    def named_sets(self) -> dict[str, str]:
        """The names that sacrebleu has for every set, by the set's key, e.g. `far.mtnt`."""
        far = {f"far.{name}": test_set for name, test_set in self.far.items()}
        return {"choose": self.choose, "check": self.check, "test": self.test, **far}


class ParallelHubCorpus(Settings):
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
    far: FarSets = Field(default_factory=dict, description="splits of other domains, by the name they get")

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""
        return tuple(self.far)

    @property
    def splits(self) -> dict[str, str]:
        """The split of the data set for every set, by the set's name."""
        return {"train": self.train, "valid": self.valid, "test": self.test, **self.far}


Online = TypeVar("Online", SacrebleuCorpus, ParallelHubCorpus)


def add_corpus(parser: argparse.ArgumentParser, model: type[Settings]) -> None:
    """Add a flag for every key of such a corpus; `--far NAME SET` may be given several times."""
    group = parser.add_argument_group(f"settings ({model.__name__})", model.__doc__)
    for name, field in model.model_fields.items():
        if name in ("source", "far"):
            continue
        group.add_argument(
            "--" + name.replace("_", "-"),
            required=field.is_required(),
            default=None if field.is_required() else field.default,
            metavar="VALUE",
            help=str(field.description).replace("%", "%%"),
        )
    group.add_argument(
        "--far",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "SET"),
        help="test pairs of another domain, and the name they get; may be given several times",
    )


def corpus_from(given: argparse.Namespace, model: type[Online]) -> Online:
    """Return the corpus that the flags of `add_corpus` describe.

    Raises:
        HeadroomError: If a value does not fit; names the flag.
    """
    names = [name for name, _ in given.far]
    if repeated := _repeated(names):
        raise HeadroomError(f"--far {repeated}: the name is given twice")
    chosen = {name: getattr(given, name) for name in model.model_fields if name not in ("source", "far")}
    try:
        return model.model_validate({**chosen, "far": dict(given.far)})
    except ValidationError as error:
        first = error.errors()[0]
        flag = "--" + str(first["loc"][0]).replace("_", "-")
        raise HeadroomError(f"{flag}: {first['msg'].removeprefix('Value error, ')}") from error


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)
