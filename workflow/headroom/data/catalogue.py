"""The catalogues of public data: files of data sets and treebanks, with addresses and checksums."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeVar

import yaml
from pydantic import Field, ValidationError, model_validator

from headroom.core.errors import HeadroomError
from headroom.core.files import parse_yaml
from headroom.settings.base import SPLITS, Settings, check_far_names
from headroom.settings.labelled import Labels, Metrics, check_labels

REQUIRED = ("train", "valid", "test")
"""The sets that every data set has; all others are far domains."""

_HERE = Path(__file__).parent


class PublishedFile(Settings):
    """One published file, of which a mirror may have a copy."""

    path: str = Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)+$", description="Place in a mirror: <dataset>/<file>.")
    url: str = Field(pattern=r"^https?://", description="Where it is published.")
    bytes: int = Field(gt=0, description="Size in bytes.")
    lines: int | None = Field(None, gt=0, description="Lines; unset for archives.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="Checksum.")
    licence: str = Field(description="Licence of the text.")


class Entry(Settings):
    """An entry of a catalogue.

    Attributes:
        noun: The kind of entry, for messages.
        place: The catalogue of such entries.
    """

    noun: ClassVar[str] = "data set"
    place: ClassVar[Path]

    title: str

    @property
    def far(self) -> tuple[str, ...]:
        """The far-domain sets."""
        return tuple(name for name in getattr(self, "sets", ()) if name not in REQUIRED)


Found = TypeVar("Found", bound=Entry)


def read_entries(path: Path | str, model: type[Found]) -> dict[str, Found]:
    """Return the entries of a catalogue, a YAML file, by name.

    Raises:
        HeadroomError: If the file is not a catalogue of such entries; names the entry's key.
    """
    entries = {}
    try:
        for name, entry in parse_yaml(Path(path).read_text(encoding="utf-8")).items():
            entries[name] = model.model_validate(entry)
    except (OSError, yaml.YAMLError, AttributeError) as error:
        raise HeadroomError(f"{path}: cannot read the catalogue, {error}; correct the file") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in (name, *first["loc"]))
        raise HeadroomError(f"{path}, key {place}: {first['msg'].removeprefix('Value error, ')}") from error
    return entries


def find_entry(model: type[Found], name: str, far: Sequence[str] = (), catalogue: Path | None = None) -> Found:
    """Return an entry of a catalogue, by default the project's, with the requested far-domain sets.

    Raises:
        HeadroomError: If the catalogue is faulty, or lacks the entry or one of the far-domain sets.
    """
    entries = read_entries(catalogue or model.place, model)
    if name not in entries:
        raise HeadroomError(f"catalogue: unknown {model.noun} '{name}'; choose one of {', '.join(sorted(entries))}")
    known = entries[name].far
    if unknown := [wanted for wanted in far if wanted not in known]:
        raise HeadroomError(f"{name}: unknown far-domain set '{unknown[0]}'; choose from {', '.join(known) or 'none'}")
    return entries[name]


class Treebank(Entry):
    """A treebank: one CoNLL-U file."""

    noun: ClassVar[str] = "treebank"
    place: ClassVar[Path] = _HERE / "treebank_catalogue.yaml"

    file: PublishedFile


class SideFile(PublishedFile):
    """One side of a set of parallel text."""

    set: str = Field(pattern=r"^\w+$", description="The set it serves: train, valid, test or a far domain.")
    side: Literal["source", "target"] = Field(description="Which language it holds.")
    lines: int = Field(gt=0, description="Sentences.")


class PairTable(PublishedFile):
    """A table of sentence pairs in a zip archive, of which some are held out (`headroom.data.examination`)."""

    member: str = Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$", description="The table's name inside of the archive.")
    pairs: int = Field(gt=0, description="The pairs: a line each, source and target separated by a tab.")
    held_out: dict[str, Annotated[int, Field(gt=0)]] = Field(
        description="The number of pairs of the validation and the test set."
    )


class Dataset(Entry):
    """A parallel data set: train, valid, test and any number of far-domain sets.

    Both sides of a set are files of their own, or `table` has the pairs of train, valid and test.
    """

    place: ClassVar[Path] = _HERE / "catalogue.yaml"

    source_language: str
    target_language: str
    table: PairTable | None = None
    files: tuple[SideFile, ...] = ()

    @model_validator(mode="after")
    def _both_sides(self) -> Self:
        found = sorted((file.set, file.side) for file in self.files)
        by_file = dict.fromkeys(file.set for file in self.files)
        wanted = sorted(
            (name, side) for name in {*by_file, *(() if self.table else REQUIRED)} for side in ("source", "target")
        )
        if found != wanted:
            raise ValueError(f"every set needs one source and one target file; found {found}")
        if self.table and {*by_file} & {*REQUIRED}:
            raise ValueError("train, valid and test are in the table; give files of far-domain sets only")
        if self.table and {*self.table.held_out} != {"valid", "test"}:
            raise ValueError("held_out must have valid and test")
        if clash := {*self.far} & {*SPLITS}:
            raise ValueError(f"{sorted(clash)[0]} cannot name a far-domain set")
        return self

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets in the order of the catalogue."""
        return tuple(dict.fromkeys((*(REQUIRED if self.table else ()), *(file.set for file in self.files))))

    def file(self, name: str, side: str) -> SideFile:
        """Return the file of one side of a set."""
        return next(file for file in self.files if (file.set, file.side) == (name, side))

    def files_of(self, names: Sequence[str]) -> tuple[PublishedFile, ...]:
        """Return the files that these sets need, each once, in the order of the catalogue."""
        table = (self.table,) if self.table and {*names} & {*REQUIRED} else ()
        return (*table, *(file for file in self.files if file.set in names))


