"""Sentences as a translation model reads and writes them: tokens, codes of languages, a prefix."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError
from headroom.data.subwords import piece_spans
from headroom.models.sites import Spans

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizer

from headroom.data.subwords import CODES, MOSES, load_subwords

PREFIX = "prefix"
"""The setting of a tokenizer with the text before every source sentence; it is written with the tokenizer."""

_SPACE, _UNKNOWN = "▁", " ⁇ "


def set_languages(
    tokenizer: PreTrainedTokenizerBase,
    *,
    source_code: str | None = None,
    target_code: str | None = None,
    prefix: str | None = None,
) -> None:
    """Set what a tokenizer writes around sentences; it is kept with the tokenizer's files.

    Args:
        tokenizer: That of a translation model.
        source_code: The code of the source language, for a model of many languages.
        target_code: That of the target language.
        prefix: The text before every source sentence.

    Raises:
        HeadroomError: If codes are missing, unknown, or given for a model without them.
    """
    codes = {"source_code": source_code, "target_code": target_code}
    multilingual = hasattr(tokenizer, "src_lang")
    for key, code in codes.items():
        if code is None and multilingual:
            raise HeadroomError(f"released.{key}: missing, the model is of many languages; give the code of one")
        if code is not None and not multilingual:
            raise HeadroomError(f"released.{key}: the model's tokenizer has no codes of languages; leave it out")
        if code is not None and _find_code(tokenizer, code) is None:
            raise HeadroomError(f"released.{key}: the model's tokenizer has no code {code}; see its model card")
    kept = {"src_lang": source_code, "tgt_lang": target_code} if multilingual else {}
    for name, code in kept.items():
        setattr(tokenizer, name, code)
    tokenizer.init_kwargs.update({**kept, PREFIX: prefix or ""})


def _find_code(tokenizer: Any, code: str) -> int | None:
    """Return the token of a language's code, None if there is none."""
    try:
        token = getattr(tokenizer, "get_lang_id", tokenizer.convert_tokens_to_ids)(code)
    except KeyError:
        return None
    return None if token in (None, tokenizer.unk_token_id) else int(token)


