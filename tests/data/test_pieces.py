import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.data.pieces import Pieces, train_pieces
from headroom.data.providers.generated import generate_sets
from headroom.settings.parallel import GeneratedCorpus, VocabularySettings

SETTINGS = VocabularySettings(size=300)


@pytest.fixture(scope="module")
def text():
    pairs = generate_sets(GeneratedCorpus(train=600, valid=2, test=100, far=100))
    return pairs["train"].pairs, pairs["far"].pairs


@pytest.fixture(scope="module")
def model(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "sentencepiece.model"
    train_pieces(text[0].source + text[0].target, path, SETTINGS)
    return path


def test_round_trip_gives_every_sentence_back(text, model):
    pieces = Pieces(model)
    for sentence in text[1].source + text[1].target:
        assert pieces.decode(pieces.encode(sentence)) == sentence
    lines = pieces.encode_lines(text[1].target)
    assert [pieces.decode_line(line) for line in lines] == text[1].target
    assert lines[0].split(" ") == pieces.encode(text[1].target[0])


def test_lines_of_pieces_have_no_line_break_of_any_kind(model):
    for sentence in ("a\u0085b", "a\u2028b", "a\rb", "a\x0bb", "a\u3000b", "a\u200bb"):
        line = Pieces(model).encode_lines([sentence])[0]
        assert len(line.splitlines()) == 1, repr(line)
        assert line.split() == line.split(" "), repr(line)


def test_same_text_gives_the_same_model(text, model, tmp_path):
    train_pieces(text[0].source + text[0].target, tmp_path / "again.model", SETTINGS)
    assert sha256(tmp_path / "again.model") == sha256(model)


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_too_large_a_vocabulary_names_the_key_and_the_largest_size(tmp_path, model_type):
    lines = ["the dog sleeps", "a cat waits"]
    path = tmp_path / "sentencepiece.model"
    with pytest.raises(HeadroomError, match=r"vocabulary\.size is 900, .* at most (\d+) pieces") as caught:
        train_pieces(lines, path, VocabularySettings(size=900, model_type=model_type))
    assert list(tmp_path.iterdir()) == []
    largest = int(str(caught.value).rsplit(" ", 3)[-3])
    train_pieces(lines, path, VocabularySettings(size=largest, model_type=model_type))
    assert path.is_file()


def test_too_small_a_vocabulary_names_the_key(tmp_path):
    with pytest.raises(HeadroomError, match=r"vocabulary\.size"):
        train_pieces(["abcdefghijklmnopqrstuvwxyz"], tmp_path / "x.model", VocabularySettings(size=16))
    assert list(tmp_path.iterdir()) == []


def test_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "x.model").write_bytes(b"no model")
    for name in ("x.model", "gone.model"):
        with pytest.raises(HeadroomError, match=name):
            Pieces(tmp_path / name)
