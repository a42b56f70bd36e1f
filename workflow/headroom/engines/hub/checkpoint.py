"""Directories in the Hub's format: read without executing code, and written atomically.

A directory holds `config.json`, weights and a tokenizer. One that was written here also has a descriptor,
`headroom.json`, of the removed heads and of tensors that are one: {"removed": "E1:3 E2:1", "tied": {}}. Its model
card is `README.md`.
"""

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

import transformers
from pydantic import TypeAdapter
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.core.heads import Head, Site, parse_profile
from headroom.engines.hub import self_attentive  # noqa: F401 (makes the model known to transformers)
from headroom.engines.hub.sites import CONFIGURATION, WEIGHTS, first_line, plain, writing
from headroom.engines.hub.weight_files import TOKENIZERS, has_any
from headroom.settings.models import Dtype

DESCRIPTOR, CARD = "headroom.json", "README.md"
GENERATION = "generation_config.json"
TASKS = {
    "AutoModelForSequenceClassification": "sequence classifier",
    "AutoModelForSeq2SeqLM": "encoder-decoder",
    "AutoModelForCausalLM": "language model",
}
"""The classes of transformers that build a model from a configuration, and what they build."""


@dataclass(frozen=True)
class Descriptor:
    """What is said of a model beside its configuration and weights.

    Attributes:
        removed: The profile of its removed heads.
        tied: By the names of tensors that are not in the file, those whose values they have.
        dtype: The type of its weights.
    """

    removed: str
    tied: Mapping[str, str] = field(default_factory=dict)
    dtype: Dtype = "float32"


def read_tokenizer(directory: Path | str, *, file: str | None = None) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a directory, or of its GGUF file, without settings of earlier calls.

    A tokenizer without a padding piece pads with its end piece: masks say what is padding, pieces do not.

    Raises:
        HeadroomError: If it is missing or cannot be read.
    """
    directory = Path(directory)
    if not file and not has_any(directory, TOKENIZERS):
        raise HeadroomError(f"{directory}: no tokenizer; add one of {', '.join(TOKENIZERS)}")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            directory,
            local_files_only=True,
            trust_remote_code=False,
            **({"gguf_file": file} if file else {}),
        )
    except Exception as error:  # tokenizers raise many types for damaged files
        raise HeadroomError(f"{directory}: cannot read the tokenizer ({first_line(error)}); copy it again") from error
    if file:
        _leave_out_added(tokenizer)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return plain(tokenizer)


def _leave_out_added(tokenizer: PreTrainedTokenizerBase) -> None:
    """Remove the pieces that transformers adds to those of a GGUF file, which lists them all, for its own marks."""
    made = json.loads(tokenizer.backend_tokenizer.to_str())
    known, named = made["model"]["vocab"], tokenizer.all_special_tokens
    if isinstance(known, dict):
        made["added_tokens"] = [one for one in made["added_tokens"] if one["content"] in {*known, *named}]
        tokenizer._tokenizer = Tokenizer.from_str(json.dumps(made))


def read_descriptor(directory: Path | str) -> Descriptor | None:
    """Return what is said of a model that was written here; None of another one.

    Raises:
        HeadroomError: If the descriptor is damaged.
    """
    path = Path(directory) / DESCRIPTOR
    if not path.exists():
        return None
    try:
        return TypeAdapter(Descriptor).validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise HeadroomError(f'{path}: damaged; write e.g. {{"removed": "E1:3 E2:1"}}') from error


def read_removed(directory: Path | str, sites: Sequence[Site]) -> frozenset[Head]:
    """Return the heads that a directory's model lacks; raise HeadroomError if it never had one of them."""
    written = read_descriptor(directory)
    try:
        return parse_profile(written.removed if written else "", sites)
    except HeadroomError as error:
        raise HeadroomError(f"{Path(directory) / DESCRIPTOR}: {error}") from error


