"""Small models of transformers with random weights, one of every family."""

import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import sentencepiece
import torch
import transformers
from headroom.data.labelled import LabelledText
from headroom.engines.hub import installed  # noqa: F401
from headroom.engines.hub.checkpoint import save_model
from headroom.engines.hub.self_attentive import SelfAttentiveConfig
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.engines.hub.seq2seq.text import set_languages
from headroom.engines.hub.sites import find_sites
from headroom.engines.sites import AttentionSite
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    NllbTokenizer,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

_SIZES = {
    "vocab_size": 30,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "intermediate_size": 16,
}
_DECODER = {**_SIZES, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 64}
_GROUPED = {**_DECODER, "num_key_value_heads": 2}
_WIDE = {**_GROUPED, "head_dim": 8}
_TWO_STACKS = {
    "vocab_size": 30,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 6,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "activation_function": "gelu",
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}
_T5 = {
    "vocab_size": 30,
    "d_model": 24,
    "d_kv": 4,
    "d_ff": 16,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 6,
    "pad_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
}

CAUSAL = {
    "gpt2": transformers.GPT2Config(
        vocab_size=30, n_embd=24, n_layer=2, n_head=6, n_inner=16, n_positions=64, bos_token_id=1, eos_token_id=2
    ),
    "gpt-neo": transformers.GPTNeoConfig(
        vocab_size=30,
        hidden_size=24,
        num_layers=2,
        num_heads=6,
        attention_types=[[["global", "local"], 1]],
        max_position_embeddings=64,
        window_size=4,
        bos_token_id=1,
        eos_token_id=2,
    ),
    "gpt-neox": transformers.GPTNeoXConfig(**_DECODER),
    "gpt-j": transformers.GPTJConfig(
        vocab_size=30,
        n_embd=24,
        n_layer=2,
        n_head=6,
        n_inner=16,
        rotary_dim=4,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=2,
    ),
    "opt": transformers.OPTConfig(**{**_DECODER, "ffn_dim": 16, "word_embed_proj_dim": 24}),
    "phi": transformers.PhiConfig(**_GROUPED),
    "phi-3": transformers.Phi3Config(**_GROUPED),
    "llama": transformers.LlamaConfig(**_GROUPED),
    "mistral": transformers.MistralConfig(**_GROUPED, sliding_window=None),
    "qwen2": transformers.Qwen2Config(**_GROUPED),
    "qwen3": transformers.Qwen3Config(**_WIDE),
    "gemma2": transformers.Gemma2Config(**_WIDE, layer_types=["sliding_attention", "full_attention"]),
    "gemma3": transformers.Gemma3TextConfig(**_WIDE, layer_types=["sliding_attention", "full_attention"]),
    "smollm3": transformers.SmolLM3Config(**_GROUPED),
    "granite": transformers.GraniteConfig(**_GROUPED),
    "stablelm": transformers.StableLmConfig(**_GROUPED),
    "starcoder2": transformers.Starcoder2Config(**_GROUPED),
    "cohere": transformers.CohereConfig(**_GROUPED),
    "olmo2": transformers.Olmo2Config(**_GROUPED),
    "bloom": transformers.BloomConfig(
        vocab_size=30, hidden_size=24, n_layer=2, n_head=6, bos_token_id=1, eos_token_id=2
    ),
    "falcon": transformers.FalconConfig(**_DECODER, new_decoder_architecture=True, num_kv_heads=2),
}
SEQ2SEQ = {
    "marian": transformers.MarianConfig(**_TWO_STACKS),
    "bart": transformers.BartConfig(**_TWO_STACKS),
    "mbart": transformers.MBartConfig(**_TWO_STACKS),
    "pegasus": transformers.PegasusConfig(**_TWO_STACKS),
    "m2m100": transformers.M2M100Config(**_TWO_STACKS),
    "t5": transformers.T5Config(**_T5),
    "flan-t5": transformers.T5Config(**_T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "mt5": transformers.MT5Config(**_T5),
    "umt5": transformers.UMT5Config(**_T5),
}
CLASSIFIERS = {
    "bert": transformers.BertConfig(**_DECODER),
    "modernbert": transformers.ModernBertConfig(
        **_DECODER, cls_token_id=1, sep_token_id=2, global_attn_every_n_layers=2, local_attention=8
    ),
    "deberta": transformers.DebertaConfig(**_DECODER, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta-v2": transformers.DebertaV2Config(**_DECODER, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "albert": transformers.AlbertConfig(**_DECODER, embedding_size=12),
    "albert-groups": transformers.AlbertConfig(
        **{**_DECODER, "num_hidden_layers": 3}, embedding_size=12, num_hidden_groups=2, inner_group_num=2
    ),
}
TASKS = {
    **dict.fromkeys(CAUSAL, "AutoModelForCausalLM"),
    **dict.fromkeys(SEQ2SEQ, "AutoModelForSeq2SeqLM"),
    **dict.fromkeys(CLASSIFIERS, "AutoModelForSequenceClassification"),
}
CONFIGURATIONS = {**CAUSAL, **SEQ2SEQ, **CLASSIFIERS}

REFUSED = {"falcon": "features of FalconAttention are not a multiple"}
MASKED_ONLY = {"olmo2": "normalised over all heads", "bloom": "position bias"}
EAGER_ONLY = ("bloom", "gemma2", "gpt-neo", "gpt-j", "deberta", "deberta-v2")

PIECES = torch.tensor([[3, 11, 4, 15, 5, 9], [9, 12, 6, 5, 0, 0]])
MASK = (PIECES != 0).long()


def build_small(family, attention="sdpa", scale=0.15):
    """Return a model in eval mode with weights large enough that every head matters."""
    torch.manual_seed(3)
    config = CONFIGURATIONS[family]
    model = getattr(transformers, TASKS[family]).from_config(config, attn_implementation=attention).eval()
    computed = model._keys_to_ignore_on_save or ()  # Marian's positions
    for name, weight in model.named_parameters():
        if name in computed:
            continue
        weight.data.normal_(mean=1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, std=scale)
    return model.requires_grad_(False)


def inputs_of(family):
    """Return the inputs of a pass."""
    inputs = {"input_ids": PIECES, "attention_mask": MASK}
    return inputs | ({"decoder_input_ids": PIECES.flip(0) + 1} if family in SEQ2SEQ else {})


def prompt_of(family):
    """Return the inputs of a generation, with padding on the left for a decoder; None for a classifier."""
    if family in CLASSIFIERS:
        return None
    if family in SEQ2SEQ:
        return {"input_ids": PIECES, "attention_mask": MASK}
    return {"input_ids": PIECES.flip(1), "attention_mask": MASK.flip(1)}


WORDS = ("the", "a", "dog", "cat", "child", "sees", "hears", "follows", "old", "small", "green", "not", "and", "today")

CLASSIFIER_FAMILIES: dict[str, Callable[..., Any]] = {
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
        family: One of `CLASSIFIER_FAMILIES`.
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
    return CLASSIFIER_FAMILIES[family](
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


HOPS, STATES, ATTENTION, UNITS = 4, 6, 5, 7
"""Heads; width of the LSTM's states, both directions; hidden units of the attention; the layer that reads z."""

INPUTS = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 10, 3], [2, 9, 3, 0, 0, 0], [2, 11, 12, 3, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]]),
}
"""Three examples, two of them padded."""


