"""Directories in the Hub's format: read without executing code, and written atomically.

A directory holds `config.json`, `model.safetensors` and a tokenizer. A sliced model also has a descriptor,
`headroom.json`, of the removed heads: {"removed": "E1:3 E2:1"}.
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

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.engines.hub import self_attentive  # noqa: F401 (makes the model known to transformers)
from headroom.engines.hub.sites import CONFIGURATION, WEIGHTS, first_line, plain, writing

DESCRIPTOR = "headroom.json"
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")

_UNUSED = re.compile(r"(.*\.)?(pooler\..*|position_ids|token_type_ids)|(cls|lm_head|qa_outputs)\..*")
"""Tensors of pretraining, which classifiers do not use but the Hub's checkpoints often contain."""


def build_classifier(directory: Path | str, attention: str) -> PreTrainedModel:
    """Return the classifier that a directory's `config.json` describes, in float32, with weights not yet loaded.

    `attention` is `sdpa` or `eager`; a model without `sdpa` uses `eager`.

    Raises:
        HeadroomError: If there is no such file, or it does not describe a classifier of transformers.
    """
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
    architecture: Any = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING[type(configuration)]
    backend = attention if architecture._supports_sdpa else "eager"
    try:
        return transformers.AutoModelForSequenceClassification.from_config(
            configuration, dtype=torch.float32, attn_implementation=backend
        )
    except Exception as error:  # configurations are validated in many places
        raise HeadroomError(f"{path}: cannot build the model ({first_line(error)}); correct the file") from error


def read_tokenizer(directory: Path | str) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a directory, without truncation and padding settings of earlier calls.

    Raises:
        HeadroomError: If it is missing or cannot be read.
    """
    directory = Path(directory)
    if not any(path for pattern in _TOKENIZERS for path in directory.glob(pattern)):
        raise HeadroomError(f"{directory}: no tokenizer; add one of {', '.join(_TOKENIZERS)}")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            directory, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # tokenizers raise many types for damaged files
        raise HeadroomError(f"{directory}: cannot read the tokenizer ({first_line(error)}); copy it again") from error
    return plain(tokenizer)


def read_removed(directory: Path | str) -> str:
    """Return the profile of the removed heads of a directory's model; HeadroomError if the descriptor is damaged."""
    path = Path(directory) / DESCRIPTOR
    if not path.exists():
        return ""
    try:
        removed = json.loads(path.read_bytes())["removed"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeadroomError(f'{path}: damaged; write e.g. {{"removed": "E1:3 E2:1"}}') from error
    return str(removed)


def load_weights(model: PreTrainedModel, directory: Path | str) -> None:
    """Load a directory's weights into a model: all tensors, each of matching shape.

    Raises:
        HeadroomError: If the file is missing or damaged, has no classification head, or its tensors differ from
            those of the model.
    """
    path = Path(directory) / WEIGHTS
    state = {_modern(name): tensor for name, tensor in _read_weights(path).items()}
    wanted = model.state_dict()
    missing = [name for name in wanted if name not in state]
    extra = [name for name in state if name not in wanted and not _UNUSED.fullmatch(name)]
    encoder = f"{model.base_model_prefix}."
    if missing and all(not name.startswith(encoder) or name.removeprefix(encoder) in state for name in missing):
        raise HeadroomError(f"{path}: no classification head ({missing[-1]} is missing); fine-tune the encoder first")
    if missing:
        raise HeadroomError(
            f"{path}: {len(missing)} tensors of {CONFIGURATION} are missing, e.g. {missing[0]}; copy the model again"
        )
    if extra:
        raise HeadroomError(
            f"{path}: {len(extra)} tensors are not in {CONFIGURATION}, e.g. {extra[0]}; copy the model again"
        )
    for name, tensor in wanted.items():
        if state[name].shape != tensor.shape:
            shapes = f"{list(state[name].shape)} instead of {list(tensor.shape)}"
            raise HeadroomError(
                f"{path}: differs from {CONFIGURATION} and {DESCRIPTOR}, {name} has the shape "
                f"{shapes}; "
                "copy the model again"
            )
    model.load_state_dict({name: state[name] for name in wanted})


def save_classifier(
    directory: Path | str, *, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, removed: str
) -> None:
    """Write a model, its tokenizer and its removed heads; equal models give equal bytes. See `atomic_directory`."""
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    with atomic_directory(directory) as temporary:
        model.config.save_pretrained(temporary)
        plain(tokenizer).save_pretrained(temporary)
        save_file(state, temporary / WEIGHTS, metadata={"format": "pt"})
        shutil.copymode(temporary / CONFIGURATION, temporary / WEIGHTS)  # otherwise readable by its owner only
        write_lines(temporary / DESCRIPTOR, [json.dumps({"removed": removed})])


@contextmanager
def atomic_directory(path: Path | str) -> Iterator[Path]:
    """Yield a temporary sibling directory that replaces `path` when the block ends without an error.

    It replaces an empty directory and one written by `save_classifier`; for others, and if it cannot be written,
    HeadroomError is raised. Temporary directories of killed processes are removed.
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


def read_configuration(directory: Path) -> PreTrainedConfig:
    """Return the configuration in a directory; raise HeadroomError if it is missing or not one of a classifier."""
    if not directory.is_dir():
        raise HeadroomError(f"{directory}: no model; give a directory with {CONFIGURATION} and {WEIGHTS}")
    path = directory / CONFIGURATION
    if not path.is_file():
        raise HeadroomError(f"{directory}: no {CONFIGURATION}; give a model in the Hub's directory format")
    try:
        found = transformers.AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # OSError, ValueError, KeyError, and those of the configurations themselves
        raise HeadroomError(
            f"{path}: damaged, or of a type unknown to transformers ({first_line(error)}); copy it again"
        ) from error
    if type(found) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING:
        raise HeadroomError(
            f"{path}: transformers has no sequence classifier of type '{found.model_type}'; give another model"
        )
    return found


def _read_weights(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise HeadroomError(f"{path.parent}: no {path.name}; save pickled or split weights as one safetensors file")
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise HeadroomError(f"{path}: truncated, or not in safetensors' format; copy it again") from error


def _modern(name: str) -> str:
    """Return a tensor's name, with the layer normalisation names of the first BERT checkpoints replaced."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