def list_tensors(model: PreTrainedModel) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors of a model by name, and by the names of those that are another one its name."""
    first: dict[tuple[int, tuple[int, ...]], str] = {}
    state, tied = dict[str, Tensor](), dict[str, str]()
    for name, tensor in model.state_dict().items():
        own = first.setdefault((tensor.data_ptr() if tensor.numel() else id(tensor), tuple(tensor.shape)), name)
        if own == name:
            state[name] = tensor.detach()
        else:
            tied[name] = own
    return state, tied


def save_model(
    directory: Path | str,
    *,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    descriptor: Descriptor,
    card: list[str],
) -> None:
    """Write a model, its tokenizer, a descriptor and a card; equal models give equal bytes. See `atomic_directory`.

    A model for generation also has settings of it. Ties in the descriptor are those of the model.
    """
    state, tied = list_tensors(model)
    with atomic_directory(directory) as temporary:
        model.config.architectures = model.config.architectures or [type(model).__name__]  # a GGUF file has none
        model.config.save_pretrained(temporary)
        if model.can_generate():
            model.generation_config.save_pretrained(temporary)
        plain(tokenizer).save_pretrained(temporary)
        whole = {name: tensor.cpu().contiguous() for name, tensor in state.items()}
        save_file(whole, temporary / WEIGHTS, metadata={"format": "pt"})
        shutil.copymode(temporary / CONFIGURATION, temporary / WEIGHTS)  # otherwise readable by its owner only
        said = asdict(replace(descriptor, tied=tied), dict_factory=_keep_said)
        write_lines(temporary / DESCRIPTOR, [json.dumps(said)])
        write_lines(temporary / CARD, card)


def _keep_said(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a descriptor that are not empty or usual; always the removed heads."""
    return {name: value for name, value in pairs if name == "removed" or value not in ({}, Descriptor.dtype)}


@contextmanager
def atomic_directory(path: Path | str) -> Iterator[Path]:
    """Yield a temporary sibling directory that replaces `path` when the block ends without an error.

    It replaces an empty directory and one written by `save_model`, also if only its descriptor is left, which is no
    output of a workflow; for others, and if it cannot be written, HeadroomError is raised. Temporary directories of
    killed processes are removed.
    """
    path = Path(path)
    temporary = None
    try:
        with writing(path):
            if path.exists() and not (path.is_dir() and ((path / DESCRIPTOR).is_file() or not any(path.iterdir()))):
                raise HeadroomError(f"{path}: exists and was not written by this project; choose another directory")
            path.parent.mkdir(parents=True, exist_ok=True)
            for left in path.parent.glob(f".{glob.escape(path.name)}.????????"):
                shutil.rmtree(left)
            temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
            whole = temporary / "new"
            whole.mkdir()
            yield whole
            for file in whole.iterdir():
                with open(file, "rb") as stream:
                    os.fsync(stream.fileno())
            if path.exists():
                path.rename(temporary / "old")
            whole.rename(path)
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def read_configuration(
    directory: Path, task: str | None = "AutoModelForSequenceClassification", *, file: str | None = None
) -> PreTrainedConfig:
    """Return the configuration in a directory, or of its GGUF file; without a task of any model.

    Raises:
        HeadroomError: If it is missing, damaged, or not one of a model for the task.
    """
    if not directory.is_dir():
        raise HeadroomError(f"{directory}: no model; give a directory with {CONFIGURATION} and {WEIGHTS}")
    path = directory / (file or CONFIGURATION)
    if not path.is_file():
        raise HeadroomError(f"{directory}: no {path.name}; give a model in the Hub's directory format")
    try:
        found = transformers.AutoConfig.from_pretrained(
            directory, local_files_only=True, trust_remote_code=False, **({"gguf_file": file} if file else {})
        )
    except Exception as error:  # OSError, ValueError, KeyError, and those of the configurations themselves
        raise HeadroomError(
            f"{path}: damaged, or of a type unknown to transformers ({first_line(error)}); copy it again"
        ) from error
    if task and type(found) not in getattr(transformers, task)._model_mapping:
        raise HeadroomError(
            f"{path}: transformers has no {TASKS[task]} of type '{found.model_type}'; give another model"
        )
    return found
