"""Models of transformers, built from a configuration or loaded, and their weights, verified tensor by tensor."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)
from pickle import UnpicklingError
from zipfile import is_zipfile

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.activations import FastGELUActivation, GELUTanh, NewGELUActivation

from headroom.core.errors import HeadroomError
from headroom.models.checkpoint import GENERATION, list_tensors, read_configuration
from headroom.models.find_sites import CONFIGURATION, WEIGHTS, first_line
from headroom.models.head_model import unwrap_names
from headroom.models.sites import AttentionSite
from headroom.models.sliced import TASKS, configure, find_builder, tasks_of
from headroom.models.weight_files import find_weights

_log = logging.getLogger(__name__)


def check_classifier(directory: Path | str) -> None:
    """Raise HeadroomError if a directory's `config.json` is missing, or describes no classifier of transformers."""
    configuration = read_configuration(Path(directory))
    path = Path(directory) / CONFIGURATION
    named = configuration.architectures or []
    if named and not any(name.endswith("ForSequenceClassification") for name in named):
        raise HeadroomError(f"{path}: {', '.join(named)} is not a sequence classifier; fine-tune it first")
    if (configuration.num_labels or 0) < 2 or configuration.problem_type not in (None, "single_label_classification"):
        raise HeadroomError(
            f"{path}: not a single-label classifier (num_labels {configuration.num_labels}, "
            f"problem_type {configuration.problem_type}); fine-tune one with at least two labels"
        )


def build_model(directory: Path | str, task: str, attention: str, *, dtype: str = "float32") -> PreTrainedModel:
    """Return the model that a directory's `config.json` describes, with weights not yet loaded.

    Args:
        directory: The directory.
        task: The class of transformers that builds a model from a configuration, e.g. `AutoModelForCausalLM`.
        attention: `sdpa` or `eager`; a model without `sdpa` uses `eager`.
        dtype: The type of the weights.

    Raises:
        HeadroomError: If there is no such file, or it does not describe a model for the task.
    """
    configuration = read_configuration(Path(directory), task)
    try:
        model = getattr(transformers, task).from_config(
            configuration, dtype=getattr(torch, dtype), attn_implementation=_backend(configuration, task, attention)
        )
        _set_generation(model, Path(directory))
        return model
    except Exception as error:  # configurations are validated in many places
        raise HeadroomError(
            f"{Path(directory) / CONFIGURATION}: cannot build the model ({first_line(error)}); correct the file"
        ) from error


def _set_generation(model: PreTrainedModel, directory: Path) -> None:
    if (directory / GENERATION).is_file():
        model.generation_config = transformers.GenerationConfig.from_pretrained(directory, GENERATION)


