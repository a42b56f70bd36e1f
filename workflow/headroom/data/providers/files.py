"""Text and trees of the user: local files, validated and copied unchanged."""

from headroom.core.files import read_lines
from headroom.data.corpora import Request
from headroom.data.documents import DocumentSets, DocumentText, divide_sets, read_source
from headroom.data.labelled import LabelledSets, read_labelled
from headroom.data.parallel import ParallelSets, ParallelText, read_parallel
from headroom.data.trees import Trees
from headroom.settings.documents import DocumentFiles
from headroom.settings.labelled import LabelledFilesCorpus, TreebankFile
from headroom.settings.parallel import FilesCorpus


def parallel(settings: FilesCorpus, _request: Request) -> ParallelSets:
    """Return the pairs of files that are aligned by line; raises HeadroomError as `read_parallel` does."""
    texts = {name: read_parallel(pair.source, pair.target) for name, pair in settings.pairs.items()}
    languages = settings.source_language, settings.target_language
    return ParallelSets({"train": ParallelText([], []), **texts}, languages, valid=settings.valid.source)


def labelled(settings: LabelledFilesCorpus, _request: Request) -> LabelledSets:
    """Return the examples of tables with named columns; raises HeadroomError as `read_labelled` does."""
    read = {path: read_labelled(path, settings.labels, unquote=True) for path in settings.paths.values()}
    texts = {name.removeprefix("far."): read[path] for name, path in settings.paths.items()}
    texts = {"train": texts["test"].taken([]), **texts}
    return LabelledSets(texts, settings.labels, settings.metrics, valid=settings.valid)


def documents(settings: DocumentFiles, _request: Request) -> DocumentSets:
    """Return the documents of text files or directories; raises HeadroomError as `read_source` and `divide_sets` do."""
    read = {name: read_source(path, settings.documents) for name, path in settings.paths.items()}
    if settings.path:
        valid, test = settings.valid_share, settings.test_share
        read |= divide_sets(read.pop("path"), valid=valid, test=test, seed=settings.seed, name=settings.path)
    texts = {name.removeprefix("far."): DocumentText(own) for name, own in {"train": [], **read}.items()}
    return DocumentSets(texts, valid=settings.valid or "valid")


def trees(settings: TreebankFile, _request: Request) -> Trees:
    """Return the lines of a CoNLL-U file; raises HeadroomError as `read_lines` does."""
    return Trees(read_lines(settings.path), settings.path)
