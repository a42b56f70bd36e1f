"""Tiny encoder-decoders of transformers with random weights, and real tokenizers, for tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from headroom.engines.hub import installed  # noqa: F401
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.engines.hub.seq2seq.text import set_languages
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from toy_run import spread
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
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
    sides = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in _SHAPE.items()}
    marks = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": start}
    other = {"d_model": 16, "max_position_embeddings": 64, "forced_eos_token_id": None}
    return {"vocab_size": len(tokenizer), **sides, **marks, **other, **more}


_SHAPE = {"layers": 2, "attention_heads": 4, "ffn_dim": 16}


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


FAMILIES: dict[str, Callable[..., Made]] = {
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
    model, tokenizer = FAMILIES[family](parts, **configured)
    spread(model)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def load_translator(directory: Path, **how: Any) -> Seq2SeqModel:
    """Load a model that was written so."""
    return Seq2SeqModel.load(directory, "cpu", **how)
