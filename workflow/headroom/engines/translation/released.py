"""Released checkpoints of fairseq, of any age, brought into the form that this project's own have.

Checkpoints from before 2020 keep their settings as `args` and have no `cfg`; the query, key and value
projections of a site are one matrix, `in_proj_weight`. fairseq's own code upgrades both.
"""

from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from headroom.core.errors import HeadroomError
from headroom.engines.translation.checkpoint import find_sites, refuse_packed, save_model
from headroom.engines.translation.fairseq import Dictionary, TranslationTask

from fairseq import checkpoint_utils  # isort: skip


class _Meter:
    """Stands for a running mean of the training, which old checkpoints carry along: data, and not looked at."""


_METERS = [
    (_Meter, f"fairseq.{module}.{name}")
    for module in ("meters", "logging.meters")
    for name in ("AverageMeter", "TimeMeter", "StopwatchMeter")
]


def adopt(released: Path, checkpoint: Path, *, source: Path, target: Path) -> dict[str, int]:
    """Write a released checkpoint in this project's form: weights in float32, settings, nothing else.

    Args:
        released: A checkpoint of fairseq.
        checkpoint: Where the new one goes.
        source: The dictionary of the source language.
        target: The dictionary of the target language.

    Returns:
        What the model is: number of `parameters`, `heads` in all, `types` of the target dictionary.

    Raises:
        HeadroomError: If the checkpoint is damaged, contains code, is of no Transformer for translation, or does
            not fit the dictionaries.
    """
    dictionaries = read_dictionary(source), read_dictionary(target)
    state = _upgraded(_read(released), released)
    model = _built(state, dictionaries, released)
    try:
        model.load_state_dict(state["model"])  # splits the projections, too
    except RuntimeError as error:
        reason = " ".join(str(error).split("\n", 1)[-1].split())[:160]
        raise HeadroomError(f"{released} does not fit {source.name} and {target.name}: {reason}") from error
    state["model"] = model.state_dict()
    state["cfg"] = OmegaConf.to_container(state["cfg"], resolve=True, enum_to_str=True)
    del state["args"]
    save_model(state, checkpoint)
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "heads": sum(len(live.kept) for live in find_sites(model)),
        "types": len(dictionaries[1]),
    }


def read_dictionary(path: Path) -> Dictionary:
    """Read a dictionary of fairseq.

    Raises:
        HeadroomError: If it is missing or damaged.
    """
    try:
        return Dictionary.load(str(path))
    except FileNotFoundError as error:
        raise HeadroomError(f"no dictionary at {path}") from error
    except Exception as error:  # fairseq raises many types, Exception itself among them
        raise HeadroomError(f"{path} is not a dictionary of fairseq: {' '.join(str(error).split())[:160]}") from error


def _read(path: Path) -> dict[str, Any]:
    """Read a checkpoint onto the CPU as data: no code in it is run (`weights_only`)."""
    try:
        with torch.serialization.safe_globals(list(_METERS)):  # besides those that `checkpoint` allows for good
            refuse_packed(path)
            state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise HeadroomError(f"no checkpoint at {path}") from error
    except Exception as error:  # torch raises many types for damaged files, and for code
        reason = " ".join(str(error).split("WeightsUnpickler error:")[-1].split())[:160]
        raise HeadroomError(f"{path} is truncated, or not a checkpoint of data alone ({reason})") from error
    if not isinstance(state, dict) or "model" not in state or not (state.get("args") or state.get("cfg")):
        raise HeadroomError(f"{path} is not a fairseq checkpoint: it lacks 'model', or both 'args' and 'cfg'")
    return state


def _upgraded(state: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the state as fairseq writes it today, with languages and place of the data as in this project."""
    state = {"args": None, **state}
    try:
        if state["args"] is None:
            state["cfg"] = OmegaConf.create(state["cfg"], flags={"allow_objects": True})
        state = checkpoint_utils._upgrade_state_dict(state)
        OmegaConf.set_struct(state["cfg"], False)
        state["cfg"].task.update({"data": "", "source_lang": "source", "target_lang": "target"})
    except Exception as error:  # settings of every age, composed by hydra
        reason = " ".join(str(error).split())[:160]
        raise HeadroomError(f"{path}: its settings are not those of a translation by fairseq ({reason})") from error
    return state


def _built(state: dict[str, Any], dictionaries: tuple[Dictionary, Dictionary], path: Path) -> Any:
    """Return the model that the settings describe, its weights not yet loaded."""
    try:
        model = TranslationTask(state["cfg"].task, *dictionaries).build_model(state["cfg"].model)
        sites = find_sites(model)
    except Exception as error:  # fairseq raises ValueError for dictionaries; other architectures lack anything
        reason = " ".join(str(error).split())[:160]
        raise HeadroomError(
            f"{path} is not a model of fairseq's architecture `transformer`, or not of these dictionaries ({reason})"
        ) from error
    if not all(hasattr(live.attention, name) for live in sites for name in live.inputs):
        raise HeadroomError(f"{path}: its attention has no query, key and value projections of its own")
    return model