class TextFile(PublishedFile):
    """A file with the documents of a set."""

    set: str = Field(pattern=r"^\w+$", description="The set it serves: train, valid, test or a far domain.")
    lines: int = Field(gt=0, description="Lines.")


class DocumentDataset(Entry):
    """Plain text: valid, test, train if there is any, and any number of far-domain sets."""

    noun: ClassVar[str] = "text"
    place: ClassVar[Path] = _HERE / "document_catalogue.yaml"

    divided: Literal["line", "blank", "titles"] = Field(description="What a document is (`headroom.data.documents`).")
    files: Annotated[tuple[TextFile, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_file_each(self) -> Self:
        check_far_names(self.far)
        if missing := {"valid", "test"} - {*self.sets}:
            raise ValueError(f"the set {sorted(missing)[0]} is missing")
        if len({*self.sets}) < len(self.files):
            raise ValueError("a set has several files; give one")
        return self

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets in the order of the catalogue."""
        return tuple(file.set for file in self.files)

    def files_of(self, names: Sequence[str]) -> tuple[TextFile, ...]:
        """Return the files of those of these sets that there are."""
        return tuple(file for file in self.files if file.set in names)


Column = Annotated[int, Field(ge=1)] | str
"""A column by its number, counted from 1, or by its name in the first line."""


class Columns(Settings):
    """The columns of the sentences and the label in a table."""

    header: bool = Field(False, description="Whether the first line names the columns.")
    sentences: Annotated[tuple[Column, ...], Field(min_length=1, max_length=2)] = Field(
        description="The column of the sentence, or the two of a pair."
    )
    label: Column = Field(description="The column of the label.")
    names: dict[str, str] = Field(description="The name of each label, by its value in the table.")

    @model_validator(mode="after")
    def _names_need_a_header(self) -> Self:
        named = [column for column in (*self.sentences, self.label) if isinstance(column, str)]
        if named and not self.header:
            raise ValueError(f"column '{named[0]}' is given by name, but header is false")
        return self


class Rows(Settings):
    """The selected rows, counted from 1 below the header."""

    first: int = Field(1, ge=1, description="The first of them.")
    last: int | None = Field(None, ge=1, description="The last of them; without it the end.")
    only_every: int | None = Field(None, ge=2, description="10 selects only rows 10, 20, 30, ...")
    except_every: int | None = Field(None, ge=2, description="10 leaves out rows 10, 20, 30, ...")


class Identifiers(Settings):
    """Rows selected by identifiers that another file lists, one row a line."""

    file: str = Field(description="Path of the list, a table without header.")
    columns: Annotated[tuple[Column, ...], Field(min_length=1)] = Field(
        description="The columns of the table that hold the identifiers, in the order of the list."
    )


class LabelledSet(Settings):
    """The published files and rows of the examples of one set."""

    files: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="Path of one table, or of several files aligned by line, which are its columns 1, 2, ..."
    )
    member: str | None = Field(
        None, pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$", description="The table's name inside of the archive."
    )
    columns: Columns | None = Field(None, description="The columns, if they differ from those of the data set.")
    rows: Rows = Field(default_factory=Rows, description="The selected rows; unset for all.")
    only: Identifiers | None = Field(None, description="Select only these rows.")
    without: Identifiers | None = Field(None, description="Leave these rows out.")
    examples: int = Field(gt=0, description="The number of selected examples.")

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all required files."""
        return (*self.files, *(listed.file for listed in (self.only, self.without) if listed))


class LabelledDataset(Entry):
    """A labelled data set: train, valid, test and any number of far-domain sets."""

    place: ClassVar[Path] = _HERE / "labelled_catalogue.yaml"

    labels: Labels
    metrics: Metrics
    columns: Columns
    files: Annotated[tuple[PublishedFile, ...], Field(min_length=1)]
    sets: dict[str, LabelledSet]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        check_labels(self.labels)
        check_far_names(self.far)
        if missing := [name for name in REQUIRED if name not in self.sets]:
            raise ValueError(f"the set {missing[0]} is missing")
        known = [file.path for file in self.files]
        used = [path for wanted in self.sets.values() for path in wanted.paths]
        if strange := sorted({*known} ^ {*used}):
            raise ValueError(f"{strange[0]} must be listed under files and used by a set")
        for name in self.sets:
            if len(self.sets[name].files) > 1 and (self.columns_of(name).header or self.sets[name].member):
                raise ValueError(f"{name}: files aligned by line have neither a header nor members")
            if strange := sorted({*self.columns_of(name).names.values()} - {*self.labels}):
                raise ValueError(f"{name} names a label '{strange[0]}', which is not among {', '.join(self.labels)}")
        return self

    def columns_of(self, name: str) -> Columns:
        """Return the columns of the sentences and labels of a set."""
        return self.sets[name].columns or self.columns

    def files_of(self, names: Sequence[str]) -> tuple[PublishedFile, ...]:
        """Return the files that these sets need, each once, in the order of the catalogue."""
        needed = {path for name in names for path in self.sets[name].paths}
        return tuple(file for file in self.files if file.path in needed)
