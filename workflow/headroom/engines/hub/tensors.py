"""The tensors in a model's files, by the names that they have in the model itself, and checks of their values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import is_zipfile

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.engines.hub.sites import WEIGHTS
from headroom.engines.wrapped import unwrap_names

_NESTED = ("state_dict", "model_state_dict", "model")
"""Where checkpoints of trainings have the tensors of the model."""


def read_tensors(files: Sequence[Path]) -> dict[str, Tensor]:
    """Return the tensors of all files; names lose what wrappers added.

    Raises:
        HeadroomError: If a file is missing or damaged, or a pickle refers to more than tensors.
    """
    found: dict[str, Tensor] = {}
    for path in files:
        if not path.is_file():
            raise HeadroomError(f"{path.parent}: no {path.name}; copy the whole model again")
        try:
            found |= load_file(path) if path.suffix == ".safetensors" else _read_pickle(path)
        except UnpicklingError as error:
            raise HeadroomError(
                f"{path}: refers to more than tensors, which may run code; convert it to {WEIGHTS} where you trust it"
            ) from error
        except (OSError, RuntimeError, EOFError, SafetensorError) as error:
            raise HeadroomError(f"{path}: truncated, or not in its format; copy it again") from error
    return unwrap_names(found, files[0].parent if len(files) > 1 else files[0])


def check_values(name: str, tensor: Tensor, place: Path | str) -> None:
    """Raise HeadroomError if a tensor of a file cannot be the values of a parameter: integers, or not finite."""
    if not tensor.is_floating_point():
        raise HeadroomError(f"{place}: {name} has values of type {tensor.dtype}; give a model that is not quantised")
    if not tensor.isfinite().all():
        raise HeadroomError(f"{place}: {name} has values that are not finite; give another checkpoint")


def _read_pickle(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a pickle; those before torch 1.6 are no archives, and cannot be mapped into memory."""
    read: Any = torch.load(path, weights_only=True, mmap=is_zipfile(path), map_location="cpu")
    if isinstance(read, Mapping):
        nested = next((read[name] for name in _NESTED if isinstance(read.get(name), Mapping)), read)
        if all(isinstance(tensor, Tensor) for tensor in nested.values()):
            return dict(nested)
    raise HeadroomError(f"{path}: has more than tensors by their names; save the state_dict of the model alone")
