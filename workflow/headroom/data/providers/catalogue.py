"""Public data of the catalogues: fetched from a mirror or by download, verified, and read in the published format."""

import gzip
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headroom.core.errors import HeadroomError, shorten
from headroom.data.catalogue import (
    REQUIRED,
    Column,
    Columns,
    Dataset,
    DocumentDataset,
    Identifiers,
    LabelledDataset,
    PairTable,
    PublishedFile,
    Rows,
    Treebank,
    find_entry,
)
from headroom.data.components import held_out
from headroom.data.corpora import Request
from headroom.data.documents import DocumentSets, DocumentText, divide
from headroom.data.downloads import FAULTS, fetch_file
from headroom.data.labelled import LabelledSets, LabelledText, check_text
from headroom.data.parallel import SIDES, ParallelSets, ParallelText
from headroom.data.parallel import check_pairs as checked_pairs
from headroom.data.rows import split_rows
from headroom.data.trees import Trees
from headroom.settings.documents import DocumentCatalogueCorpus
from headroom.settings.labelled import CatalogueTreebank, LabelledCatalogueCorpus
from headroom.settings.parallel import CatalogueCorpus


def parallel(settings: CatalogueCorpus, request: Request) -> ParallelSets:
    """Return a data set of the catalogue after fetching and checking all its files."""
    dataset = find_entry(Dataset, settings.dataset, settings.far, request.catalogue)
    names = (*REQUIRED, *settings.far)
    origin = _origin(dataset.title, dataset.files_of(names))
    languages = (dataset.source_language, dataset.target_language)
    of_table = _table_pairs(dataset.table, request) if dataset.table else {}
    pairs = {name: of_table[name] if name in of_table else _pairs(dataset, name, request) for name in names}
    places = spread_evenly(len(pairs["train"]), settings.train_share)
    return ParallelSets({**pairs, "train": pairs["train"].taken(places)}, languages, origin=origin)


