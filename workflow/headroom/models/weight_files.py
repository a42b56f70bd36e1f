"""The files of directories with models, found without torch, so that the workflow can do it first."""

import json
import logging
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError, shorten

_log = logging.getLogger(__name__)

FORMS = ("model.safetensors", "pytorch_model.bin")
"""Names of files with whole weights, those that are preferred first; split weights have an index of this name."""

_INDEX = ".index.json"

_ADAPTER = "adapter_config.json"

_UNNAMED = re.compile(r"LABEL_[0-9]+")
"""transformers' default names of labels."""

_POINTER = b"version https://git-lfs"
"""The beginning of what Git LFS leaves in place of a large file."""

TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.spm")
"""Patterns of files with a tokenizer; a model has one."""


def list_mistakes(directory: Path, gguf: str | None = None, *, removable: bool = True) -> list[str]:
    """Return a message for everything without which a directory holds no model whose heads can be examined.

    Args:
        directory: The directory; what is in its files is checked when the model is loaded.
        gguf: The name of the GGUF file in it, if the model is one.
        removable: Whether heads are to be removed.
    """
    found = []
    try:
        find_weights(directory, gguf)
        check_type(directory, removable=removable)
    except HeadroomError as error:
        found.append(str(error))
    if gguf is None:
        if not (directory / "config.json").is_file():
            found.append(f"{directory}: no config.json; give the directory of a model of transformers")
        if not has_any(directory, TOKENIZERS):
            found.append(f"{directory}: no tokenizer; add one of {', '.join(TOKENIZERS)}")
    return found


def has_any(directory: Path, patterns: Sequence[str]) -> bool:
    """Return whether a directory has a file whose name matches one of these patterns."""
    return any(path for pattern in patterns for path in directory.glob(pattern))


REFUSED = {
    "xlnet": "the projections of all of its heads are one parameter",
}
"""By type of a model, why its heads are not those of layers."""

MASKED = {
    **dict.fromkeys(("olmo2", "olmo3", "olmoe"), "its keys and queries are normalised over all heads"),
    **dict.fromkeys(("bloom", "mpnet"), "its position bias is computed for all heads at once"),
}
"""By type of a model, why its heads can be masked but not removed."""


