"""Small models with random weights: any family of transformers at any size, in memory or in a directory."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any, TypeVar

import sentencepiece
import torch
import transformers
from headroom.data.labelled import LabelledText
from headroom.models import installed  # noqa: F401
from headroom.models.checkpoint import save_model
from headroom.models.find_sites import find_sites
from headroom.models.gates import Gates
from headroom.models.head_model import HeadModel
from headroom.models.self_attentive import SelfAttentiveConfig
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.seq2seq.text import set_languages
from headroom.models.sites import AttentionSite
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    BertTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    M2M100Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

_STACK = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "width": "hidden_size",
    "forward": "intermediate_size",
    "positions": "max_position_embeddings",
}
_GPT2 = {"layers": "n_layer", "heads": "n_head", "width": "n_embd", "forward": "n_inner", "positions": "n_positions"}
_DISTIL = {**_STACK, "layers": "n_layers", "heads": "n_heads", "width": "dim", "forward": "hidden_dim"}
_TWO_STACKS = {
    "layers": "encoder_layers decoder_layers",
    "heads": "encoder_attention_heads decoder_attention_heads",
    "width": "d_model",
    "forward": "encoder_ffn_dim decoder_ffn_dim",
    "positions": "max_position_embeddings",
}
_T5 = {"layers": "num_layers num_decoder_layers", "heads": "num_heads", "width": "d_model", "forward": "d_ff"}
_T5 |= {"head": "d_kv"}
"""By a size: its names in configurations of a kind."""

_MARKS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_LIKE_ROBERTA = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "type_vocab_size": 1}
_STARTS = {**_MARKS, "decoder_start_token_id": 2, "forced_eos_token_id": None}
_STARTS_T5 = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
_BUCKETS = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 16}
_GROUPED = {**_MARKS, "num_key_value_heads": 2}
_WIDE = {**_GROUPED, "head_dim": 8}
_SLIDING = {**_WIDE, "layer_types": ["sliding_attention", "full_attention"]}
_STILL = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"), 0.0)
_DEBERTA = {**_MARKS, **_STILL, "type_vocab_size": 0, "relative_attention": True}
_BUCKETED = {**_DEBERTA, "position_buckets": 8, "pos_att_type": "p2c|c2p"}


@dataclass(frozen=True)
class Family:
    """How the models of a family are configured.

    Attributes:
        config: The name of its configuration, without `Config`.
        names: By a size, the names of it in the configuration.
        more: What else the configuration says.
        spare: Rows of the table of positions that no token uses.
    """

    config: str
    names: Mapping[str, str]
    more: Mapping[str, Any]
    spare: int = 0


CAUSAL = {
    "gpt2": Family("GPT2", _GPT2, _MARKS),
    "gpt-neo": Family(
        "GPTNeo",
        {**_STACK, "layers": "num_layers", "heads": "num_heads"},
        {**_MARKS, "attention_types": [[["global", "local"], 1]], "window_size": 4},
    ),
    "gpt-neox": Family("GPTNeoX", _STACK, _MARKS),
    "gpt-j": Family("GPTJ", _GPT2, {**_MARKS, "rotary_dim": 4}),
    "opt": Family("OPT", {**_STACK, "width": "hidden_size word_embed_proj_dim", "forward": "ffn_dim"}, _MARKS),
    "phi": Family("Phi", _STACK, _GROUPED),
    "phi-3": Family("Phi3", _STACK, _GROUPED),
    "llama": Family("Llama", _STACK, _GROUPED),
    "mistral": Family("Mistral", _STACK, {**_GROUPED, "sliding_window": None}),
    "qwen2": Family("Qwen2", _STACK, _GROUPED),
    "qwen3": Family("Qwen3", _STACK, _WIDE),
    "gemma2": Family("Gemma2", _STACK, _SLIDING),
    "gemma3": Family("Gemma3Text", _STACK, _SLIDING),
    "smollm3": Family("SmolLM3", _STACK, _GROUPED),
    "granite": Family("Granite", _STACK, _GROUPED),
    "stablelm": Family("StableLm", _STACK, _GROUPED),
    "starcoder2": Family("Starcoder2", _STACK, _GROUPED),
    "cohere": Family("Cohere", _STACK, _GROUPED),
    "olmo2": Family("Olmo2", _STACK, _GROUPED),
    "bloom": Family("Bloom", {"layers": "n_layer", "heads": "n_head", "width": "hidden_size"}, _MARKS),
    "falcon": Family("Falcon", _STACK, {**_MARKS, "new_decoder_architecture": True, "num_kv_heads": 2}),
}
SEQ2SEQ = {
    "marian": Family("Marian", _TWO_STACKS, {**_STARTS, "activation_function": "gelu"}),
    "bart": Family("Bart", _TWO_STACKS, _STARTS),
    "mbart": Family("MBart", _TWO_STACKS, _STARTS),
    "pegasus": Family("Pegasus", _TWO_STACKS, _STARTS),
    "m2m100": Family("M2M100", _TWO_STACKS, {**_STARTS, "activation_function": "gelu"}),
    "t5": Family("T5", _T5, {**_STARTS_T5, **_BUCKETS}),
    "flan-t5": Family(
        "T5",
        _T5,
        {**_STARTS_T5, **_BUCKETS, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    "mt5": Family("MT5", _T5, {**_STARTS_T5, **_BUCKETS}),
    "umt5": Family("UMT5", _T5, {**_STARTS_T5, **_BUCKETS}),
}
CLASSIFIERS = {
    "bert": Family("Bert", _STACK, {**_MARKS, **_STILL}),
    "electra": Family("Electra", _STACK, {**_MARKS, **_STILL, "embedding_size": 8}),
    "distilbert": Family(
        "DistilBert", _DISTIL, {**_MARKS, "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0}
    ),
    "roberta": Family("Roberta", _STACK, {**_LIKE_ROBERTA, **_STILL}, spare=2),
    "camembert": Family("Camembert", _STACK, {**_LIKE_ROBERTA, **_STILL}, spare=2),
    "xlm-roberta": Family("XLMRoberta", _STACK, {**_LIKE_ROBERTA, **_STILL}, spare=2),
    # as in DeBERTa v3: positions share the query and key projections
    "deberta-v3": Family(
        "DebertaV2",
        _STACK,
        {**_BUCKETED, "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False},
    ),
    # as in the first DeBERTa v2: positions have projections of their own, and a convolution follows layer 1
    "deberta-v2": Family("DebertaV2", _STACK, {**_BUCKETED, "conv_kernel_size": 3}),
    "deberta": Family("Deberta", _STACK, {**_DEBERTA, "pos_att_type": ["c2p", "p2c"]}),
    "albert": Family("Albert", _STACK, {**_MARKS, **_STILL, "embedding_size": 8}),
    "albert-groups": Family(
        "Albert",
        {**_STACK, "layers": "num_hidden_groups"},
        {**_MARKS, **_STILL, "embedding_size": 8, "num_hidden_layers": 3, "inner_group_num": 2},
    ),
    "mpnet": Family("MPNet", _STACK, {**_LIKE_ROBERTA, **_STILL}, spare=2),
    "modernbert": Family(
        "ModernBert",
        _STACK,
        {**_MARKS, "cls_token_id": 1, "sep_token_id": 2, "global_attn_every_n_layers": 2, "local_attention": 8},
    ),
}
FAMILIES = {**CAUSAL, **SEQ2SEQ, **CLASSIFIERS}
TASKS = {
    **dict.fromkeys(CAUSAL, "AutoModelForCausalLM"),
    **dict.fromkeys(SEQ2SEQ, "AutoModelForSeq2SeqLM"),
    **dict.fromkeys(CLASSIFIERS, "AutoModelForSequenceClassification"),
}

MASKED_ONLY = {"olmo2": "normalised over all heads", "bloom": "position bias", "mpnet": "position bias"}
EAGER_ONLY = ("bloom", "gemma2", "gpt-neo", "gpt-j", "deberta", "deberta-v2", "deberta-v3", "mpnet")
ATTENTIONS = [
    *((family, "eager") for family in ("bert", "roberta", "distilbert", "electra", "deberta-v2", "deberta-v3")),
    *((family, "sdpa") for family in ("bert", "roberta", "distilbert", "electra")),
]
"""Families of classifiers whose heads can be gated and removed, with the backends of their attention."""


def configure(
    family: str,
    *,
    layers: int = 2,
    heads: int = 6,
    width: int = 24,
    forward: int = 16,
    positions: int = 64,
    tokens: int = 30,
    **changes: Any,
) -> PretrainedConfig:
    """Return the configuration of a model of a family and of these sizes, with what else it may say."""
    known = FAMILIES[family]
    sizes = {"layers": layers, "heads": heads, "width": width, "forward": forward, "head": width // heads}
    sizes["positions"] = positions + known.spare
    named = {name: sizes[size] for size, names in known.names.items() for name in names.split()}
    config: type[PretrainedConfig] = getattr(transformers, f"{known.config}Config")
    return config(**{"vocab_size": tokens, **named, **known.more, **changes})


def build(family: str, config: PretrainedConfig, *, attention: str = "sdpa", seed: int = 0) -> PreTrainedModel:
    """Return a model in eval mode with its initial weights, the same on every call."""
    torch.manual_seed(seed)
    model: PreTrainedModel = getattr(transformers, TASKS[family]).from_config(config, attn_implementation=attention)
    return model.eval()


def best_attention(family: str) -> str:
    """Return `sdpa`, or `eager` for a family that has nothing else."""
    return "eager" if family in EAGER_ONLY else "sdpa"


TOKENS = torch.tensor([[3, 11, 4, 15, 5, 9], [9, 12, 6, 5, 0, 0]])
MASK = (TOKENS != 0).long()


def build_small(family: str, attention: str | None = None, scale: float = 0.15) -> PreTrainedModel:
    """Return a model in eval mode whose weights and biases are drawn so large that every head matters."""
    model: Any = build(family, configure(family), attention=attention or best_attention(family), seed=3)
    computed = model._keys_to_ignore_on_save or ()  # Marian's positions
    for name, weight in model.named_parameters():
        if name in computed:
            continue
        weight.data.normal_(mean=1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, std=scale)
    return model.requires_grad_(False)


def inputs_of(family: str) -> dict[str, torch.Tensor]:
    """Return the inputs of a pass."""
    inputs = {"input_ids": TOKENS, "attention_mask": MASK}
    return inputs | ({"decoder_input_ids": TOKENS.flip(0) + 1} if family in SEQ2SEQ else {})


def prompt_of(family: str) -> dict[str, torch.Tensor] | None:
    """Return the inputs of a generation, with padding on the left for a decoder; None for a classifier."""
    if family in CLASSIFIERS:
        return None
    if family in SEQ2SEQ:
        return {"input_ids": TOKENS, "attention_mask": MASK}
    return {"input_ids": TOKENS.flip(1), "attention_mask": MASK.flip(1)}


@torch.no_grad()
def spread(model: nn.Module, *, seed: int = 2, biases: float = 0.05) -> None:
    """Add noise to all weights but those of normalisation: every head then matters to every output."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "norm" not in name.lower():
            size = 0.3 if parameter.dim() == 2 else biases
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))


