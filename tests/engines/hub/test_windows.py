"""Windows of documents: what is read, what is predicted, and which windows are taken."""

import pytest
import transformers
from headroom.core.errors import HeadroomError
from headroom.engines.hub.causal.windows import cut_documents
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture
def tokenizer():
    """Return a tokenizer with a piece for every word."""
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words)


DOCUMENTS = [" ".join(WORDS[:7]), " ".join(WORDS[10:12]), "w20", " ".join(WORDS[30:39])]


def pieces(windows):
    return [window.pieces for window in windows.windows]


def test_no_window_spans_two_documents(tokenizer):
    found = cut_documents(tokenizer, DOCUMENTS, length=4, stride=4)
    assert pieces(found) == [[0, 1, 2, 3], [4, 5, 6], [10, 11], [30, 31, 32, 33], [34, 35, 36, 37]]
    assert found.texts[1] == "w4 w5 w6"
    assert [window.size for window in found.windows] == [9, 6, 4, 12, 12]  # without the first word, which is context


def test_no_piece_is_predicted_twice_where_windows_overlap(tokenizer):
    found = cut_documents(tokenizer, DOCUMENTS[:1], length=4, stride=2).windows
    assert [window.pieces[window.first :] for window in found] == [[1, 2, 3], [4, 5], [6]]
    assert [window.pieces for window in found] == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6]]


def test_some_windows_of_a_set_are_spread_over_it(tokenizer):
    every = pieces(cut_documents(tokenizer, DOCUMENTS, length=2, stride=2))
    assert pieces(cut_documents(tokenizer, DOCUMENTS, length=2, stride=2, per_set=3)) == [every[0], every[2], every[5]]
    some = cut_documents(tokenizer, DOCUMENTS, length=2, stride=2, per_set=3, limit=2)
    assert pieces(some) == [every[0], every[2]]
    assert pieces(cut_documents(tokenizer, DOCUMENTS, length=2, stride=2, per_set=99)) == every


def test_documents_of_a_piece_are_refused(tokenizer):
    with pytest.raises(HeadroomError, match="no document has two pieces"):
        cut_documents(tokenizer, ["w1", "w2"], length=4, stride=4)
