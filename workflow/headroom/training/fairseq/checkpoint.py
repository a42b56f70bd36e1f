"""Checkpoints of fairseq, full or sliced, read without executing code and written in fairseq's form."""

import argparse
import re
import zipfile
from pathlib import Path
from typing import Any

import torch

from headroom.core.errors import HeadroomError, out_of_memory
from headroom.core.files import atomic_path
from headroom.models.head_model import unwrap_names

DESCRIPTOR = "headroom"
"""Key of the removed heads in a sliced checkpoint: {"removed": profile}."""

# fairseq keeps a model's arguments as a Namespace: data, allowed under `weights_only`.
torch.serialization.add_safe_globals([argparse.Namespace])


def load_state(path: Path | str) -> dict[str, Any]:
    """Read a checkpoint onto the CPU without executing code.

    Raises:
        HeadroomError: If the file is missing, truncated or not a fairseq checkpoint.
    """
    state = read_data(path, "truncated or not a checkpoint ({reason}); train or copy it again")
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict) or not state.get("cfg"):
        raise HeadroomError(
            f"{path}: not a fairseq checkpoint, the keys 'model' and 'cfg' are missing; give another file"
        )
    return {**state, "model": unwrap_names(state["model"], path)}


def describe_mismatch(error: RuntimeError, dictionaries: str) -> str:
    """Return in what a checkpoint's tensors are not those of its settings, and what to do.

    Args:
        error: That of torch.
        dictionaries: What the sizes of embeddings depend on, for the message.
    """
    reason = " ".join(str(error).split("\n", 1)[-1].split())[:160]
    if re.search(r"size mismatch for \S*embed_tokens", str(error)):
        return f"does not match {dictionaries}, {reason}; give the model's own"
    return f"its tensors are not those of its settings, {reason}; copy the checkpoint again"


def read_data(path: Path | str, otherwise: str) -> Any:
    """Read a file of torch onto the CPU without executing code (`weights_only`).

    Args:
        path: The file.
        otherwise: The message for invalid files, after the name, with `{reason}`.

    Raises:
        HeadroomError: If the file is missing or not one of torch's.
    """
    try:
        refuse_packed(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise HeadroomError(f"{path}: no such checkpoint; correct the path") from error
    except Exception as error:  # torch raises many types for damaged files, and for code
        if out_of_memory(error):  # the file may be valid: a training must not restart
            raise
        reason = " ".join(str(error).split("WeightsUnpickler error:")[-1].split())[:160]
        raise HeadroomError(f"{path}: {otherwise.format(reason=reason)}") from error


def refuse_packed(path: Path | str) -> None:
    """Raise for a checkpoint that needs more memory than its file size: torch stores its parts uncompressed.

    Raises:
        ValueError: If parts are compressed or overlap.
    """
    if not zipfile.is_zipfile(path):  # the form of old versions of torch, which has no parts
        return
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    stored = all(part.compress_type == zipfile.ZIP_STORED for part in parts)
    if not stored or sum(part.file_size for part in parts) > Path(path).stat().st_size:
        raise ValueError("it is compressed, which torch never does")


def is_whole(path: Path) -> bool:
    """Return whether a checkpoint can be read."""
    try:
        load_state(path)
    except HeadroomError:
        return False
    return True


def save_model(state: dict[str, Any], path: Path | str) -> None:
    """Write the model and its configuration without optimizer, clocks and meters.

    The result depends only on the run: equal models give equal bytes. fairseq's tools can load it.
    """
    kept = {key: state[key] for key in ("args", "model", DESCRIPTOR) if key in state}
    if state.get("optimizer_history"):  # it grows, and loses the best loss, when training is resumed
        kept["optimizer_history"] = [{**state["optimizer_history"][-1], "lr_scheduler_state": {}}]
    kept["cfg"] = {name: state["cfg"][name] for name in ("_name", "model", "task") if name in state["cfg"]}
    kept["extra_state"] = {"train_iterator": state["extra_state"]["train_iterator"]}
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        torch.save(kept, stream)  # given a path, torch would write its name into the file
