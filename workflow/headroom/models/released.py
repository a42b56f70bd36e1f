"""Models of the Hub, a directory or a package, imported as a run of one checkpoint."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.models.find_sites import describe_other_layers
from headroom.models.model import HubModel
from headroom.models.sources import locate
from headroom.models.weight_files import find_weights
from headroom.settings.models import HubModelSettings

_log = logging.getLogger(__name__)

Imported = TypeVar("Imported", bound=HubModel[Any])


def import_model(
    model: type[Imported],
    settings: HubModelSettings,
    checkpoint: Path,
    *,
    adapt: Callable[[Imported], object] = lambda _: None,
) -> str:
    """Load a model, which checks its gates and its removal, write it, and return a description.

    Args:
        model: Its class.
        settings: Where it is.
        checkpoint: The directory to write.
        adapt: Adapts it to the settings before it is written.

    Raises:
        HeadroomError: If it is missing or unsupported, or if its heads cannot be removed and the settings say no such
            thing.
    """
    directory = locate(settings, "released")
    loaded = model.load(directory, "cpu", dtype=settings.dtype, file=settings.gguf)
    if loaded.kept_whole and settings.removable:
        raise HeadroomError(
            f"released: the heads of {type(loaded.model).__name__} can only be masked, {loaded.kept_whole};\n"
            "set released.removable: false, which leaves out removal and timing"
        )
    adapt(loaded)
    read = [
        f"Imported from {path.name}: {path.stat().st_size} bytes, SHA-256 {sha256(path)}."
        for path in find_weights(directory, settings.gguf)
    ]
    if others := describe_other_layers(loaded.model.config):
        read.append(f"Without attention, and without sites: {others}.")
    for line in read:
        _log.info(line)
    loaded.save(checkpoint, about=read)
    heads = sum(len(live.kept) for live in loaded.live_sites)
    parameters = sum(weight.numel() for weight in loaded.model.parameters())
    return f"{heads} heads, {parameters} parameters; checked: gates, generation with cache, sliced and reloaded"