Loaded = TypeVar("Loaded", bound=HeadModel[Any])


def copied(model: Loaded) -> Loaded:
    """Return a copy of a loaded model, with gates of its own: much faster than to load it again."""
    found = copy.deepcopy(model, {id(tokenizer): tokenizer for tokenizer in [getattr(model, "tokenizer", None)]})
    for live in found.live_sites:
        live.output._forward_pre_hooks.clear()  # those of the gates of the other one
    found.gates = Gates(sites=found.live_sites)
    return found


# Classifiers.

WORDS = ("the", "a", "dog", "cat", "child", "sees", "hears", "follows", "old", "small", "green", "not", "and", "today")


def write_encoder(
    directory: Path,
    family: str = "bert",
    *,
    positions: int = 40,
    words: Sequence[str] = WORDS,
    lively: bool = True,
    head: bool = True,
    **sizes: Any,
) -> Path:
    """Write a random classifier and its tokenizer, the same on every call.

    Args:
        directory: Where to write it.
        family: One of `CLASSIFIERS`.
        positions: Longest input in tokens.
        words: Words that are one token each; any other word is split into letters.
        lively: Whether the weights are large, so that every head matters, instead of as they are initialised.
        head: Whether there is a classification head, instead of the bare encoder.
        sizes: Those of `toy_configuration`.

    Returns:
        The directory.
    """
    tokenizer = toy_tokenizer(family, words=words, longest=positions)
    configuration = toy_configuration(family, positions=positions, tokens=len(tokenizer), **sizes)
    model: Any = toy_model(configuration, lively=lively)
    (model if head else model.base_model).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def write_masked(directory: Path, family: str = "bert", **more: Any) -> Path:
    """Write a random masked language model and the tokenizer of `write_encoder`, and return the directory."""
    tokenizer = toy_tokenizer(family)
    configuration = toy_configuration(family, tokens=len(tokenizer), **more)
    torch.manual_seed(0)
    model: Any = transformers.AutoModelForMaskedLM.from_config(configuration)
    spread(model)
    model.save_pretrained(directory)
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
    tokens: int = 64,
) -> PretrainedConfig:
    """Return the configuration of a classifier of this shape, without dropout."""
    sizes = {"layers": layers, "heads": heads, "width": width, "forward": 2 * width}
    known: dict[str, Any] = {
        "id2label": dict(enumerate(labels)),
        "label2id": {label: index for index, label in enumerate(labels)},
    }
    return configure(family, **sizes, positions=positions, tokens=tokens, **known)


