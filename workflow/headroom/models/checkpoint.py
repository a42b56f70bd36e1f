"""Directories in the Hub's format: read without executing code, and written atomically.

A directory holds `config.json`, weights and a tokenizer. In one that was written here the configuration also says
which heads were removed (`sliced`), and `README.md` is a model card.
"""

import glob
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import transformers
from pydantic import TypeAdapter
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.models.families import KEY
from headroom.models.find_sites import CONFIGURATION, TOKENIZER, WEIGHTS, first_line, plain, writing
from headroom.models.sites import AttentionSite
from headroom.models.sliced import TASKS, configure
from headroom.models.weight_files import TOKENIZERS, has_any
from headroom.settings.models import Dtype

_log = logging.getLogger(__name__)

CARD, TAG = "README.md", "tags: [headroom]"
"""The model card, and the line in it that says that its directory was written here."""

HEADS = "heads.json"
"""The removed heads of a smaller model: `{"removed": ["D1:2", ...]}`."""

GENERATION = "generation_config.json"


_said = set[str]()


@contextmanager
def warnings_logged() -> Iterator[None]:
    """Log what transformers warns of within a block, once in a process; nothing of a block that ends in an error.

    Its reports of tensors that are missing or left over are left out: `weights` says which of them matter.
    """
    library, found = logging.getLogger("transformers"), BufferingHandler(sys.maxsize)
    handlers, level = library.handlers, library.level
    library.handlers = [found]
    library.setLevel(logging.WARNING)
    try:
        yield
    finally:
        library.handlers = handlers
        library.setLevel(level)
    for text in dict.fromkeys(record.getMessage() for record in found.buffer):
        if text not in _said and "LOAD REPORT" not in text:
            _said.add(text)
            _log.warning("transformers: %s", text)


@warnings_logged()
def read_tokenizer(directory: Path | str, *, file: str | None = None) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a directory, or of its GGUF file, without settings of earlier calls.

    Its tokens are those of `tokenizer.json`, if there is one.
    A tokenizer without a padding token pads with its end token: masks say what is padding, tokens do not.

    Raises:
        HeadroomError: If it is missing or cannot be read, or `tokenizer.json` is of another one.
    """
    directory = Path(directory)
    whole = directory / TOKENIZER[0]
    if not file and not has_any(directory, TOKENIZERS):
        raise HeadroomError(f"{directory}: no tokenizer; add one of {', '.join(TOKENIZERS)}")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            directory,
            local_files_only=True,
            trust_remote_code=False,
            **({"gguf_file": file} if file else {}),
        )
        filed = Tokenizer.from_file(str(whole)) if not file and whole.is_file() else None
    except Exception as error:  # tokenizers raise many types for damaged files
        raise HeadroomError(f"{directory}: cannot read the tokenizer ({first_line(error)}); copy it again") from error
    if file:
        _leave_out_added(tokenizer)
    if filed and not tokenizer.init_kwargs.get("fix_mistral_regex"):  # which asks for other tokens than the file's
        _follow_file(tokenizer, filed, directory)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return plain(tokenizer)


_PARTS = ("normalizer", "pre_tokenizer", "model")
"""What divides text into tokens."""

_PROBES = ("The cost in 2024: 1,234.50 euros!!", "it's I'M naïve  {a_b}\n\n\tÉtude ﬁ ①", "今天 北京 сегодня")


def _follow_file(tokenizer: Any, filed: Tokenizer, directory: Path) -> None:
    """Let a tokenizer divide text as `tokenizer.json`: transformers builds most classes anew from its vocabulary alone.

    The file also says what stands around a text.
    """
    filed.no_truncation()
    filed.no_padding()
    alike = True
    if tokenizer.is_fast:
        loaded = tokenizer.backend_tokenizer
        added = [token for _, token in sorted(loaded.get_added_tokens_decoder().items())]
        filed.add_tokens([token for token in added if filed.token_to_id(token.content) is None])
        filed.encode_special_tokens = loaded.encode_special_tokens
        if hasattr(tokenizer, "src_lang"):  # codes of languages stand around a text
            filed.post_processor = loaded.post_processor
        alike = all(_state(getattr(loaded, part)) == _state(getattr(filed, part)) for part in _PARTS)
    differing = list(_compare_tokens(tokenizer, filed))
    if tokenizer.is_fast and (differing or not alike):
        tokenizer._tokenizer = filed
    if not differing or _is_own(directory):
        return
    kept, own = differing[0]
    about = f"{directory}: text is {kept} for {type(tokenizer).__name__}, {own} by {TOKENIZER[0]}"
    if not tokenizer.is_fast:
        raise HeadroomError(f"{about}; remove that file if it is not the model's")
    _log.warning("%s, which is used", about)


def _compare_tokens(tokenizer: PreTrainedTokenizerBase, filed: Tokenizer) -> Iterator[list[list[int]]]:
    """Yield for every short text that two tokenizers divide differently both results, from before the difference."""
    for text in (" ".join(list_words(filed)), *_PROBES):
        pair = _find_tokens(tokenizer.encode, text), _find_tokens(lambda text: filed.encode(text).ids, text)
        if pair[0] != pair[1]:
            same = len([*takewhile(lambda both: both[0] == both[1], zip(*pair))])
            yield [tokens[max(0, same - 2) : same + 8] for tokens in pair]


def list_words(tokenizer: Tokenizer) -> list[str]:
    """Return the text of some tokens, spread over all that are not special, by number."""
    known = sorted(tokenizer.get_vocab(with_added_tokens=False).values())
    special = tokenizer.get_added_tokens_decoder()
    some = [tokenizer.decode([token]).strip() for token in known[:: len(known) // _WORDS or 1] if token not in special]
    return [text for text in some if text.isprintable() and text and "\N{REPLACEMENT CHARACTER}" not in text]


_WORDS = 64
"""Tokens of which the text is tried."""


def _find_tokens(read: Callable[[str], list[int]], text: str) -> list[int]:
    """Return the tokens of a text, none if the tokenizer has no token for a part of it."""
    try:
        return read(text)
    except Exception:  # tokenizers has no type for it
        return []


def _state(part: Any) -> bytes | None:
    return None if part is None else part.__getstate__()


def _leave_out_added(tokenizer: PreTrainedTokenizerBase) -> None:
    """Remove the tokens that transformers adds to those of a GGUF file, which lists them all, for its own marks."""
    made = json.loads(tokenizer.backend_tokenizer.to_str())
    known, named = made["model"]["vocab"], tokenizer.all_special_tokens
    if isinstance(known, dict):
        made["added_tokens"] = [one for one in made["added_tokens"] if one["content"] in {*known, *named}]
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


@warnings_logged()
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
    if task and type(found) not in getattr(transformers, task)._model_mapping:
        raise HeadroomError(
            f"{path}: transformers has no {TASKS[task]} of type '{found.model_type}'; give another model"
        )
    return found
