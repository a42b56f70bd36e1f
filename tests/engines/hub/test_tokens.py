"""The tokens that a model reads are those that it was trained on."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.models.checkpoint import TAG, read_tokenizer, save_model
from headroom.models.find_sites import find_sites
from models import build_small, write_translator
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

_LINES = ["The year 12345 was 3.50 good!! it's", "In 2024, x_y() {}", "naïve   two  spaces The Paris is Good ."]

_TYPES = (
    *("gpt2", "gpt_neo", "gptj", "gpt_neox", "opt", "phi", "phi3", "llama", "mistral", "qwen2", "qwen3", "gemma2"),
    *("gemma3_text", "smollm3", "granite", "stablelm", "starcoder2", "cohere", "roberta", "bart"),
)
_CLASSES = (
    *(None, "PreTrainedTokenizerFast", "GPT2Tokenizer", "GPT2TokenizerFast", "Qwen2TokenizerFast"),
    *("GPTNeoXTokenizerFast", "RobertaTokenizer", "LlamaTokenizerFast", "TokenizersBackend", "CodeGenTokenizerFast"),
)
_COMBINED = list(product(_TYPES, _CLASSES))
_FEW = [("qwen2", "PreTrainedTokenizerFast"), ("llama", "GPT2Tokenizer"), ("roberta", "RobertaTokenizer")]


@cache
def _bytes() -> Tokenizer:
    """Return byte-level tokens whose pre-tokenizer is that of no class of transformers."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}|[^\s\p{L}\p{N}]+|\p{L}+|\s+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>", "<unk>", "<mask>", "<|endoftext|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([*_LINES, "1 2 12 34 1234 2024"] * 20, trainer)
    return made


def _cased() -> Tokenizer:
    """Return words with and without a capital."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "The", "the", "Paris", "is", "good", "Good", "naïve", "."]
    made = Tokenizer(models.WordPiece({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def _unigram() -> Tokenizer:
    """Return tokens of SentencePiece, with capitals and accents."""
    words = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "▁The", "▁the", "▁Paris", "▁naïve", "▁naive", "▁is", "▁"]
    made = Tokenizer(models.Unigram([(word, -float(place)) for place, word in enumerate(words)], unk_id=1))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return made


def _write(place: Path, tokenizer: Tokenizer, kind: str, **said: object) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.json").write_text(json.dumps({"model_type": kind}))
    (place / "tokenizer_config.json").write_text(json.dumps({name: own for name, own in said.items() if own}))
    tokenizer.save(str(place / "tokenizer.json"))
    return place


def _differing(place: Path) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the tokens of lines that are not those of tokenizer.json."""
    filed, read = Tokenizer.from_file(str(place / "tokenizer.json")), read_tokenizer(place)
    for line in _LINES:
        if (found := read(line)["input_ids"]) != filed.encode(line).ids:
            yield found, filed.encode(line).ids


_MARKS = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


@pytest.mark.parametrize("combined", [_FEW, pytest.param(_COMBINED, marks=pytest.mark.long)], ids=["few", "all"])
def test_tokens_are_those_of_the_file_whatever_class_is_named(combined, tmp_path):
    places = [
        _write(tmp_path / f"{kind}-{named}", _bytes(), kind, tokenizer_class=named, **_MARKS)
        for kind, named in combined
    ]
    assert {place.name: found for place in places if (found := list(_differing(place)))} == {}


@pytest.mark.parametrize(
    ("made", "kind", "named"),
    [
        (_cased, "bert", "BertTokenizer"),  # which lower-cases unless it is told otherwise
        (_cased, "electra", None),
        (_unigram, "albert", "AlbertTokenizer"),  # which strips accents, too
        (_unigram, "xlnet", "XLNetTokenizerFast"),
    ],
)
def test_case_and_accents_are_those_of_the_file(made, kind, named, tmp_path, caplog):
    place = _write(tmp_path / "model", made(), kind, tokenizer_class=named)
    assert not list(_differing(place))
    assert "by tokenizer.json, which is used" in caplog.text


def test_what_is_written_is_read_as_it_was_and_said_once(tmp_path, caplog):
    place = _write(tmp_path / "model", _bytes(), "qwen2", tokenizer_class="Qwen2Tokenizer", **_MARKS)
    model = build_small("qwen2")
    read = read_tokenizer(place)
    caplog.clear()
    save_model(tmp_path / "written", model=model, sites=find_sites(model), tokenizer=read, card=[TAG])
    assert read_tokenizer(tmp_path / "written")(_LINES)["input_ids"] == read(_LINES)["input_ids"]
    assert not caplog.text


def test_a_file_beside_a_tokenizer_that_is_none_of_this_form_is_of_the_same(tmp_path):
    """As M2M100 and Marian, which run SentencePiece themselves."""
    place = tmp_path / "model"
    write_translator(place, "m2m100")
    read_tokenizer(place)
    _bytes().save(str(place / "tokenizer.json"))
    with pytest.raises(HeadroomError, match="remove that file if it is not the model's"):
        read_tokenizer(place)


def test_what_transformers_warns_of_is_logged_once(tmp_path, caplog):
    """Its tokenizers for Mistral warn of another pattern in tokenizer.json only if they know many tokens."""
    made = Tokenizer(models.BPE({f"t{place}": place for place in range(100_001)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    place = _write(tmp_path / "model", made, "mistral", tokenizer_class="TokenizersBackend", pad_token="t0")
    for _ in range(2):
        read_tokenizer(place)
    assert caplog.text.count("incorrect regex pattern") == 1