def toy_model(configuration: Any, *, lively: bool = True, attention: str = "eager") -> PreTrainedModel:
    """Return a classifier with random weights, in eval mode, the same on every call."""
    model = build("bert", configuration, attention=attention)
    if lively:
        spread(model, biases=0.1)
    return model


def toy_tokenizer(family: str, *, words: Sequence[str] = WORDS, longest: int = 40) -> PreTrainedTokenizerFast:
    """Return a WordPiece tokenizer that knows these words and single letters, with the family's special tokens."""
    letters = [*ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase), ".", ","]
    known = list(dict.fromkeys([*letters, *words]))
    if not FAMILIES[family].spare:
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
        vocabulary = {token: index for index, token in enumerate(tokens)}
        return BertTokenizer(vocab=vocabulary, model_max_length=longest)
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *known]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    marks = {"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>", **_PLAIN_MARKS}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest, **marks)


def toy_text(*, pairs: bool = True, examples: int = 12, labels: Sequence[str] = ("no", "yes")) -> LabelledText:
    """Return sentences of different lengths with words from `WORDS`, and labels in turn."""
    first = [" ".join(WORDS[(3 * row + place) % len(WORDS)] for place in range(2 + row % 5)) for row in range(examples)]
    second = [
        " ".join(WORDS[(5 * row + place) % len(WORDS)] for place in range(1 + row % 4)) for row in range(examples)
    ]
    return LabelledText(first, second if pairs else None, [labels[row % len(labels)] for row in range(examples)])