def check_type(directory: Path, *, removable: bool) -> None:
    """Raise HeadroomError if a directory's model is of a type whose heads are not supported, or cannot be removed.

    Args:
        directory: The directory; a damaged configuration is left to those who read all of it.
        removable: Whether heads are to be removed.
    """
    path = directory / "config.json"
    try:
        name = str(json.loads(path.read_bytes())["model_type"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    if name in REFUSED:
        raise HeadroomError(f"{path}: {name}: {REFUSED[name]}; give a model of another type")
    if removable and name in MASKED:
        raise HeadroomError(
            f"{path}: {name}: its heads can only be masked, {MASKED[name]};\n"
            "set released.removable: false, which leaves out removal and timing, or train another encoder"
        )


def read_labels(directory: Path) -> list[str]:
    """Return the names of a classifier's labels by its configuration; none if they are not there, or it is damaged."""
    try:
        named = json.loads((directory / "config.json").read_bytes())["id2label"]
        return [str(named[number]) for number in sorted(named, key=int)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def are_unnamed(known: Sequence[str], labels: Sequence[str]) -> bool:
    """Return whether a classifier's labels have no names, and are as many as those of a corpus.

    Raises:
        HeadroomError: If they have other names than those of the corpus, or are of another number.
    """
    unnamed = len(known) == len(labels) and all(map(_UNNAMED.fullmatch, known))
    if not unnamed and set(known) != set(labels):
        raise HeadroomError(
            f"the classifier has the labels {shorten(', '.join(known))}, the corpus {shorten(', '.join(labels))}; "
            "use the classifier's names in corpus.labels and the files"
        )
    return unnamed


def find_weights(directory: Path, gguf: str | None = None) -> list[Path]:
    """Return the files with the weights of a directory; raise as `check_weights`, or if there are none."""
    if not (found := check_weights(directory, gguf)):
        known = ", ".join(sorted(path.name for path in directory.glob("*.gguf")))
        raise HeadroomError(f"{directory}: no weights; " + (f"give one of {known}" if known else f"add {FORMS[0]}"))
    return found


def check_weights(directory: Path, gguf: str | None = None) -> list[Path]:
    """Return the files with the weights of a directory, if any, whole ones before split ones; they are not read.

    Args:
        directory: The directory.
        gguf: The name of the GGUF file in it, if the model is one.

    Raises:
        HeadroomError: If a file is missing or cut off, an index cannot be read, or a tensor that it lists is in no
            file; if the weights are quantised, or an adapter lies beside or below them, which they may lack.
    """
    if gguf is not None:
        if not (directory / gguf).is_file():
            found = ", ".join(sorted(path.name for path in directory.glob("*.gguf")))
            raise HeadroomError(f"{directory}: no file {gguf}; choose from {found or 'none'}")
        return [directory / gguf]
    _check_plain(directory)
    for name in FORMS:
        whole, index = directory / name, directory / f"{name}{_INDEX}"
        if whole.is_file():
            if index.is_file():
                _log.warning("%s: read instead of the split weights that %s lists", whole, index.name)
            _names_in([whole])
            _name_others(whole)
            return [whole]
        if index.is_file():
            parts = _check_parts(index)
            _name_others(index)
            return parts
    for stem, kind in (name.split(".") for name in FORMS):
        if parts := sorted(directory.glob(f"{stem}-*-of-*.{kind}")):
            raise HeadroomError(
                f"{directory}: {parts[0].name} without {stem}.{kind}{_INDEX}; copy the whole model again"
            )
    return []


def _check_plain(directory: Path) -> None:
    """Raise HeadroomError if the weights of a directory are quantised, or not those of its model with its adapter."""
    if adapter := next(
        (one for depth in ("", "*/", "*/*/") for one in sorted(directory.glob(f"{depth}{_ADAPTER}"))), None
    ):
        raise HeadroomError(
            f"{adapter}: an adapter, which the weights of {directory} may lack; merge it into the model "
            "(merge_and_unload) and save that in a directory without the adapter"
        )
    try:
        quantised = json.loads((directory / "config.json").read_bytes())["quantization_config"]
        method = str(quantised.get("quant_method", "") or "quantization_config")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    _refuse_quantised(directory, method.upper())


def _refuse_quantised(place: Path, how: str) -> None:
    raise HeadroomError(f"{place}: quantised ({how}), whose numbers are not its weights; give the bfloat16 model")


def _name_others(chosen: Path) -> None:
    """Log the weights of other forms beside those that are read."""
    names = {chosen.name.removesuffix(_INDEX)}
    others = [name for name in FORMS if name not in names and (chosen.parent / name).is_file()]
    if others := others + sorted(path.name for path in chosen.parent.glob("*.gguf")):
        _log.warning("%s: read; %s beside it is not", chosen, ", ".join(others))


def _check_parts(index: Path) -> list[Path]:
    """Return the files that an index lists; raise as `check_weights`."""
    try:
        listed = dict(json.loads(index.read_bytes())["weight_map"])
        parts = sorted({index.parent / name for name in listed.values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeadroomError(f"{index}: damaged, not an index of weights ({error!r:.80}); copy it again") from error
    if missing := [path.name for path in parts if not path.is_file()]:
        raise HeadroomError(
            f"{index}: {len(missing)} of {len(parts)} files of weights are missing, e.g. {missing[0]}; "
            "copy the whole model again"
        )
    names = _names_in(parts)
    if lost := sorted(listed.keys() - names) if names else []:
        raise HeadroomError(
            f"{index}: {len(lost)} tensors that it lists are in no file, e.g. {lost[0]} of {listed[lost[0]]}; "
            "copy the whole model again"
        )
    return parts


def _names_in(paths: Sequence[Path]) -> set[str]:
    """Return the names of the tensors in safetensors files; none of pickles. Raise HeadroomError for damaged files."""
    for path in paths:
        with open(path, "rb") as stream:
            if stream.read(len(_POINTER)) == _POINTER:
                raise HeadroomError(
                    f"{path}: a pointer of Git LFS, not the weights; run git lfs pull where it was cloned"
                )
    found = {
        name: str(own.get("dtype"))
        for path in paths
        if path.suffix == ".safetensors"
        for name, own in read_header(path).items()
    }
    if any(kind.startswith("F8") for kind in found.values()):
        scales = sum("scale" in name.rpartition(".")[2] for name in found)
        _refuse_quantised(paths[0], f"FP8, {scales} scales")
    return {*found}


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a safetensors file: its length in 8 bytes, then JSON with the place of each tensor.

    Raises:
        HeadroomError: If it is damaged, or the file is shorter or longer than it says.
    """
    try:
        with open(path, "rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            content = stream.read(min(length, path.stat().st_size))
        tensors = {name: own for name, own in json.loads(content).items() if name != "__metadata__"}
        whole = 8 + length + max((own["data_offsets"][1] for own in tensors.values()), default=0)
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise HeadroomError(f"{path}: not in safetensors' format; copy it again") from error
    if path.stat().st_size != whole:
        raise HeadroomError(f"{path}: {path.stat().st_size} bytes instead of {whole}, cut off; copy it again")
    return tensors
