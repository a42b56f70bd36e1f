"""Directories in the Hub's format: read as data, never as code, and written whole.

A directory holds `config.json`, `model.safetensors` and a tokenizer. A sliced model has a descriptor besides,
`headroom.json`, that says which heads are gone: {"removed": "E1:3 E2:1"}.
"""

import glob
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.engines.classification import self_attentive  # noqa: F401 (makes the model known to transformers)
from headroom.engines.classification.sites import CONFIGURATION, WEIGHTS, first_line, plain, writing

DESCRIPTOR = "headroom.json"
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")

_UNUSED = re.compile(r"(.*\.)?(pooler\..*|position_ids|token_type_ids)|(cls|lm_head|qa_outputs)\..*")
"""Tensors of pretraining, which classifiers do not use and the Hub's checkpoints often carry along."""


def build_classifier(directory: Path | str, attention: str) -> Any:
    """Return the classifier that a directory's `config.json` describes, in float32, with weights not yet loaded.

    `attention` is `sdpa` or `eager`; a model that has no `sdpa` gets `eager`.

    Raises:
        HeadroomError: If there is no such file, or it does not describe a classifier that transformers has.
    """
    configuration = read_configuration(Path(directory))
    path = Path(directory) / CONFIGURATION
    named = configuration.architectures or []
    if named and not any(name.endswith("ForSequenceClassification") for name in named):
        raise HeadroomError(f"{path}: {', '.join(named)} is not a sequence classifier; fine-tune it first")
    if configuration.num_labels < 2 or configuration.problem_type not in (None, "single_label_classification"):
        raise HeadroomError(
            f"{path}: not a classifier into one of several classes "
            f"(num_labels {configuration.num_labels}, problem_type {configuration.problem_type})"
        )
    architecture: Any = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING[type(configuration)]
    backend = attention if architecture._supports_sdpa else "eager"
    try:
        return transformers.AutoModelForSequenceClassification.from_config(
            configuration, dtype=torch.float32, attn_implementation=backend
        )
    except Exception as error:  # configurations are checked in many places
        raise HeadroomError(f"{path} does not describe a model that can be built ({first_line(error)})") from error


def read_tokenizer(directory: Path | str) -> Any:
    """Return the tokenizer of a directory, without settings of earlier calls: cutting and padding are the caller's.

    Raises:
        HeadroomError: If there is none or it cannot be read.
    """
    directory = Path(directory)
    if not any(path for pattern in _TOKENIZERS for path in directory.glob(pattern)):
        raise HeadroomError(f"no tokenizer in {directory}: expected one of {', '.join(_TOKENIZERS)}")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            directory, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # tokenizers raise many types for damaged files
        raise HeadroomError(f"the tokenizer in {directory} cannot be read ({first_line(error)})") from error
    return plain(tokenizer)


def read_removed(directory: Path | str) -> str:
    """Return the profile of the heads that a directory's model has lost; HeadroomError if that is damaged."""
    path = Path(directory) / DESCRIPTOR
    if not path.exists():
        return ""
    try:
        removed = json.loads(path.read_bytes())["removed"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeadroomError(f'{path} is damaged: expected {{"removed": "E1:3 E2:1"}}') from error
    return str(removed)


def load_weights(model: Any, directory: Path | str) -> None:
    """Fill a model with a directory's weights: all of its tensors, each in its shape.

    Raises:
        HeadroomError: If the file is missing or damaged, lacks the classification head or another tensor, or has
            tensors that the model lacks.
    """
    path = Path(directory) / WEIGHTS
    state = {_modern(name): tensor for name, tensor in _read_weights(path).items()}
    wanted = model.state_dict()
    missing = [name for name in wanted if name not in state]
    extra = [name for name in state if name not in wanted and not _UNUSED.fullmatch(name)]
    encoder = f"{model.base_model_prefix}."
    if missing and all(not name.startswith(encoder) or name.removeprefix(encoder) in state for name in missing):
        raise HeadroomError(
            f"{path} has no classification head ({missing[-1]} is missing): fine-tune the encoder first"
        )
    if missing:
        raise HeadroomError(f"{path} lacks {len(missing)} tensors of the model in {CONFIGURATION}, e.g. {missing[0]}")
    if extra:
        raise HeadroomError(f"{path} has {len(extra)} tensors that {CONFIGURATION} does not know of, e.g. {extra[0]}")
    for name, tensor in wanted.items():
        if state[name].shape != tensor.shape:
            shapes = f"{list(state[name].shape)} instead of {list(tensor.shape)}"
            raise HeadroomError(f"{path} does not fit {CONFIGURATION} and {DESCRIPTOR}: {name} has the shape {shapes}")
    model.load_state_dict({name: state[name] for name in wanted})


def save_classifier(directory: Path | str, *, model: Any, tokenizer: Any, removed: str) -> None:
    """Write a model, its tokenizer and what was removed; equal models give equal bytes. See `atomic_directory`."""
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    with atomic_directory(directory) as temporary:
        model.config.save_pretrained(temporary)
        plain(tokenizer).save_pretrained(temporary)
        save_file(state, temporary / WEIGHTS, metadata={"format": "pt"})
        shutil.copymode(temporary / CONFIGURATION, temporary / WEIGHTS)  # otherwise no one else could read it
        write_lines(temporary / DESCRIPTOR, [json.dumps({"removed": removed})])


@contextmanager
def atomic_directory(path: Path | str) -> Iterator[Path]:
    """Yield a temporary directory beside `path` that takes its place when the block ends without an error.

    It replaces an empty directory and one written by `save_classifier`; for others, and where it cannot be written,
    HeadroomError is raised. What a killed process left beside it is removed.
    """
    path = Path(path)
    temporary = None
    try:
        with writing(path):
            if path.exists() and not (path.is_dir() and ((path / DESCRIPTOR).is_file() or not any(path.iterdir()))):
                raise HeadroomError(f"{path} exists and is no model written by this project; choose another directory")
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


def read_configuration(directory: Path) -> Any:
    """Return the configuration in a directory; raise HeadroomError if there is none, or none of a classifier."""
    if not directory.is_dir():
        raise HeadroomError(f"no model at {directory}: expected a directory with {CONFIGURATION} and {WEIGHTS}")
    path = directory / CONFIGURATION
    if not path.is_file():
        raise HeadroomError(f"no {CONFIGURATION} in {directory}: expected a model in the Hub's directory format")
    try:
        found = transformers.AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # OSError, ValueError, KeyError, and those of the configurations themselves
        raise HeadroomError(
            f"{path} is damaged or of a type that transformers does not know ({first_line(error)})"
        ) from error
    if type(found) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING:
        raise HeadroomError(f"{path}: transformers has no sequence classifier for model type '{found.model_type}'")
    return found


def _read_weights(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise HeadroomError(
            f"no {path.name} in {path.parent}: pickled or split weights are not read; save them as safetensors"
        )
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise HeadroomError(f"{path} is truncated or not in safetensors' format; copy it again") from error


def _modern(name: str) -> str:
    """Return a tensor's name, with the names that layer normalisation had in the first BERT checkpoints replaced."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
