"""Take a released checkpoint, its dictionaries and byte-pair codes, and write a run and a vocabulary of it."""

import argparse
import logging
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, cannot_write
from headroom.data.archives import DamagedArchiveError, checked_archive, extract, fetch_archive
from headroom.data.moses import CODES, MOSES, MosesPieces, write_moses
from headroom.engines.translation import fairseq as _engine  # noqa: F401  (imports fairseq quietly)
from headroom.engines.translation.released import adopt
from headroom.settings.models import ReleasedModel

FILES = ("dict.source.txt", "dict.target.txt", CODES, MOSES)
"""What this stage writes into the vocabulary's directory; the last comes last."""

_log = logging.getLogger("headroom.stages.released")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("released", __doc__)
    parser.add_argument("--mirror", help="directory or address with released/<archive>, tried before the network")
    parser.add_argument("--vocabulary", type=Path, required=True, help=f"directory for {', '.join(FILES)}")
    parser.add_argument("--checkpoint", type=Path, required=True, help="where the checkpoint goes, e.g. epoch1.pt")
    add_settings(parser, released=ReleasedModel)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch what was released, bring the model into this project's form, and only then write the vocabulary.

    A downloaded archive stays in `downloads/` of the vocabulary's directory.
    """
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "released", ReleasedModel)
    try:
        given.vocabulary.mkdir(parents=True, exist_ok=True)
        (given.vocabulary / MOSES).unlink(missing_ok=True)
        for left in given.vocabulary.glob(".adopt.*"):  # by a kill
            shutil.rmtree(left)
    except OSError as error:
        raise cannot_write(given.vocabulary, error) from error
    with tempfile.TemporaryDirectory(dir=given.vocabulary, prefix=".adopt.") as name:
        files = _released_files(settings, Path(name), given.vocabulary / "downloads", given.mirror)
        source, target = (files[name] for name in settings.dictionaries)
        codes = files[settings.codes_file]
        for language in (settings.source_language, settings.target_language):
            MosesPieces(codes, language, settings)  # refuses what are no codes
        about = adopt(files[settings.checkpoint_file], given.checkpoint, source=source, target=target)
        for original, wanted in zip((source, target, codes), FILES):
            with atomic_path(given.vocabulary / wanted) as temporary:
                shutil.copyfile(original, temporary)
    write_moses(given.vocabulary, settings)
    _log.info("wrote %s: %s", given.checkpoint, ", ".join(f"{value} {name}" for name, value in about.items()))


def _released_files(settings: ReleasedModel, place: Path, downloads: Path, mirror: str | None) -> dict[str, Path]:
    """Return where every file of the release is, by its name: in a directory, or extracted into `place`."""
    names = (settings.checkpoint_file, *settings.dictionaries, settings.codes_file)
    directory = Path(settings.path or "")
    if settings.path and directory.is_dir():
        if missing := [name for name in names if not (directory / name).is_file()]:
            raise HeadroomError(f"key path: the directory {directory} has no file {missing[0]}")
        if settings.sha256:
            raise HeadroomError(f"key sha256: {directory} is a directory; a checksum is of an archive, leave it out")
        return {name: directory / name for name in names}
    if settings.url:
        archive = fetch_archive(settings.url, downloads, expected=settings.sha256, mirror=mirror)
    elif directory.is_file():
        archive = checked_archive(directory, settings.sha256)
    else:
        raise HeadroomError(f"key path: there is no directory or archive {directory} in {Path.cwd()}")
    files = {name: place / f"{number}.{Path(name).name}" for number, name in enumerate(names)}
    try:
        extract(archive, files)
    except DamagedArchiveError:
        if archive.parent == downloads:
            archive.unlink()  # or it would be taken for whole the next time
        raise
    return files


if __name__ == "__main__":
    run(main)