class PairText:
    """The two languages of a translation model, as tokens by index.

    Attributes:
        begin: What the decoder reads before the first token that it predicts: the start mark, the target's code.
        end: The end mark.
        special: Tokens with a special meaning, among them padding and codes of languages.
        longest: The maximum number of tokens of a sentence; longer ones are truncated.
        prefixed: The number of ordinary tokens of the prefix, with which every source begins.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, longest: int) -> None:
        self._tokenizer = tokenizer
        self._prefix = str(tokenizer.init_kwargs.get(PREFIX, ""))
        self.longest = longest
        self.end = _known(tokenizer.eos_token_id, model, "end")
        self.begin = self._find_begin(model)
        marks = {*tokenizer.all_special_ids, *self.begin, self.end, *self._encode([""])[0]}
        self.special = sorted(marks - {tokenizer.unk_token_id})
        before = self._prefix.rstrip()  # of a space at its end no token is left before a sentence
        self.prefixed = len(self._encode([before], add_special_tokens=False)[0])
        self._room = longest - len(self._encode([before])[0])  # for the tokens of a source
        self._joined = lru_cache(maxsize=2**16)(self._join)  # most translations recur many times

    def _find_begin(self, model: PreTrainedModel) -> list[int]:
        generation, config = model.generation_config, model.config
        found = (getattr(one, "decoder_start_token_id", None) for one in (generation, config))
        begins = [token for token in (*found, self._tokenizer.bos_token_id) if token is not None]
        start = _known(begins[0] if begins else None, model, "start")
        language = getattr(self._tokenizer, "tgt_lang", None)
        if language is None:
            forced = generation.forced_bos_token_id
            return [start] if forced is None else [start, int(forced)]
        code = _find_code(self._tokenizer, language)
        assert code is not None  # by `set_languages`
        return [code] if self._write([""])[0][-1] == code else [start, code]

    def read(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the tokens of source sentences, with all marks."""
        return self._encode([self._prefix + sentence for sentence in sentences])

    def write(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the tokens of target sentences that the decoder predicts after `begin`, with the end mark."""
        rows = self._write(sentences)
        code = self.begin[-1]
        if len(self.begin) == 1:
            return [row[:-1] if row[-1:] == [code] and code != self.end else row for row in rows]
        return [row[1:] if row[:1] == [code] else row for row in rows]

    def count_cut(self, sources: Sequence[str], targets: Sequence[str]) -> int:
        """Return the number of pairs with a side of more tokens than `longest`."""
        long = [pair for pair in zip(sources, targets, strict=True) if len("".join(pair).encode()) > self.longest // 2]
        if not long:
            return 0
        first, second = zip(*long, strict=True)
        read: Any = self._tokenizer(self._clean([self._prefix + sentence for sentence in first]), verbose=False)
        write: Any = self._tokenizer(text_target=self._clean(second), verbose=False)
        rows = zip(read["input_ids"], write["input_ids"], strict=True)
        return sum(max(map(len, pair)) > self.longest for pair in rows)

    def texts(self, rows: Iterable[Sequence[int]]) -> list[str]:
        """Return translations as plain text."""
        return [self._joined(tuple(row)) for row in rows]

    def spans(self, sentences: Sequence[str]) -> list[Spans]:
        """Return for each source sentence where its ordinary tokens are in the plain text.

        Raises:
            HeadroomError: If the tokens cannot be found in it.
        """
        if not self._tokenizer.is_fast:  # it runs SentencePiece, whose tokens mark spaces
            pairs = zip(sentences, self._clean(sentences))
            return [piece_spans(self._tokenizer.tokenize(clean)[: self._room], text) for text, clean in pairs]
        options = {"add_special_tokens": False, "truncation": True, "max_length": self._room}
        encoded: Any = self._tokenizer(list(sentences), return_offsets_mapping=True, **options)
        rows = zip(
            sentences, map(self._tokenizer.convert_ids_to_tokens, encoded["input_ids"]), encoded["offset_mapping"]
        )
        return [[_trim(text, token, *span) for token, span in zip(tokens, spans)] for text, tokens, spans in rows]

    def _encode(self, sentences: Sequence[str], **options: Any) -> list[list[int]]:
        encoded: Any = self._tokenizer(self._clean(sentences), truncation=True, max_length=self.longest, **options)
        return list(encoded["input_ids"])

    def _write(self, sentences: Sequence[str]) -> list[list[int]]:
        encoded: Any = self._tokenizer(text_target=self._clean(sentences), truncation=True, max_length=self.longest)
        return list(encoded["input_ids"])

    def _clean(self, sentences: Sequence[str]) -> list[str]:
        """Return sentences; for SentencePiece with single spaces for any white space, as fairseq reads them."""
        return list(sentences) if self._tokenizer.is_fast else [" ".join(sentence.split()) for sentence in sentences]

    def _join(self, row: tuple[int, ...]) -> str:
        """Return the text of tokens, with SentencePiece's sign for unknown ones."""
        parts: list[list[int]] = [[]]
        for token in row:
            if token == self._tokenizer.unk_token_id:
                parts.append([])
            else:
                parts[-1].append(token)
        return _UNKNOWN.join(str(self._tokenizer.decode(part, skip_special_tokens=True)) for part in parts)


def _trim(text: str, token: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a token without spaces at its start; that of a mark of a space is empty."""
    start = end - len(text[start:end].lstrip())
    return (start, start) if token == _SPACE else (start, end)


def _known(token: int | None, model: PreTrainedModel, mark: str) -> int:
    if token is None:
        raise HeadroomError(f"{type(model).__name__}: no {mark} mark; add it to generation_config.json")
    return int(token)


class MosesTokenizer(PreTrainedTokenizer):
    """Tokens of two languages; `text_target` is of the second one."""

    vocab_files_names = {"vocab": "vocab.json", "target_vocab": "target_vocab.json", "moses": MOSES, "bpecodes": CODES}  # noqa: RUF012
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(
        self,
        vocab: Path | str,
        target_vocab: Path | str,
        codes: Path | str | None = None,
        moses: Path | str | None = None,
        bpecodes: Path | str | None = None,
        **options: Any,
    ) -> None:
        """Read dictionaries and codes.

        Args:
            vocab: Indices of the source's tokens, JSON.
            target_vocab: Those of the target's.
            codes: The directory of the codes and their settings; None for that of `moses`.
            moses: The settings, in the directory of a saved tokenizer.
            bpecodes: The codes beside them.
            options: Those of transformers.
        """
        del bpecodes  # its name is fixed
        self._directory = Path(codes) if codes else Path(str(moses)).parent
        self._languages = load_subwords(self._directory)
        self._indices = [json.loads(Path(file).read_text("utf-8")) for file in (vocab, target_vocab)]
        self._tokens = [{index: token for token, index in own.items()} for own in self._indices]
        self._side = 0
        marks = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
        super().__init__(**{**marks, **options})

    @property
    def vocab_size(self) -> int:
        """The number of source tokens."""
        return len(self._indices[0])

    def get_vocab(self) -> dict[str, int]:
        """Return the indices of the present language's tokens."""
        return dict(self._indices[self._side])

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return self._languages[self._side].encode(text)

    def _convert_token_to_id(self, token: str) -> int:
        own = self._indices[self._side]
        return int(own.get(token, own["<unk>"]))

    def _convert_id_to_token(self, index: int) -> str:
        return str(self._tokens[1].get(index, "<unk>"))  # what is decoded are translations

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the plain text of tokens of the target."""
        return self._languages[1].decode(tokens)

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the tokens of a sentence with the end mark."""
        return [*token_ids_0, *(token_ids_1 or []), self.eos_token_id]

    def _switch_to_input_mode(self) -> None:
        self._side = 0

    def _switch_to_target_mode(self) -> None:
        self._side = 1

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write the dictionaries, the codes and their settings; return their paths."""
        del filename_prefix  # transformers gives none
        found = [Path(save_directory, name) for name in self.vocab_files_names.values()]
        for file, own in zip(found, self._indices):
            file.write_text(json.dumps(own), "utf-8")
        for file in found[2:]:
            if not file.exists() or not file.samefile(self._directory / file.name):
                shutil.copyfile(self._directory / file.name, file)
        return tuple(map(str, found))


class _NoModel(PreTrainedConfig):
    """A configuration of no model: with it transformers keeps the tokenizer's class, which files name."""


AutoTokenizer.register(_NoModel, slow_tokenizer_class=MosesTokenizer)
