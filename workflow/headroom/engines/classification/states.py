"""What a fine-tuning leaves in its working directory: models, records, and states to go on from.

epoch1/ epoch1.json  epoch2/ epoch2.json ...   the model and the record of every epoch
states/checkpoint-<updates>/                   written by the Trainer: model, optimizer, schedule, generators
states/checkpoint-<updates>/complete.json      our mark, written last: the epoch, and SHA-256 of every file
"""

import json
import shutil
import tempfile
from pathlib import Path

from headroom.core.files import atomic_path, link, remove, sha256

CONFIGURATION, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", ("tokenizer.json", "tokenizer_config.json")

MODEL_FILES = (CONFIGURATION, WEIGHTS, *TOKENIZER)
"""What a model directory holds: the Hub's format."""

MARK = "complete.json"


def last_whole_epoch(work: Path) -> tuple[int, Path | None]:
    """Return the newest epoch from which training can go on with its state, (0, None) if there is none."""
    marked = [(_marked_epoch(path), path) for path in (work / "states").glob("checkpoint-*")]
    for epoch, state in sorted(marked, reverse=True):
        if epoch and all(_has_model(work, earlier) for earlier in range(1, epoch + 1)) and _is_whole(state):
            return epoch, state
    return 0, None


def discard_after(work: Path, epoch: int) -> None:
    """Remove what is newer than an epoch, and states that are not whole."""
    for state in (work / "states").glob("checkpoint-*"):
        if not 0 < _marked_epoch(state) <= epoch:
            shutil.rmtree(state)
    for path in work.glob("epoch*"):
        number = path.name.removeprefix("epoch").removesuffix(".json")
        if number.isdigit() and int(number) > epoch:
            remove(path)


def keep_model(state: Path, work: Path, epoch: int) -> None:
    """Put the model of a state into `epoch<e>/` beside it: the state will go, the model stays."""
    place = Path(tempfile.mkdtemp(dir=work, prefix=f".epoch{epoch}."))
    for name in MODEL_FILES:
        link(state / name, place / name)
    place.chmod(0o755)
    final = work / f"epoch{epoch}"
    if final.exists():
        shutil.rmtree(final)
    place.rename(final)


def mark_whole(state: Path, epoch: int) -> None:
    """Say that a state is complete, and remove those before the last one."""
    files = {path.name: sha256(path) for path in sorted(state.iterdir()) if not path.name.startswith(".")}
    with atomic_path(state / MARK) as temporary:
        temporary.write_text(json.dumps({"epoch": epoch, "sha256": files}, indent=2), "utf-8")
    for other in state.parent.glob("checkpoint-*"):
        if _marked_epoch(other) < epoch - 1:
            shutil.rmtree(other)


def _has_model(work: Path, epoch: int) -> bool:
    files = [work / f"epoch{epoch}.json", *(work / f"epoch{epoch}" / name for name in MODEL_FILES)]
    return all(path.is_file() for path in files)


def _marked_epoch(state: Path) -> int:
    """Return the epoch that a state's mark names, 0 if there is no mark."""
    try:
        return int(json.loads((state / MARK).read_text("utf-8"))["epoch"])
    except (OSError, ValueError, KeyError):
        return 0


def _is_whole(state: Path) -> bool:
    """Return whether every file is what it was when the state was marked."""
    expected = json.loads((state / MARK).read_text("utf-8"))["sha256"]
    try:
        return all(sha256(state / name) == value for name, value in expected.items())
    except OSError:
        return False