def load_whole(
    directory: Path | str, task: str, attention: str, *, dtype: str = "float32", file: str | None = None
) -> PreTrainedModel:
    """Load a model as it was released, with every parameter from the directory's files.

    Arguments are those of `build_model`; `file` is a GGUF file of the directory, whose tensors have other forms.

    Raises:
        HeadroomError: If files are missing or damaged, or a parameter is missing or has other values than in them.
    """
    directory = Path(directory)
    configuration = read_configuration(directory, task, file=file)
    _check_class(configuration, task, directory / CONFIGURATION)
    read = {} if file else read_tensors(find_weights(directory))
    own: Any = getattr(transformers, task)
    given = (directory,) if file else (None,)
    source = {"gguf_file": file} if file else {"config": configuration, "state_dict": dict(read)}
    try:
        model, report = (own if file else own._model_mapping[type(configuration)]).from_pretrained(
            *given,
            **source,
            dtype=getattr(torch, dtype),
            attn_implementation=_backend(configuration, task, attention),
            ignore_mismatched_sizes=True,  # they are reported
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
        if not file:
            _set_generation(model, directory)
    except Exception as error:  # transformers raises many types for damaged files
        raise HeadroomError(
            f"{directory}: transformers cannot load the model ({first_line(error)}); copy it again"
        ) from error
    if wrong := sorted(report["mismatched_keys"]):
        raise HeadroomError(f"{directory}: {wrong[0][0]} has another shape than in {CONFIGURATION}; copy it again")
    if missing := sorted(report["missing_keys"]):
        raise HeadroomError(
            f"{directory}: {len(missing)} tensors of {CONFIGURATION} are missing, e.g. {missing[0]}; "
            "copy the model again, or give one that was trained for this task"
        )
    known = {_any_layer(name) for name, _ in model.named_parameters()}
    if extra := sorted(name for name in report["unexpected_keys"] if _any_layer(name) in known):
        raise HeadroomError(f"{directory}: has more layers than {CONFIGURATION}, e.g. {extra[0]}; copy it again")
    if not file:
        _check_unread(model, {name: read[name] for name in report["unexpected_keys"] if name in read}, directory)
        compare_with_files(model, read, directory)
    return model


_BUFFERS = ("causal_mask", "inv_freq", "masked_bias", "position_ids", "version", "_float_tensor")
"""Names of computed tensors that earlier versions of transformers wrote, besides masks, each a `bias` in a matrix."""


def _check_unread(model: PreTrainedModel, unread: Mapping[str, Tensor], place: Path) -> None:
    """Check that no tensor of the files changes what a part of the model computes, but is not in the model.

    Tensors of parts that it does not have, e.g. a pooler or a vision tower, are left out with a line in the log.

    Raises:
        HeadroomError: If there are others, e.g. of adapters; buffers, which are computed, are none.
    """
    parts = {name for name, _ in model.named_modules()} - {"", model.base_model_prefix}
    known = {name for name, _ in model.named_buffers()}
    weights = [
        name
        for name, tensor in sorted(unread.items())
        if (own := name.rpartition(".")[2]) not in _BUFFERS
        and name not in known
        and not (own == "bias" and tensor.dim() > 1)
    ]
    inside = [name for name in weights if parts & {*_parents(name), *_parents(f"{model.base_model_prefix}.{name}")}]
    if inside:
        raise HeadroomError(
            f"{place}: {len(inside)} tensors are not part of the model that {CONFIGURATION} describes, e.g. "
            f"{', '.join(inside[:3])}; merge adapters or scales into the weights and save the model again"
        )
    if weights:
        _log.warning("%s: %d tensors of parts that are not used, e.g. %s", place, len(weights), ", ".join(weights[:3]))


def _parents(name: str) -> Iterator[str]:
    """Yield the names of the modules around a tensor."""
    while name := name.rpartition(".")[0]:
        yield name


def _check_class(configuration: PreTrainedConfig, task: str, path: Path) -> None:
    """Raise HeadroomError if a configuration names a class of transformers, but not that for the task."""
    named = configuration.architectures or []
    own = getattr(transformers, task)._model_mapping[type(configuration)].__name__
    if own not in named and any(hasattr(transformers, name) for name in named):
        asked = next(iter(tasks_of(configuration)), "")
        advice = f"ask it by task: {asked}" if asked else "give a model that was trained for this task"
        raise HeadroomError(f"{path}: {', '.join(named)} is not a {TASKS[task]}; {advice}")


def _any_layer(name: str) -> str:
    """Return the name of a tensor without the numbers of layers."""
    return re.sub(r"\b[0-9]+\b", "", name)


def compare_with_files(model: PreTrainedModel, read: Mapping[str, Tensor], place: Path) -> None:
    """Raise HeadroomError if a parameter is not finite, or differs from the file's tensor of its name, as if tied."""
    base = f"{model.base_model_prefix}."
    known = {name.removeprefix(base): tensor for name, tensor in read.items()}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        tensor = known.get(name.removeprefix(base), parameter)  # transformers renames some
        check_values(name, tensor, place)
        if not torch.equal(tensor.to(parameter), parameter):
            raise HeadroomError(
                f"{place}: transformers loaded other values for {name} than the file has, as tensors are "
                f"tied that differ; set tie_word_embeddings: false in {CONFIGURATION}"
            )


def _backend(configuration: PreTrainedConfig, task: str, attention: str) -> str:
    architecture: Any = getattr(transformers, task)._model_mapping[type(configuration)]
    return attention if architecture._supports_sdpa else "eager"


def fuse_activations(model: nn.Module) -> None:
    """Compute the approximate GELU of GPT-2 and its like in one operation instead of eight, in place.

    Values change by rounding errors.
    """
    for parent in model.modules():
        for name, child in [*parent.named_children()]:
            if type(child) in (NewGELUActivation, FastGELUActivation):
                setattr(parent, name, GELUTanh())


def rebuild(model: PreTrainedModel, sites: Sequence[AttentionSite]) -> PreTrainedModel:
    """Return another model with the tensors of a sliced one, as transformers loads it from a directory."""
    config = configure(model, sites)
    _, own = find_builder(config, *(config.architectures or []))
    again: Any = own.from_pretrained(
        None,
        config=config,
        state_dict=list_tensors(model),
        dtype=model.dtype,
        attn_implementation=model.config._attn_implementation,
        trust_remote_code=False,
    )
    if model.can_generate():
        again.generation_config = model.generation_config
    moved: PreTrainedModel = again.to(model.device)
    return moved


# transformers' warnings on loading are disabled: their causes are errors here
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


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
    if not tensor.is_floating_point() or tensor.element_size() == 1:
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
