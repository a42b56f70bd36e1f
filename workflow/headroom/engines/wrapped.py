"""Names of the tensors of models that were saved while they were compiled, or wrapped for distributed training."""

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from headroom.core.errors import HeadroomError

_log = logging.getLogger(__name__)

_WRAPPERS = re.compile(r"^module\.|\b(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|_forward_module)\.")
"""What torch.compile, DistributedDataParallel and their like add to names, before all or within them."""

Tensor = TypeVar("Tensor")


def unwrap_names(found: Mapping[str, Tensor], place: Path | str) -> dict[str, Tensor]:
    """Return tensors by their names without what wrappers added, e.g. `_orig_mod.module.`, which is logged.

    Args:
        found: The tensors by their names in a file.
        place: The file, for messages.

    Raises:
        HeadroomError: If two tensors then have the same name.
    """
    unwrapped = {_unwrap(name): tensor for name, tensor in found.items()}
    wrapped = [name for name in found if name not in unwrapped]
    if len(unwrapped) < len(found):
        raise HeadroomError(f"{place}: has both {wrapped[0]} and {_unwrap(wrapped[0])}; save one model in a file")
    if wrapped:
        _log.info("%s: saved from a compiled or wrapped model, %s is %s", place, wrapped[0], _unwrap(wrapped[0]))
    return unwrapped


def _unwrap(name: str) -> str:
    while (shorter := _WRAPPERS.sub("", name)) != name:
        name = shorter
    return name
