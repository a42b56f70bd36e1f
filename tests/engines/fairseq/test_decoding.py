"""Greedy decoding equals fairseq's generator with a beam of 1, for every sentence and limit."""

import pytest
from headroom.engines.fairseq.decoding import pieces_until_end
from headroom.settings.answers import DecodingSettings

from fairseq.sequence_generator import SequenceGenerator  # isort: skip

SHORT = DecodingSettings(length_factor=0, length_offset=9)


@pytest.fixture(params=["trained", "lively"])
def either(request, model, lively):
    """The model as trained, whose best first piece is the end mark, and one with varied translations."""
    return model if request.param == "trained" else lively


def by_fairseq(model, batches, *, factor, offset, beam=1):
    """Translate with fairseq's generator as it comes."""
    generator = SequenceGenerator(
        [model.model], model.target.dictionary, beam_size=beam, max_len_a=factor, max_len_b=offset
    )
    found = {}
    for batch in batches:
        sample = {"net_input": {"src_tokens": batch.source, "src_lengths": batch.lengths}}
        best = [hypotheses[0]["tokens"].tolist() for hypotheses in generator.generate([model.model], sample)]
        found.update(zip(batch.positions, best))
    end = model.target.dictionary.eos()
    return [pieces_until_end(found[position], end) for position in range(len(found))]


def test_batches_equal_fairseq_with_a_beam_of_one(either, texts):
    batches = either.batches(texts[0], sentences=5)
    expected = by_fairseq(either, batches, factor=0, offset=9)
    assert either.translate_pieces(batches, SHORT) == expected
    assert all(expected)  # fairseq never gives an empty translation


def test_a_beam_leaves_nothing_behind(lively, texts):
    batches = lively.batches(texts[0], sentences=5)
    before = lively.translate_pieces(batches, SHORT)
    beam = lively.translate_pieces(batches, SHORT, beam=5)
    assert beam == by_fairseq(lively, batches, factor=0, offset=9, beam=5)
    for live in lively.live_sites:
        live.attention.set_beam_size(5)  # as the generator does with some of fairseq's architectures
    assert lively.translate_pieces(batches, SHORT, beam=5) == beam
    assert {live.attention.beam_size for live in lively.live_sites} == {1}
    assert lively.translate_pieces(batches, SHORT) == before


@pytest.mark.parametrize("beam", [1, 5])
def test_translations_come_in_the_order_of_the_set_whatever_the_batches(lively, texts, beam):
    expected = [lively.translate_pieces(lively.batches([text], sentences=1), SHORT, beam=beam)[0] for text in texts[0]]
    assert len({tuple(row) for row in expected}) > 3
    for sentences in (2, 5, 100):
        batches = lively.batches(texts[0], sentences=sentences)
        assert lively.translate_pieces(batches, SHORT, beam=beam) == expected
    backwards = lively.batches(texts[0][::-1], sentences=5)
    assert lively.translate_pieces(backwards, SHORT, beam=beam) == expected[::-1]


@pytest.mark.parametrize("beam", [1, 5])
def test_empty_sources_are_translated_without_disturbing_others(lively, texts, beam):
    sources = [texts[0][0], "", texts[0][1], "  "]
    found = lively.translate_pieces(lively.batches(sources, sentences=4), SHORT, beam=beam)
    alone = lively.translate_pieces(lively.batches(texts[0][:2], sentences=2), SHORT, beam=beam)
    assert [found[0], found[2]] == alone
    assert found[1] == found[3]
    assert lively.translate(lively.batches([""], sentences=4), SHORT, beam=beam) == lively.texts([found[1]])