def spread_evenly(amount: int, share: float) -> list[int]:
    """Return a share of the numbers from 0 to `amount`, at least one, at even distances."""
    taken = max(1, round(share * amount))
    return [place * amount // taken for place in range(taken)]


def labelled(settings: LabelledCatalogueCorpus, request: Request) -> LabelledSets:
    """Return a labelled data set of the catalogue after fetching the required files."""
    dataset = find_entry(LabelledDataset, settings.dataset, settings.far, request.catalogue)
    names = (*REQUIRED, *settings.far)
    files = dataset.files_of(names)
    fetched = {file.path: fetch(file, request.downloads, mirror=request.mirror) for file in files}
    texts = {name: read_set(dataset, name, fetched) for name in names}
    return LabelledSets(texts, dataset.labels, dataset.metrics, origin=_origin(dataset.title, files))


def documents(settings: DocumentCatalogueCorpus, request: Request) -> DocumentSets:
    """Return the documents of a text of the catalogue; train is empty if it has none."""
    dataset = find_entry(DocumentDataset, settings.dataset, settings.far, request.catalogue)
    files = dataset.files_of((*REQUIRED, *settings.far))
    fetched = {file: fetch(file, request.downloads, mirror=request.mirror) for file in files}
    read = {file.set: divide(read_unpacked_lines(path, file), dataset.divided, path) for file, path in fetched.items()}
    texts = {name: DocumentText(own) for name, own in {"train": [], **read}.items()}
    return DocumentSets(texts, origin=_origin(dataset.title, files))


def _origin(title: str, files: Sequence[PublishedFile]) -> dict[str, object]:
    return {"title": title, "licences": sorted({file.licence for file in files})}


def trees(settings: CatalogueTreebank, request: Request) -> Trees:
    """Return a treebank of the catalogue."""
    file = find_entry(Treebank, settings.treebank, catalogue=request.catalogue).file
    fetched = fetch(file, request.downloads, mirror=request.mirror)
    return Trees(read_unpacked_lines(fetched, file), str(fetched))


def fetch(file: PublishedFile, directory: Path | str, *, mirror: Path | str | None = None) -> Path:
    """Return the path of a catalogued file: in a mirror directory, or below `directory`, to where it is downloaded.

    A file in a mirror with another checksum is an error, so that a broken mirror does not go unnoticed.

    Raises:
        HeadroomError: If the file cannot be fetched or its checksum is wrong.
    """
    about = f" ({file.bytes} bytes; licence: {file.licence})"
    destination = Path(directory) / file.path
    return fetch_file(file.url, destination, place=file.path, expected=file.sha256, mirror=mirror, about=about)


def read_unpacked_lines(path: Path, file: PublishedFile) -> list[str]:
    r"""Return the lines of a fetched file, split at "\n" alone, unpacked if its name ends in .gz.

    Raises:
        HeadroomError: If it cannot be unpacked, is not UTF-8, or differs from the catalogued number of lines.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as stream:
            lines = stream.read().decode("utf-8").removesuffix("\n").split("\n")
    except (*FAULTS, UnicodeDecodeError) as error:
        raise HeadroomError(f"{path}: cannot unpack, {error}; remove the file to fetch it again") from error
    if file.lines is not None and len(lines) != file.lines:
        raise HeadroomError(f"{path}: {len(lines)} lines, expected {file.lines}; remove the file to fetch it again")
    return lines


def _pairs(dataset: Dataset, name: str, request: Request) -> ParallelText:
    files = [dataset.file(name, side) for side in SIDES]
    paths = [fetch(file, request.downloads, mirror=request.mirror) for file in files]
    sides = ([line.strip() for line in read_unpacked_lines(*pair)] for pair in zip(paths, files, strict=True))
    return checked_pairs(ParallelText(*sides), *map(str, paths))


def _table_pairs(table: PairTable, request: Request) -> dict[str, ParallelText]:
    """Return train, valid and test of a table of pairs, split by connected component."""
    path = fetch(table, request.downloads, mirror=request.mirror)
    lines = _member_lines(path, table.member)
    name = f"{path}, member {table.member}"
    if len(lines) != table.pairs:
        raise HeadroomError(f"{name}: {len(lines)} lines, expected {table.pairs}; remove the file to fetch it again")
    rows = split_rows(lines, columns=2, name=name, first_line=1)
    text = ParallelText([clean_sentence(row[0]) for row in rows], [clean_sentence(row[1]) for row in rows])
    return held_out(checked_pairs(text, name, name), table.held_out)


def clean_sentence(sentence: str) -> str:
    """Return a sentence with single spaces, for any white space, and without invisible hyphens and spaces."""
    return " ".join(sentence.translate(_INVISIBLE).split())


_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b"))


@dataclass(frozen=True)
class Table:
    """Rows of a file, with the names of the columns if its first line has them."""

    name: str
    header: list[str]
    rows: list[list[str]]

    @property
    def first_line(self) -> int:
        """The number of the first row's line in the file."""
        return 2 if self.header else 1

    def column(self, wanted: Column) -> list[str]:
        """Return a column, by number from 1 or by name, without white space around its fields.

        Raises:
            HeadroomError: If there is no such column.
        """
        if isinstance(wanted, str) and wanted not in self.header:
            raise HeadroomError(
                f"{self.name}, line 1: no column '{wanted}' in {shorten(', '.join(self.header))}; correct the catalogue"
            )
        place = self.header.index(wanted) if isinstance(wanted, str) else wanted - 1
        if self.rows and place >= len(self.rows[0]):
            raise HeadroomError(
                f"{self.name}, line {self.first_line}: {len(self.rows[0])} columns, no column "
                f"{wanted}; "
                "correct the catalogue"
            )
        return [row[place].strip() for row in self.rows]


def read_set(dataset: LabelledDataset, name: str, fetched: Mapping[str, Path]) -> LabelledText:
    """Return the examples of one set of a catalogued data set, from fetched files by their path in the catalogue.

    Raises:
        HeadroomError: If a file differs from the catalogue entry; names the file, and the line if known.
    """
    wanted, columns = dataset.sets[name], dataset.columns_of(name)
    files = [(file, fetched[file.path]) for path in wanted.files for file in dataset.files if file.path == path]
    one = len(files) == 1
    table = _table(*files[0], member=wanted.member, header=columns.header) if one else _align_files(files)
    text = _examples(table, columns)
    taken = chosen_rows(len(text), wanted.rows)
    for listed, keeps in ((wanted.only, True), (wanted.without, False)):
        if listed:
            among = _find_listed(table, listed, dataset, fetched)
            taken = [place for place in taken if among[place] is keeps]
    if len(taken) != wanted.examples:
        raise HeadroomError(
            f"{table.name}: {len(taken)} examples for {name}, expected {wanted.examples}; correct the catalogue"
        )
    return text.taken(taken)


def chosen_rows(count: int, rows: Rows) -> list[int]:
    """Return the indices of the selected rows, counted from 0, in order."""
    last = count if rows.last is None else min(rows.last, count)
    return [
        number - 1
        for number in range(rows.first, last + 1)
        if not (rows.only_every and number % rows.only_every)
        if not (rows.except_every and number % rows.except_every == 0)
    ]


def raw_lines(path: Path, file: PublishedFile, member: str | None = None) -> list[str]:
    r"""Return the lines of a fetched file or of a member of an archive, split at "\n" only, without byte order mark.

    A member is read in memory and never extracted, so its name cannot cause a path traversal.

    Raises:
        HeadroomError: If the member is missing, or the text is damaged, not UTF-8 or not of the catalogued length.
    """
    lines = read_unpacked_lines(path, file) if member is None else _member_lines(path, member)
    return [lines[0].removeprefix("\ufeff"), *lines[1:]]


def _member_lines(path: Path, member: str) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            text = stream.read().decode("utf-8")
    except KeyError as error:
        raise HeadroomError(f"{path}: no member '{member}'; correct the catalogue") from error
    except (zipfile.BadZipFile, *FAULTS, UnicodeDecodeError, RuntimeError) as error:  # the last for encrypted members
        raise HeadroomError(f"{path}: cannot unpack '{member}', {error}; remove the file to fetch it again") from error
    return text.removesuffix("\n").split("\n")


def _table(file: PublishedFile, path: Path, *, member: str | None = None, header: bool = False) -> Table:
    lines = raw_lines(path, file, member)
    name = str(path) if member is None else f"{path}, member {member}"
    columns = len(lines[0].split("\t"))
    rows = split_rows(lines, columns=columns, name=name, first_line=1)
    return Table(name, [field.strip() for field in rows[0]] if header else [], rows[1:] if header else rows)


def _align_files(files: Sequence[tuple[PublishedFile, Path]]) -> Table:
    """Return files as the columns of one table; tabs inside a line are kept."""
    columns = [raw_lines(path, file) for file, path in files]
    for (_, path), lines in zip(files, columns, strict=True):
        if len(lines) != len(columns[0]):
            raise HeadroomError(
                f"{files[0][1]}: {len(columns[0])} lines, but {path} has {len(lines)}; remove the "
                "files to fetch them again"
            )
    return Table(" + ".join(str(path) for _, path in files), [], [list(row) for row in zip(*columns, strict=True)])


def _examples(table: Table, columns: Columns) -> LabelledText:
    raw = LabelledText.of(map(table.column, columns.sentences), table.column(columns.label))
    check_text(raw, tuple(columns.names), name=table.name, first_line=table.first_line)
    return LabelledText(raw.first, raw.second, [columns.names[label] for label in raw.labels])


def _find_listed(
    table: Table, listed: Identifiers, dataset: LabelledDataset, fetched: Mapping[str, Path]
) -> list[bool]:
    file = next(file for file in dataset.files if file.path == listed.file)
    names = {tuple(field.strip() for field in row) for row in _table(file, fetched[file.path]).rows}
    return [key in names for key in zip(*(table.column(column) for column in listed.columns), strict=True)]
