import pytest
from headroom.core.errors import HeadroomError
from headroom.data.moses import MosesPieces
from headroom.data.piece_spans import piece_spans
from headroom.data.pieces import Pieces, train_pieces
from headroom.data.providers.generated import generate_sets
from headroom.settings.models import MosesSettings
from headroom.settings.parallel import GeneratedCorpus, VocabularySettings


def test_pieces_of_words_a_lone_mark_and_a_piece_of_two_words():
    assert piece_spans(["▁The", "▁", "c", "at", "▁is▁out", "."], "The cat is out.") == [
        (0, 3), (4, 4), (4, 5), (5, 7), (8, 14), (14, 15),
    ]  # fmt: skip


def test_spaces_of_the_text_are_passed_over():
    assert piece_spans(["▁a", "▁b"], " a \u00a0 b ") == [(1, 2), (5, 6)]


def test_what_normalisation_makes_longer_stays_one_character_of_the_text():
    assert piece_spans(["▁x", "...", "▁fi", "sh"], "x… \ufb01sh") == [(0, 1), (1, 2), (3, 4), (4, 6)]


def test_moses_escapes_quotation_marks_and_cuts():
    pieces = ["the", "&quot;", "well@@", "-@@", "known", "&quot;", "dog", "&apos;s", "ta@@", "il"]
    text = "the “well-known” dog's tail"
    spans = piece_spans(pieces, text)
    assert [text[start:end] for start, end in spans] == [
        "the", "“", "well", "-", "known", "”", "dog", "'s", "ta", "il",
    ]  # fmt: skip


def test_an_escape_that_is_cut_belongs_to_all_its_pieces():
    assert piece_spans(["a", "&@@", "quot@@", ";@@", "b"], "a ”b") == [(0, 1), (2, 3), (2, 3), (2, 3), (3, 4)]
    assert piece_spans(["well", "@@@", "-@@", "@", "known"], "well-known")[1:4] == [(4, 5)] * 3


def test_signs_may_all_be_written_otherwise():
    assert piece_spans(["&quot;", "why", "?", "&quot;"], "“why?”") == [(0, 1), (1, 4), (4, 5), (5, 6)]
    assert piece_spans(["..."], "…") == [(0, 1)]
    assert piece_spans(["-", "-"], "–") == [(0, 1), (0, 1)]


def test_what_looks_like_an_escape_is_none_to_sentencepiece():
    assert piece_spans(["▁a", "&quot;", "@-@"], "a&quot;@-@") == [(0, 1), (1, 7), (7, 10)]


def test_pieces_of_another_text_are_refused():
    with pytest.raises(HeadroomError, match="cannot be brought to places in the text 'quite another'"):
        piece_spans(["▁nothing", "▁like", "▁it", "▁zzz"], "quite another")


@pytest.fixture(scope="module")
def lines():
    pairs = generate_sets(GeneratedCorpus(train=300, valid=2, test=60, far=60))
    return pairs["train"].pairs.source, pairs["far"].pairs.source


def test_spans_of_real_vocabularies_cover_the_text_in_order(lines, tmp_path):
    train_pieces(lines[0], tmp_path / "sentencepiece.model", VocabularySettings(size=150))
    pieces = Pieces(tmp_path / "sentencepiece.model")
    (tmp_path / "bpecodes").write_text("#version: 0.2\nt h\nth e</w>\n")
    moses = MosesPieces(tmp_path / "bpecodes", "en", MosesSettings())
    for line in lines[1]:
        for subwords in (pieces, moses):
            spans = piece_spans(subwords.encode(line), line)
            assert "".join(line[start:end] for start, end in spans) == line.replace(" ", "")