HOPS, STATES, ATTENTION, UNITS = 4, 6, 5, 7
"""Heads; width of the LSTM's states, both directions; hidden units of the attention; the layer that reads z."""

INPUTS = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 10, 3], [2, 9, 3, 0, 0, 0], [2, 11, 12, 3, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]]),
}
"""Three examples, two of them padded."""


def self_attentive_configuration(tokens: int = 64, **changes: Any) -> SelfAttentiveConfig:
    """Return the configuration of a classifier of this shape into `no` and `yes`, without dropout."""
    shape: dict[str, Any] = {"embedding_size": 8, "hidden_size": STATES // 2, "attention_size": ATTENTION}
    shape |= {"num_attention_heads": HOPS, "fully_connected_size": UNITS, "dropout": 0.0}
    labels = {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
    return SelfAttentiveConfig(**{"vocab_size": tokens, **shape, **labels, **changes})


def write_self_attentive(directory: Path, **changes: Any) -> Path:
    """Write a random classifier and its tokenizer, the same on every call, and return the directory."""
    tokenizer = toy_tokenizer("bert")
    toy_model(self_attentive_configuration(len(tokenizer), **changes)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


# Encoder-decoders.

SOURCES = ["the old red house", "a small dog sees many birds near that tree", "one", "green green tree and dog"]
TARGETS = ["one two three", "four five", "six seven eight nine ten", "two"]
_PLAIN_MARKS = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def _learn_tokens() -> Tokenizer:
    """Return byte-pair tokens with SentencePiece's mark of a space, and an end mark after every sentence."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=90, special_tokens=[*_PLAIN_MARKS.values()], show_progress=False)
    made.train_from_iterator([" ".join([*SOURCES, *TARGETS])], trainer)
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return made


def plain_tokenizer() -> PreTrainedTokenizerBase:
    """Return a tokenizer of byte-pair tokens."""
    return PreTrainedTokenizerFast(tokenizer_object=_learn_tokens(), **_PLAIN_MARKS, model_max_length=64)


def _bart_tokenizer() -> PreTrainedTokenizerBase:
    """Return one that gives the first token of every translation, as BART's."""
    tokenizer = plain_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def _t5_tokenizer() -> PreTrainedTokenizerBase:
    tokenizer = plain_tokenizer()
    set_languages(tokenizer, prefix="see: ")
    return tokenizer


def _nllb_tokenizer() -> PreTrainedTokenizerBase:
    learned = json.loads(_learn_tokens().to_str())["model"]
    tokenizer = NllbTokenizer(vocab=learned["vocab"], merges=[tuple(one) for one in learned["merges"]])
    tokenizer.model_max_length = 64
    set_languages(tokenizer, source_code="eng_Latn", target_code="deu_Latn")
    return tokenizer


def _m2m100_tokenizer(place: Path) -> PreTrainedTokenizerBase:
    """Return a tokenizer that runs SentencePiece itself."""
    text, tokens = place / "text.txt", place / "tokens"
    text.write_text("\n".join([*SOURCES, *TARGETS]), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tokens), vocab_size=60, model_type="bpe", minloglevel=2
    )
    learned = sentencepiece.SentencePieceProcessor(model_file=f"{tokens}.model")
    own = [learned.id_to_piece(index) for index in range(len(learned))]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys([*_PLAIN_MARKS.values(), *own]))}
    (place / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    tokenizer = M2M100Tokenizer(str(place / "vocab.json"), f"{tokens}.model", model_max_length=64)
    set_languages(tokenizer, source_code="en", target_code="de")
    return tokenizer


def _mbart_tokenizer() -> PreTrainedTokenizerBase:
    """Return a tokenizer whose code of the target language starts the decoder."""
    learned = _learn_tokens().get_vocab()
    tokens = [(token, -float(index)) for token, index in sorted(learned.items(), key=lambda item: item[1])]
    tokenizer = MBartTokenizer(vocab=tokens)
    tokenizer.model_max_length = 64
    set_languages(tokenizer, source_code="en_XX", target_code="de_DE")
    return tokenizer


TRANSLATORS = ("marian", "bart", "pegasus", "t5", "nllb", "m2m100", "mbart")
_OWN_TOKENIZERS = {"bart": _bart_tokenizer, "t5": _t5_tokenizer, "nllb": _nllb_tokenizer, "mbart": _mbart_tokenizer}


def write_translator(directory: Path, family: str, *, seed: int = 1, **configured: Any) -> Path:
    """Write a model in the Hub's format, with weights spread so that every head matters, configured as is said."""
    directory.mkdir(parents=True, exist_ok=True)
    parts = directory.parent / f"{directory.name}.parts"
    parts.mkdir()
    tokenizer: Any = _m2m100_tokenizer(parts) if family == "m2m100" else _OWN_TOKENIZERS.get(family, plain_tokenizer)()
    said = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "tokens": len(tokenizer)}
    if family in ("marian", "pegasus", "t5"):
        said |= {"decoder_start_token_id": 1}
    if family == "marian":
        said |= {"decoder_vocab_size": len(tokenizer)}
    if family == "m2m100":
        said |= {"tokens": len(tokenizer) + len(tokenizer.lang_code_to_id) + tokenizer.num_madeup_words}
    known = "m2m100" if family == "nllb" else family
    model: Any = build(known, configure(known, heads=4, width=16, **{**said, **configured}), seed=seed)
    if family == "bart":
        model.generation_config.forced_bos_token_id = 0
    spread(model)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def load_translator(directory: Path, **how: Any) -> Seq2SeqModel:
    """Load a model that was written so."""
    return Seq2SeqModel.load(directory, "cpu", **how)


