"""Directories in the Hub's format: read without executing code, and written atomically.

A directory holds `config.json`, weights and a tokenizer. In one that was written here the configuration also says
which heads were removed (`sliced`), and `README.md` is a model card.
"""

import glob
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import transformers
from pydantic import TypeAdapter
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.models.families import KEY
from headroom.models.find_sites import CONFIGURATION, TOKENIZER, WEIGHTS, first_line, plain, writing
from headroom.models.sites import AttentionSite
from headroom.models.sliced import TASKS, configure, know_text_part
from headroom.models.weight_files import TOKENIZERS, has_any
from headroom.settings.models import Dtype

CARD, TAG = "README.md", "tags: [headroom]"
"""The model card, and the line in it that says that its directory was written here."""

HEADS = "heads.json"
"""The removed heads of a smaller model: `{"removed": ["D1:2", ...]}`."""

GENERATION = "generation_config.json"

_log = logging.getLogger(__name__)

_PROBE = "The Paris café's 3,200 visitors (in 2019)  weren't\n\tall naïve: x_1 += 42; 'Ünïcödé' 你好 東京 สวัสดี!?"
"""Text on which tokenizers that may differ are compared: case, accents, digits, spaces, marks, scripts."""


def read_tokenizer(directory: Path | str, *, file: str | None = None) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a directory, or of its GGUF file, without settings of earlier calls.

    A tokenizer without a padding token pads with its end token: masks say what is padding, tokens do not.

    Raises:
        HeadroomError: If it is missing or cannot be read.
    """
    directory = Path(directory)
    if not file and not has_any(directory, TOKENIZERS):
        raise HeadroomError(f"{directory}: no tokenizer; add one of {', '.join(TOKENIZERS)}")
    try:
        with relayed_warnings():
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                directory,
                local_files_only=True,
                trust_remote_code=False,
                **({"gguf_file": file} if file else {}),
            )
        if file:
            _leave_out_added(tokenizer)
        elif isinstance(tokenizer, PreTrainedTokenizerFast) and (directory / TOKENIZER[0]).is_file():
            _read_as_written(tokenizer, directory)
    except Exception as error:  # tokenizers raise many types for damaged files
        raise HeadroomError(f"{directory}: cannot read the tokenizer ({first_line(error)}); copy it again") from error
    if (_read_json(directory / CONFIGURATION).get("type_vocab_size") or 0) > 1:
        _tell_segments(tokenizer)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return plain(tokenizer)


def _read_json(path: Path) -> dict[str, Any]:
    """Return a mapping in a file; an empty one if there is none, as others report on damaged files."""
    try:
        read = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _read_as_written(tokenizer: PreTrainedTokenizerFast, directory: Path) -> None:
    """Let a tokenizer divide text as tokenizer.json says, as transformers before version 5 did.

    Classes of transformers 5 build themselves from the vocabulary and may give other tokens than those that the model
    was trained on. What tokenizer_config.json says about case, a leading space, and marks around a text is kept, and
    so is its request for another pattern than the file's in tokenizers of Mistral.
    """
    if tokenizer.init_kwargs.get("fix_mistral_regex"):
        return
    written = json.loads((directory / TOKENIZER[0]).read_bytes())
    said = _read_json(directory / TOKENIZER[1])
    for part, names in (("normalizer", {"lowercase": "do_lower_case"}), ("pre_tokenizer", {"add_prefix_space": ""})):
        for own, name in names.items():
            value = said.get(name or own)
            if isinstance(value, bool) and own in (written.get(part) or {}):
                written[part][own] = value
    before: Any = tokenizer._tokenizer
    made = Tokenizer.from_str(json.dumps(written))
    known = made.get_vocab(with_added_tokens=True)
    marked = {token.content for token in made.get_added_tokens_decoder().values()}
    added = sorted(before.get_added_tokens_decoder().items())
    made.add_tokens([token for _, token in added if token.content not in marked])
    made.encode_special_tokens = before.encode_special_tokens
    if said.keys() & {"add_bos_token", "add_eos_token"}:
        made.post_processor = before.post_processor
    probe = [_PROBE, *(token for token, _ in sorted(known.items(), key=lambda item: item[1])[: len(known) : 97])]
    both = ([one.encode(text).ids for one in (made, before)] for text in probe)
    if (found := next((pair for pair in both if pair[0] != pair[1]), None)) and not _is_own(directory):
        first = len([*takewhile(lambda pair: pair[0] == pair[1], zip(*found))])
        mine, others = (tokens[first : first + 8] for tokens in found)
        _log.warning(
            "%s: tokens are those of tokenizer.json, e.g. %s; transformers' %s would give others, e.g. %s",
            *(directory, mine, type(tokenizer).__name__, others),
        )
    tokenizer._tokenizer = made


def _tell_segments(tokenizer: PreTrainedTokenizerBase) -> None:
    """Let a tokenizer say which of two texts a token is of, which some classes of transformers 5 no longer do."""
    names = [*dict.fromkeys([*tokenizer.model_input_names, "token_type_ids"])]
    tokenizer.model_input_names = tokenizer.init_kwargs["model_input_names"] = names


_said = set[str]()
"""The warnings of transformers that were logged."""


@contextmanager
def relayed_warnings() -> Iterator[None]:
    """Log what transformers warns of within a block, once in a process; outside its warnings are disabled."""

    def relay(record: logging.LogRecord) -> bool:
        if not record.name.startswith("transformers"):
            return True
        text = " ".join(record.getMessage().split())
        if text not in _said:
            _said.add(text)
            _log.warning("transformers: %s", text[:300])
        return False

    library = logging.getLogger("transformers")
    before = library.level
    library.setLevel(logging.WARNING)
    handlers = list(library.handlers)
    for handler in handlers:
        handler.addFilter(relay)
    try:
        yield
    finally:
        library.setLevel(before)
        for handler in handlers:
            handler.removeFilter(relay)


def _leave_out_added(tokenizer: PreTrainedTokenizerBase) -> None:
    """Remove the tokens that transformers adds to those of a GGUF file, which lists them all, for its own marks."""
    made = json.loads(tokenizer.backend_tokenizer.to_str())
    vocabulary = made["model"]["vocab"]
    if isinstance(vocabulary, dict):
        known = {*vocabulary, *tokenizer.all_special_tokens}
        made["added_tokens"] = [one for one in made["added_tokens"] if one["content"] in known]
        tokenizer._tokenizer = Tokenizer.from_str(json.dumps(made))


def read_dtype(directory: Path | str) -> Dtype | None:
    """Return the type of the weights of a model that was written here; None of another one.

    Raises:
        HeadroomError: If its configuration is damaged.
    """
    path = Path(directory) / CONFIGURATION
    if not path.is_file():
        return None
    try:
        read = json.loads(path.read_bytes())
        return TypeAdapter(Dtype).validate_python(read["dtype"]) if KEY in read else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeadroomError(f"{path}: damaged; copy it again") from error


def list_tensors(model: PreTrainedModel) -> dict[str, Tensor]:
    """Return the tensors of a model by name, each once."""
    seen = set[tuple[int, tuple[int, ...]]]()
    state = dict[str, Tensor]()
    for name, tensor in model.state_dict().items():
        own = (tensor.data_ptr() if tensor.numel() else id(tensor), tuple(tensor.shape))
        if own not in seen:
            seen.add(own)
            state[name] = tensor.detach()
    return state


def save_model(
    directory: Path | str,
    *,
    model: PreTrainedModel,
    sites: Sequence[AttentionSite],
    tokenizer: PreTrainedTokenizerBase,
    card: list[str],
) -> None:
    """Write a model with the heads of its sites, its tokenizer and a card. See `atomic_directory`.

    Equal models give equal bytes. A model for generation also has settings of it.
    """
    with atomic_directory(directory) as temporary:
        configure(model, sites).save_pretrained(temporary)
        if model.can_generate():
            model.generation_config.save_pretrained(temporary)
        plain(tokenizer).save_pretrained(temporary)
        whole = {name: tensor.cpu().contiguous() for name, tensor in list_tensors(model).items()}
        save_file(whole, temporary / WEIGHTS, metadata={"format": "pt"})
        shutil.copymode(temporary / CONFIGURATION, temporary / WEIGHTS)  # otherwise readable by its owner only
        if gone := [str(head) for live in sites for head in live.removed_heads()]:
            write_lines(temporary / HEADS, [json.dumps({"removed": gone})])
        write_lines(temporary / CARD, card)


@contextmanager
def atomic_directory(path: Path | str) -> Iterator[Path]:
    """Yield a temporary sibling directory that replaces `path` when the block ends without an error.

    It replaces an empty directory and one written by `save_model`, also if only its card is left, which is no output of
    a workflow; for others, and if it cannot be written, HeadroomError is raised. Temporary directories of killed
    processes are removed.
    """
    path = Path(path)
    temporary = None
    try:
        with writing(path):
            if path.exists() and not (path.is_dir() and (_is_own(path) or not any(path.iterdir()))):
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


def _is_own(directory: Path) -> bool:
    """Return whether a directory was written here, also by a version that wrote `headroom.json`."""
    card = directory / CARD
    tagged = card.is_file() and TAG in card.read_text(encoding="utf-8", errors="replace").splitlines()
    return tagged or (directory / "headroom.json").is_file()


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
    if not isinstance(getattr(found, KEY, {}), dict):
        raise HeadroomError(f"{path}: damaged, its key {KEY} is no mapping; copy it again")
    know_text_part(type(found))
    if task and type(found) not in getattr(transformers, task)._model_mapping:
        raise HeadroomError(
            f"{path}: transformers has no {TASKS[task]} of type '{found.model_type}'; give another model"
        )
    return found
