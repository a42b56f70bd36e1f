"""The initial encoder of a classifier: one directory in the Hub's format for all sources."""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from torch import Tensor
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from headroom.core.errors import HeadroomError
from headroom.models.checkpoint import read_configuration, read_tokenizer
from headroom.models.find_sites import (
    CONFIGURATION,
    MODEL_FILES,
    POSITIONS,
    TOKENIZER,
    WEIGHTS,
    check_tokenizer,
    find_sites,
    first_line,
    longest_input,
    plain,
    with_labels,
    writing,
)
from headroom.models.self_attentive import SelfAttentiveConfig
from headroom.models.weight_files import check_type, find_weights
from headroom.models.weights import check_values, read_tensors
from headroom.settings.models import NewEncoder, SelfAttentiveEncoder

_LEAST_COVERED = 0.9  # share of embedding rows with a token; all known encoders have more than 0.99


@dataclass(frozen=True)
class StartingPoint:
    """An encoder before fine-tuning."""

    config: PreTrainedConfig  # with the task's labels
    tokenizer: PreTrainedTokenizerBase  # its `model_max_length` is the maximum input length of the encoder
    weights: Mapping[str, Tensor] | None  # of the encoder without any head, by name; None for new weights


def new_encoder(settings: NewEncoder, sentences: Sequence[str], labels: Sequence[str]) -> StartingPoint:
    """Return a BERT with new weights and a vocabulary learned from sentences.

    Raises:
        HeadroomError: If the vocabulary is smaller than the set of characters of the text.
    """
    tokens = learn_wordpieces(sentences, settings.vocabulary)
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.feed_forward,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
        max_position_embeddings=POSITIONS,
        architectures=["BertForSequenceClassification"],
    )
    return _start_anew(config, tokens, labels)


def load_pretrained_encoder(directory: Path, labels: Sequence[str]) -> StartingPoint:
    """Return the encoder in a directory, without any classification head.

    Raises:
        HeadroomError: If a file is missing, the files do not belong together, or the kind of attention is not
            supported.
    """
    check_type(directory, removable=True)
    config = with_labels(read_configuration(directory), labels)
    read = read_tensors(find_weights(directory))
    tokenizer = read_tokenizer(directory)
    model, report = _load_model(directory, config, read)
    for name in read.keys() & model.state_dict().keys():
        if model.state_dict()[name].is_floating_point():
            check_values(name, read[name], directory)
    _check_weights(directory, model, report)
    if not tokenizer.is_fast:
        raise HeadroomError(f"{directory}: the tokenizer has no fast form; make a tokenizer.json of it")
    check_tokenizer(tokenizer, model, directory, covered=_LEAST_COVERED)
    find_sites(model)  # raises for unsupported attention
    tokenizer.model_max_length = min(tokenizer.model_max_length, longest_input(model))  # some have 10^30
    model.config.architectures = [type(model).__name__]
    absent = {*report["missing_keys"]}
    weights = {name: value for name, value in _encoder_state(model).items() if name not in absent}
    return StartingPoint(model.config, plain(tokenizer), weights)


