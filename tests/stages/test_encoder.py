"""The stage that makes a classifier's encoder."""

import json
import sys

import pytest
import transformers
from headroom.preparation import encoder
from models import write_encoder as write_pretrained
from toy_fine_tuning import LABELS, write_corpus

TINY = ["--layers", "1", "--heads", "2", "--width", "8", "--feed-forward", "8", "--vocabulary", "120"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), pairs=True)


def arguments(corpus, output, *more):
    return ["--corpus", str(corpus), "--output", str(output), *more]


def test_a_new_encoder_knows_the_words_of_both_sentences_of_the_training_text(corpus, tmp_path):
    encoder.main(arguments(corpus, tmp_path / "out", *TINY))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["num_hidden_layers"], config["num_attention_heads"], config["hidden_size"]) == (1, 2, 8)
    assert [config["id2label"][str(number)] for number in range(3)] == LABELS
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert len(tokenizer) == config["vocab_size"] <= 120
    assert tokenizer.tokenize("The horse sees") == ["the", "horse", "sees"]


def test_a_directory_of_ones_own(corpus, tmp_path):
    source = write_pretrained(tmp_path / "mine")
    encoder.main(arguments(corpus, tmp_path / "out", "--source", "directory", "--path", str(source)))
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_a_package(corpus, tmp_path, monkeypatch):
    package = tmp_path / "site" / "toy_model_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    write_pretrained(package / "weights")
    monkeypatch.syspath_prepend(tmp_path / "site")
    more = ["--source", "package", "--package", "toy_model_package", "--directory", "weights"]
    encoder.main(arguments(corpus, tmp_path / "out", *more))
    assert (tmp_path / "out" / "model.safetensors").is_file()
    assert "toy_model_package" not in sys.modules