# Decoders.


def write_decoder(directory: Path, model: Any = LlamaForCausalLM, config: Any = LlamaConfig, **more: Any) -> Path:
    """Write a decoder in the Hub's format, with weights spread so that every head matters."""
    said = {"vocab_size": 100, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 6}
    said |= {"intermediate_size": 16, "max_position_embeddings": 200}
    torch.manual_seed(1)
    made: PreTrainedModel = model(config(**{**said, "bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, **more}))
    spread(made)
    made.save_pretrained(directory)
    plain_tokenizer().save_pretrained(directory)
    return directory


LETTERS = "abc"
STRINGS = [" ".join([*letters, ">", *sorted(letters)]) for letters in product(LETTERS, repeat=3)]
"""All inputs, each with its answer: `b a c > a b c`."""


def letter_tokenizer(letters: str = LETTERS, *, padding: str | None = "<pad>", **how: Any) -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token per letter; `padding` may be its end token `</s>`, or None."""
    vocabulary = {token: index for index, token in enumerate(["<pad>", "<s>", "</s>", ">", *letters])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = {"pad_token": padding, "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=words, **marks, model_max_length=32, **how)


def train_sorter() -> PreTrainedModel:
    """Return a decoder of 3 layers of 3 heads that sorts every string."""
    sizes = {"layers": 3, "heads": 3, "width": 24, "forward": 48, "positions": 32, "tokens": 7}
    model: Any = build("llama", configure("llama", **sizes, num_key_value_heads=3), seed=1).train()
    tokens = tokens_of_strings()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(400):
        optimiser.zero_grad()
        model(tokens, labels=tokens).loss.backward()
        optimiser.step()
    return model.eval().requires_grad_(False)


def tokens_of_strings() -> torch.Tensor:
    """Return the tokens of all strings, (27, 7)."""
    return letter_tokenizer()(STRINGS, return_tensors="pt")["input_ids"]


def write_language_model(
    directory: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    sites: list[AttentionSite] | None = None,
) -> Path:
    """Write a model as a checkpoint of a run."""
    save_model(directory, model=model, sites=sites or find_sites(model), tokenizer=tokenizer, card=[])
    return directory


def write_documents(directory: Path, documents: list[str]) -> Path:
    """Write documents as each set of a corpus."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("choose", "check", "test"):
        (directory / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in documents))
    return directory