def write_encoder(start: StartingPoint, output: Path) -> None:
    """Write the files of an encoder; `config.json` is written last and marks the directory as complete."""
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
        for name in MODEL_FILES:
            (output / name).unlink(missing_ok=True)
        for left in output.glob(".encoder.*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=output, prefix=".encoder.") as place:
            start.tokenizer.save_pretrained(place)
            start.config.save_pretrained(place)
            if start.weights is not None:
                whole = {name: value.contiguous() for name, value in start.weights.items()}
                save_file(whole, Path(place) / WEIGHTS, metadata={"format": "pt"})
            for name in (*TOKENIZER, *([WEIGHTS] if start.weights is not None else []), CONFIGURATION):
                (Path(place) / name).chmod(0o644)
                os.replace(Path(place) / name, output / name)


def _load_model(
    directory: Path, config: PreTrainedConfig, read: Mapping[str, Tensor]
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Return a classifier in float32, and the names of the weights in the directory."""
    try:
        own: Any = AutoModelForSequenceClassification._model_mapping[type(config)]
        return own.from_pretrained(
            None,
            config=config,
            state_dict=dict(read),
            dtype=torch.float32,
            ignore_mismatched_sizes=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except Exception as error:  # transformers raises many types for damaged files
        raise HeadroomError(
            f"{directory}: transformers cannot load the model ({first_line(error)}); copy it again"
        ) from error


def _check_weights(directory: Path, model: PreTrainedModel, report: Mapping[str, Any]) -> None:
    """Raise for weights that do not match the configuration. Heads may differ, and the pooler may be missing."""
    mine, prefix = _encoder_state(model), model.base_model_prefix + "."
    parts = {name for name, _ in model.base_model.named_children()}
    fault = f"{directory}: {WEIGHTS} does not match {CONFIGURATION}"
    for name, found, expected in sorted(report["mismatched_keys"]):
        if name in mine:
            raise HeadroomError(
                f"{fault}, {name} is {tuple(found)}, expected {tuple(expected)}; copy the encoder again"
            )
    for name in sorted(report["missing_keys"]):
        if name in mine and ".pooler." not in name:
            raise HeadroomError(f"{fault}, {name} is missing; copy the encoder again")
    for name in sorted(report["unexpected_keys"]):
        short = name.removeprefix(prefix)
        if short.split(".")[0] in parts and not short.endswith("position_ids"):
            raise HeadroomError(f"{fault}, {name} is not part of the model; copy the encoder again")


def _encoder_state(model: PreTrainedModel) -> dict[str, Tensor]:
    prefix = model.base_model_prefix + "."
    return {name: value for name, value in model.state_dict().items() if name.startswith(prefix)}


def self_attentive_start(
    settings: SelfAttentiveEncoder, sentences: Sequence[str], labels: Sequence[str]
) -> StartingPoint:
    """Return a self-attentive model with new weights, BERT's special tokens and a vocabulary learned from sentences.

    Raises:
        HeadroomError: If the vocabulary is smaller than the set of characters of the text.
    """
    tokens = learn_wordpieces(sentences, settings.vocabulary)
    config = SelfAttentiveConfig(
        vocab_size=len(tokens),
        embedding_size=settings.embedding,
        hidden_size=settings.hidden,
        attention_size=settings.attention,
        num_attention_heads=settings.hops,
        fully_connected_size=settings.fully_connected,
        dropout=settings.dropout,
        penalty=settings.penalty,
        architectures=["SelfAttentiveForSequenceClassification"],
    )
    return _start_anew(config, tokens, labels)


def _start_anew(
    config: BertConfig | SelfAttentiveConfig, tokens: dict[str, int], labels: Sequence[str]
) -> StartingPoint:
    """Return a model with new weights that reads tokens."""
    tokenizer = BertTokenizer(vocab=tokens, model_max_length=config.max_position_embeddings)
    config.pad_token_id = tokenizer.pad_token_id
    return StartingPoint(with_labels(config, labels), tokenizer, None)


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""BERT's special tokens, the first of every vocabulary."""

_INSIDE = "##"
"""The prefix of tokens inside a word (Schuster and Nakajima 2012; Devlin et al. 2019)."""


def learn_wordpieces(sentences: Sequence[str], size: int) -> dict[str, int]:
    """Return the tokens of a vocabulary, at most `size` with special ones, with their numbers.

    The same sentences give the same numbers.

    Raises:
        HeadroomError: If the characters of the text exceed the vocabulary; names the smallest sufficient size.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words = {
        word
        for sentence in sentences
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(sentence))
    }
    characters = {character for word in words for character in word}
    inside = sorted({_INSIDE + character for word in words for character in word[1:]})
    smallest = len(SPECIAL) + len(characters) + len(inside)
    if smallest > size:
        raise HeadroomError(
            f"encoder.vocabulary: {size} tokens, but the characters of the training text need {smallest}; "
            f"set it to {smallest} or more"
        )
    # The trainer numbers characters inside words in the order of a hash map, which differs from process to
    # process, and breaks ties by these numbers. Given as special tokens they have the numbers of this list.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SPECIAL, *inside],
        initial_alphabet=sorted(characters),
        continuing_subword_prefix=_INSIDE,
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return dict(sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]))
