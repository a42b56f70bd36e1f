"""Tokens are those of tokenizer.json, segments tell the texts of a pair apart, and unknown tokens are counted."""

import json
import logging

import pytest
import transformers
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.models.checkpoint import TAG, read_tokenizer, save_model
from headroom.models.classifier.model import ClassificationModel
from headroom.models.find_sites import find_sites
from models import build_small
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

CLASSES = [
    None,
    "PreTrainedTokenizerFast",
    "GPT2Tokenizer",
    "GPT2TokenizerFast",
    "Qwen2TokenizerFast",
    "GPTNeoXTokenizerFast",
    "RobertaTokenizer",
    "LlamaTokenizerFast",
    "BartTokenizerFast",
    "CodeGenTokenizerFast",
]
TYPES = ["gpt2", "qwen2", "qwen3", "gpt_neox", "opt", "phi", "starcoder2", "smollm3", "roberta", "bart"]
TYPES += ["llama", "mistral", "gemma2", "gpt_neo", "olmo2", "granite", "cohere", "falcon", "stablelm", "modernbert"]
TEXTS = [
    "In 2019, 3,200 visitors came (to Paris).",
    "  a_b = c+1;\n\tdon't",
    "naïve café Ünï",
    "you're 東京 42nd",
    "éé",
]


@pytest.fixture(scope="module")
def written():
    """Byte-level tokens that split every digit and mark of its own."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(r"\p{N}|[^\s\p{L}\p{N}]+|\p{L}+|\s+"), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    how = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet(), "special_tokens": ["<s>", "</s>", "<unk>"]}
    trainer = trainers.BpeTrainer(vocab_size=330, show_progress=False, **how)
    made.train_from_iterator(["the visitors came to Paris in 2019 , 3,200 of them don't 1 + 1"], trainer)
    return made


def test_tokens_are_those_of_tokenizer_json(tmp_path, written, caplog):
    written.save(str(tmp_path / "tokenizer.json"))
    expected = [written.encode(text).ids for text in TEXTS]
    different = []
    for kind in TYPES:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
        for name in CLASSES:
            said = {"tokenizer_class": name} if name else {}
            said |= {"bos_token": "<s>", "eos_token": "</s>"}
            (tmp_path / "tokenizer_config.json").write_text(json.dumps(said))
            tokenizer = read_tokenizer(tmp_path)
            if [tokenizer(text)["input_ids"] for text in TEXTS] != expected:
                different.append((kind, name))
    assert not different
    assert "would give others" in caplog.text


def write_words(place, *, lowercase, **said):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "The", "the", "Paris", "is", "good", "Good", "bad", "."]
    made = Tokenizer(models.WordPiece({token: index for index, token in enumerate(tokens)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = (
        normalizers.BertNormalizer(lowercase=lowercase),
        pre_tokenizers.BertPreTokenizer(),
    )
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(place / "tokenizer.json"))
    (place / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[PAD]", "unk_token": "[UNK]", **said}))


@pytest.mark.parametrize(
    ("said", "expected"),
    [({}, "The Paris is Good ."), ({"do_lower_case": True}, "the [UNK] is good .")],
)
def test_case_is_that_of_the_files(said, expected, tmp_path):
    write_words(tmp_path, lowercase=False, tokenizer_class="BertTokenizer", **said)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    tokens = read_tokenizer(tmp_path).tokenize("The Paris is Good .")
    assert " ".join(tokens) == expected


@pytest.mark.parametrize("name", ["FunnelTokenizer", "BertTokenizer", "ElectraTokenizer", "PreTrainedTokenizerFast"])
def test_both_segments_of_a_pair_are_read_or_the_pair_is_refused(name, tmp_path, caplog):
    model = build_small("bert")
    model.config.update({"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}})
    model.save_pretrained(tmp_path)
    write_words(tmp_path, lowercase=False, tokenizer_class=name, model_input_names=["input_ids", "attention_mask"])
    pairs = LabelledText(["The good"], ["bad Paris is new"], ["no"])
    loaded = ClassificationModel.load(tmp_path, "cpu")
    (batch,) = loaded.batches(pairs, examples=2)
    assert batch.inputs["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 1, 1]]
    assert loaded.unknown_share([batch]) == pytest.approx(1 / 9)
    made = json.loads((tmp_path / "tokenizer.json").read_text())
    for one in made["post_processor"]["pair"]:
        next(iter(one.values()))["type_id"] = 0
    (tmp_path / "tokenizer.json").write_text(json.dumps(made))
    with pytest.raises(HeadroomError, match="tells the sentences of a pair apart"):
        ClassificationModel.load(tmp_path, "cpu").batches(pairs, examples=2)


def write_unigram(place):
    """Write tokens of SentencePiece with capitals and accents; ALBERT's class would change both."""
    words = ["<pad>", "<unk>", "[CLS]", "[SEP]", "▁The", "▁the", "▁Paris", "▁naïve", "▁naive", "▁is", "▁"]
    made = Tokenizer(models.Unigram([(word, -float(rank)) for rank, word in enumerate(words)], unk_id=1))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.save(str(place / "tokenizer.json"))


@pytest.mark.parametrize("kind", ["albert", "xlnet", "rembert"])
def test_what_is_written_is_read_as_it_was_and_said_once(kind, tmp_path, caplog):
    write_unigram(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    tokenizer = read_tokenizer(tmp_path)
    assert tokenizer.tokenize("The naïve Paris is") == ["▁The", "▁naïve", "▁Paris", "▁is"]
    assert caplog.text.count("would give others") == 1
    model = build_small("gpt2")
    save_model(tmp_path / "own", model=model, sites=find_sites(model), tokenizer=tokenizer, card=[TAG])
    (tmp_path / "own" / "config.json").write_text(json.dumps({"model_type": kind}))
    assert read_tokenizer(tmp_path / "own").tokenize("The naïve") == ["▁The", "▁naïve"]
    assert caplog.text.count("would give others") == 1


def test_named_special_tokens_are_special_also_if_the_file_does_not_say_so(tmp_path):
    write_unigram(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "sep_token": "[SEP]"}'
    )
    assert read_tokenizer(tmp_path)("The[SEP]Paris")["input_ids"] == [4, 3, 6]


def test_warnings_of_transformers_are_logged_once(tmp_path, written, caplog, monkeypatch):
    written.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    read = transformers.AutoTokenizer.from_pretrained

    def warn(*given, **how):
        for _ in range(2):
            logging.getLogger("transformers.made_up").warning("the regex is wrong")
        return read(*given, **how)

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", warn)
    for _ in range(2):
        read_tokenizer(tmp_path)
    assert caplog.text.count("transformers: the regex is wrong") == 1