def self_attentive_configuration(pieces: int = 64, **changes: Any) -> SelfAttentiveConfig:
    """Return the configuration of a classifier of this shape into `no` and `yes`, without dropout."""
    shape = {"embedding_size": 8, "hidden_size": STATES // 2, "attention_size": ATTENTION}
    shape |= {"num_attention_heads": HOPS, "fully_connected_size": UNITS, "dropout": 0.0}
    labels = {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
    return SelfAttentiveConfig(**{"vocab_size": pieces, **shape, **labels, **changes})


def write_self_attentive(directory: Path, **changes: Any) -> Path:
    """Write a random classifier and its tokenizer, the same on every call, and return the directory."""
    tokenizer = toy_tokenizer("bert")
    toy_model(self_attentive_configuration(len(tokenizer), **changes)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


SOURCES = ["the old red house", "a small dog sees many birds near that tree", "one", "green green tree and dog"]
TARGETS = ["one two three", "four five", "six seven eight nine ten", "two"]
_WORDS = " ".join([*SOURCES, *TARGETS])
_MARKS = ["<s>", "<pad>", "</s>", "<unk>"]

Made = tuple[PreTrainedModel, PreTrainedTokenizerBase]


def _learn_pieces() -> Tokenizer:
    """Return byte-pair pieces with SentencePiece's mark of a space, and an end mark after every sentence."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.train_from_iterator([_WORDS], trainers.BpeTrainer(vocab_size=90, special_tokens=_MARKS, show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return made


def plain_tokenizer() -> PreTrainedTokenizerBase:
    marks = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=_learn_pieces(), **marks, model_max_length=64)


def _bart_like(tokenizer: PreTrainedTokenizerBase, start: int = 2, **more: Any) -> dict[str, Any]:
    sides = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in _TRANSLATOR_SHAPE.items()}
    marks = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": start}
    other = {"d_model": 16, "max_position_embeddings": 64, "forced_eos_token_id": None}
    return {"vocab_size": len(tokenizer), **sides, **marks, **other, **more}


_TRANSLATOR_SHAPE = {"layers": 2, "attention_heads": 4, "ffn_dim": 16}


def _marian(_: Path, **more: Any) -> Made:
    tokenizer = plain_tokenizer()
    shape = _bart_like(tokenizer, 1, decoder_vocab_size=len(tokenizer), **more)
    return MarianMTModel(MarianConfig(**shape)), tokenizer


def _bart(_: Path) -> Made:
    """Return a model of which the first piece of every translation is given, as of BART."""
    tokenizer = plain_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    model = BartForConditionalGeneration(BartConfig(**_bart_like(tokenizer)))
    model.generation_config.forced_bos_token_id = 0
    return model, tokenizer


def _pegasus(_: Path) -> Made:
    tokenizer = plain_tokenizer()
    return PegasusForConditionalGeneration(PegasusConfig(**_bart_like(tokenizer, 1))), tokenizer


def _t5(_: Path) -> Made:
    tokenizer = plain_tokenizer()
    shape = {"d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 4}
    marks = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    model = T5ForConditionalGeneration(T5Config(vocab_size=len(tokenizer), **shape, **marks))
    set_languages(tokenizer, prefix="see: ")
    return model, tokenizer


def _nllb(_: Path) -> Made:
    learned = json.loads(_learn_pieces().to_str())["model"]
    tokenizer = NllbTokenizer(vocab=learned["vocab"], merges=[tuple(one) for one in learned["merges"]])
    tokenizer.model_max_length = 64
    set_languages(tokenizer, source_code="eng_Latn", target_code="deu_Latn")
    return M2M100ForConditionalGeneration(M2M100Config(**_bart_like(tokenizer))), tokenizer


def _m2m100(place: Path) -> Made:
    """Return a model whose tokenizer runs SentencePiece itself."""
    text, pieces = place / "text.txt", place / "pieces"
    text.write_text("\n".join([*SOURCES, *TARGETS]), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(pieces), vocab_size=60, model_type="bpe", minloglevel=2
    )
    learned = sentencepiece.SentencePieceProcessor(model_file=f"{pieces}.model")
    own = [learned.id_to_piece(index) for index in range(len(learned))]
    vocabulary = {piece: index for index, piece in enumerate(dict.fromkeys([*_MARKS, *own]))}
    (place / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    tokenizer = M2M100Tokenizer(str(place / "vocab.json"), f"{pieces}.model", model_max_length=64)
    set_languages(tokenizer, source_code="en", target_code="de")
    size = {"vocab_size": len(tokenizer) + len(tokenizer.lang_code_to_id) + tokenizer.num_madeup_words}
    return M2M100ForConditionalGeneration(M2M100Config(**{**_bart_like(tokenizer), **size})), tokenizer


def _mbart(_: Path) -> Made:
    """Return a model whose code of the target language starts the decoder."""
    learned = _learn_pieces().get_vocab()
    pieces = [(piece, -float(index)) for piece, index in sorted(learned.items(), key=lambda item: item[1])]
    tokenizer = MBartTokenizer(vocab=pieces)
    tokenizer.model_max_length = 64
    set_languages(tokenizer, source_code="en_XX", target_code="de_DE")
    return MBartForConditionalGeneration(MBartConfig(**_bart_like(tokenizer))), tokenizer


TRANSLATORS: dict[str, Callable[..., Made]] = {
    "marian": _marian,
    "bart": _bart,
    "pegasus": _pegasus,
    "t5": _t5,
    "nllb": _nllb,
    "m2m100": _m2m100,
    "mbart": _mbart,
}


def write_translator(directory: Path, family: str, *, seed: int = 1, **configured: Any) -> Path:
    """Write a model in the Hub's format, with weights spread so that every head matters; a Marian may be configured."""
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    parts = directory.parent / f"{directory.name}.parts"
    parts.mkdir()
    model, tokenizer = TRANSLATORS[family](parts, **configured)
    spread(model)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def load_translator(directory: Path, **how: Any) -> Seq2SeqModel:
    """Load a model that was written so."""
    return Seq2SeqModel.load(directory, "cpu", **how)


LONGEST = 200
DECODER_SHAPE = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "intermediate_size": 16,
    "max_position_embeddings": LONGEST,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
}


def write_decoder(directory: Path, model: Any = LlamaForCausalLM, config: Any = LlamaConfig, **more: Any) -> Path:
    """Write a decoder in the Hub's format, with weights spread so that every head matters."""
    torch.manual_seed(1)
    made: PreTrainedModel = model(config(**{"vocab_size": 100, **DECODER_SHAPE, **more}))
    spread(made)
    made.save_pretrained(directory)
    plain_tokenizer().save_pretrained(directory)
    return directory


LETTERS = "abc"
STRINGS = [" ".join([*letters, ">", *sorted(letters)]) for letters in product(LETTERS, repeat=3)]
"""All inputs, each with its answer: `b a c > a b c`."""

SORTING_STEPS = 400


def letter_tokenizer(letters: str = LETTERS, *, padding: str | None = "<pad>", **how: Any) -> PreTrainedTokenizerFast:
    """Return a tokenizer with a piece per letter; `padding` may be its end piece `</s>`, or None."""
    vocabulary = {piece: index for index, piece in enumerate(["<pad>", "<s>", "</s>", ">", *letters])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = {"pad_token": padding, "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=words, **marks, model_max_length=32, **how)


def train_sorter() -> PreTrainedModel:
    """Return a decoder of 3 layers of 3 heads that sorts every string."""
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=7,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=48,
        max_position_embeddings=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    pieces = pieces_of_strings()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(SORTING_STEPS):
        optimiser.zero_grad()
        model(pieces, labels=pieces).loss.backward()
        optimiser.step()
    return model.eval().requires_grad_(False)


def pieces_of_strings() -> torch.Tensor:
    """Return the pieces of all strings, (27, 7)."""
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


@torch.no_grad()
def spread(model: nn.Module, *, seed: int = 2) -> None:
    """Add noise to the weights of a barely trained model: every head then matters to every output."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "layer_norm" not in name:
            size = 0.3 if parameter.dim() == 2 else 0.05
            parameter += size * torch.randn(parameter.shape, generator=generator)
