"""Test sets from sacrebleu's own downloader."""

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sacrebleu

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.corpora import Request
from headroom.data.parallel import ParallelSets, ParallelText, check_pairs, drop_blank_pairs
from headroom.settings.parallel import SacrebleuCorpus

TIMEOUT = 30.0
"""Timeout of a download in seconds; the library has none."""


def parallel(settings: SacrebleuCorpus, _request: Request) -> ParallelSets:
    """Return test sets without training text; pairs with a side without a visible character are left out."""
    whole, left_out = drop_blank_pairs(load_test_sets(settings))
    texts = {"train": ParallelText([], []), **{name: check_pairs(text, name, name) for name, text in whole.items()}}
    origin = {"sacrebleu": sacrebleu.__version__, "licences": ["not stated"]}
    source, target = settings.pair.split("-")
    return ParallelSets(texts, (source, target), origin=origin, left_out=left_out)


def load_test_sets(settings: SacrebleuCorpus) -> dict[str, ParallelText]:
    """Return every set by its name in a corpus: choose, check, test, far domains.

    Raises:
        HeadroomError: If sacrebleu has no such set or pair, or if a set cannot be downloaded; names the key.
    """
    for key, name in settings.named_sets.items():
        if name not in sacrebleu.DATASETS:
            raise HeadroomError(
                f"key {key}: sacrebleu {sacrebleu.__version__} has no test set '{name}'; `sacrebleu --list` shows all"
            )
        if settings.pair not in (pairs := sacrebleu.get_langpairs_for_testset(name)):
            raise HeadroomError(
                f"key pair: the test set {name} has no {settings.pair}; choose one of {', '.join(sorted(pairs))}"
            )
    return {key.removeprefix("far."): _read(key, name, settings.pair) for key, name in settings.named_sets.items()}


def _read(key: str, name: str, pair: str) -> ParallelText:
    place = Path(sacrebleu.SACREBLEU_DIR) / name
    files = _files(key, name, pair, place)
    if len(files) != 2:
        raise HeadroomError(f"key {key}: {name} has {len(files) - 1} references; choose a set with one")
    source, target = ([line.strip() for line in read_lines(file)] for file in files)
    if len(source) != len(target):
        raise HeadroomError(
            f"key {key}: {name} has {len(source)} sources and {len(target)} references; "
            f"remove {place} to download it again"
        )
    return ParallelText(source, target)


def _files(key: str, name: str, pair: str, place: Path) -> list[str]:
    """Return the files of a set, the source first, downloaded if necessary.

    Remains of failed or killed downloads are removed: the library would treat them as complete.
    """
    left_over = (place / "raw").exists()
    try:
        with _timeout():
            return [sacrebleu.get_source_file(name, pair), *sacrebleu.get_reference_files(name, pair)]
    except (Exception, SystemExit) as error:  # of many libraries; sacrebleu exits on a checksum mismatch
        shutil.rmtree(place / "raw", ignore_errors=True)
        if left_over and not (place / "raw").exists():
            return _files(key, name, pair, place)
        reason = "checksum mismatch" if isinstance(error, SystemExit) else " ".join(str(error).split())[-160:]
        raise HeadroomError(
            f"key {key}: sacrebleu cannot download {name} ({pair}), {reason or type(error).__name__};\n"
            f"check the network, or copy {place} from another machine (the variable SACREBLEU sets its location)"
        ) from error


@contextmanager
def _timeout() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
