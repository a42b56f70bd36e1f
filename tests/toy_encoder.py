"""Tiny random classifiers in the Hub's directory format, for tests; nothing is downloaded."""

from collections.abc import Callable, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
import transformers
from headroom.data.labelled import LabelledText
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import nn
from transformers import BertTokenizer, PreTrainedModel, PreTrainedTokenizerFast

WORDS = ("the", "a", "dog", "cat", "child", "sees", "hears", "follows", "old", "small", "green", "not", "and", "today")

FAMILIES: dict[str, Callable[..., Any]] = {
    "bert": transformers.BertConfig,
    "electra": lambda **shape: transformers.ElectraConfig(**shape, embedding_size=8),
    "distilbert": lambda hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, **shape: (
        transformers.DistilBertConfig(
            dim=hidden_size,
            n_layers=num_hidden_layers,
            n_heads=num_attention_heads,
            hidden_dim=intermediate_size,
            **shape,
        )
    ),
    "roberta": lambda **shape: transformers.RobertaConfig(**{**shape, "type_vocab_size": 1}),
    "camembert": lambda **shape: transformers.CamembertConfig(**{**shape, "type_vocab_size": 1}),
    "xlm-roberta": lambda **shape: transformers.XLMRobertaConfig(**{**shape, "type_vocab_size": 1}),
    # as in DeBERTa v3: positions share the query and key projections
    "deberta-v3": lambda **shape: transformers.DebertaV2Config(
        **{**shape, "type_vocab_size": 0},
        relative_attention=True,
        position_buckets=8,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type="p2c|c2p",
        position_biased_input=False,
    ),
    # as in the first DeBERTa v2: positions have projections of their own, and a convolution follows layer 1
    "deberta-v2": lambda **shape: transformers.DebertaV2Config(
        **{**shape, "type_vocab_size": 0},
        relative_attention=True,
        position_buckets=8,
        pos_att_type="p2c|c2p",
        conv_kernel_size=3,
    ),
    "albert": lambda **shape: transformers.AlbertConfig(**shape, embedding_size=8),
    "deberta": lambda **shape: transformers.DebertaConfig(**{**shape, "type_vocab_size": 0}),
    "mpnet": lambda **shape: transformers.MPNetConfig(**shape),
}
"""Configurations by the name of a family."""

ATTENTIONS = [
    *((family, "eager") for family in ("bert", "roberta", "distilbert", "electra", "deberta-v2", "deberta-v3")),
    *((family, "sdpa") for family in ("bert", "roberta", "distilbert", "electra")),
]
"""Families whose heads can be gated and removed, with the backends of their attention."""

_LIKE_ROBERTA = ("roberta", "camembert", "xlm-roberta", "mpnet")


def write_encoder(
    directory: Path,
    family: str = "bert",
    *,
    labels: Sequence[str] = ("no", "yes"),
    layers: int = 2,
    heads: int = 4,
    width: int = 16,
    positions: int = 40,
    words: Sequence[str] = WORDS,
    lively: bool = True,
    head: bool = True,
) -> Path:
    """Write a random classifier and its tokenizer, the same on every call.

    Args:
        directory: Where to write it.
        family: One of `FAMILIES`.
        labels: Names of the classes.
        layers: Encoder layers.
        heads: Heads of every layer.
        width: Width of the layers.
        positions: Longest input in pieces.
        words: Words that are one piece each; any other word is split into letters.
        lively: Whether the weights are large, so that every head matters, instead of as they are initialised.
        head: Whether there is a classification head, instead of the bare encoder.

    Returns:
        The directory.
    """
    tokenizer = toy_tokenizer(family, words=words, longest=positions)
    configuration = toy_configuration(
        family, labels=labels, layers=layers, heads=heads, width=width, positions=positions, pieces=len(tokenizer)
    )
    model = toy_model(configuration, lively=lively)
    (model if head else model.base_model).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def toy_configuration(
    family: str,
    *,
    labels: Sequence[str] = ("no", "yes"),
    layers: int = 2,
    heads: int = 4,
    width: int = 16,
    positions: int = 40,
    pieces: int = 64,
) -> Any:
    """Return the configuration of a classifier of this shape, without dropout."""
    special, dropout = {"pad_token_id": 0}, ("hidden_dropout_prob", "attention_probs_dropout_prob")
    if family in _LIKE_ROBERTA:
        special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    if family == "distilbert":
        dropout = ("dropout", "attention_dropout", "seq_classif_dropout")
    return FAMILIES[family](
        vocab_size=pieces,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=2 * width,
        max_position_embeddings=positions + 2 * (family in _LIKE_ROBERTA),
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        **special,
        **dict.fromkeys((*dropout, "classifier_dropout"), 0.0),
    )


def toy_model(configuration: Any, *, lively: bool = True, attention: str = "eager") -> PreTrainedModel:
    """Return a classifier with random weights, in eval mode, the same on every call."""
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_config(configuration, attn_implementation=attention)
    if lively:
        enliven(model)
    return model.eval()


@torch.no_grad()
def enliven(model: nn.Module, *, seed: int = 2) -> None:
    """Add noise to all weights but those of normalisation: every head then matters to every output."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "norm" not in name.lower():
            size = 0.3 if parameter.dim() == 2 else 0.1
            parameter += size * torch.randn(parameter.shape, generator=generator)


def toy_tokenizer(family: str, *, words: Sequence[str] = WORDS, longest: int = 40) -> PreTrainedTokenizerFast:
    """Return a WordPiece tokenizer that knows these words and single letters, with the family's special pieces."""
    letters = [*ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase), ".", ","]
    known = list(dict.fromkeys([*letters, *words]))
    if family not in _LIKE_ROBERTA:
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
        vocabulary = {piece: index for index, piece in enumerate(pieces)}
        return BertTokenizer(vocab=vocabulary, model_max_length=longest)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *known]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=longest,
        cls_token="<s>",
        bos_token="<s>",
        pad_token="<pad>",
        sep_token="</s>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def toy_text(*, pairs: bool = True, examples: int = 12, labels: Sequence[str] = ("no", "yes")) -> LabelledText:
    """Return sentences of different lengths with words from `WORDS`, and labels in turn."""
    first = [" ".join(WORDS[(3 * row + place) % len(WORDS)] for place in range(2 + row % 5)) for row in range(examples)]
    second = [
        " ".join(WORDS[(5 * row + place) % len(WORDS)] for place in range(1 + row % 4)) for row in range(examples)
    ]
    return LabelledText(first, second if pairs else None, [labels[row % len(labels)] for row in range(examples)])
