"""Attention between words, worked out by hand."""

import numpy
import torch
from headroom.data.trees import ParsedSentence, Word
from headroom.methods.pointing import between_units, membership, unit_of_pieces, units

# I don't go: do and n't stand at one place
DONT = ParsedSentence(
    "I don't go",
    (
        Word("I", 0, 1, 3, "nsubj"),
        Word("do", 2, 7, 3, "aux"),
        Word("n't", 2, 7, 3, "advmod"),
        Word("go", 8, 10, None, ""),
    ),
)


def test_words_of_a_multiword_token_are_one_unit():
    of_word, ends = units(DONT)
    assert of_word == [0, 1, 1, 2]
    assert ends.tolist() == [1, 7, 10]


def test_a_piece_belongs_to_the_unit_in_which_it_begins_or_before_which_it_stands():
    ends = numpy.array([1, 7, 10])
    # CLS, I, a lone mark before don't, don, 't go (two words), o, the end mark, white space at the end
    spans = numpy.array([(-1, -1), (0, 1), (1, 2), (2, 5), (5, 9), (9, 10), (-1, -1), (10, 10)])
    assert unit_of_pieces(spans, ends).tolist() == [-1, 0, 1, 1, 1, 2, -1, -1]


def test_attention_to_a_word_is_the_sum_and_from_a_word_the_mean_over_its_pieces():
    # pieces: special, a1, a2, b, special; units a (two pieces), b, and c, which has none
    member = membership([numpy.array([-1, 0, 0, 1, -1])], [3], 5)
    weights = torch.tensor(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.1, 0.2, 0.3, 0.4, 0.0],
            [0.3, 0.1, 0.1, 0.2, 0.3],
            [0.0, 0.5, 0.1, 0.4, 0.0],
            [0.2, 0.2, 0.2, 0.2, 0.2],
        ]
    )[None, None]
    expected = [
        [(0.2 + 0.3 + 0.1 + 0.1) / 2, (0.4 + 0.2) / 2, 0.0],
        [0.5 + 0.1, 0.4, 0.0],
        [0.0, 0.0, 0.0],
    ]
    torch.testing.assert_close(between_units(weights, member)[0, 0], torch.tensor(expected))


def test_sentences_of_a_batch_do_not_mix():
    member = membership([numpy.array([0, 1]), numpy.array([0, -1])], [2, 1], 2)
    weights = torch.arange(8.0).reshape(2, 1, 2, 2)
    found = between_units(weights, member)
    assert found[0, 0].tolist() == [[0, 1], [2, 3]]
    assert found[1, 0].tolist() == [[4, 0], [0, 0]]
