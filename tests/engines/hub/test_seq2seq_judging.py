"""Translations and losses of sweeps are those of plain generation and whole passes, and batches change none."""

import numpy
import pytest
import torch
from headroom.core.heads import parse_profile
from headroom.core.interventions import Intervention
from headroom.data.parallel import ParallelText
from headroom.engines import translation_scores
from headroom.engines.engine import AGAIN
from headroom.engines.hub.readout import Reading
from headroom.engines.hub.seq2seq import judging
from headroom.engines.hub.seq2seq.judging import Seq2SeqSet, Verifier
from headroom.settings.answers import DecodingSettings
from models import SOURCES, TARGETS, load_translator, write_translator
from oracles import drawn_replacements, of_profiles

PROFILES = ["E1:1", "E2:4", "A1:1 A1:2 A1:3 A1:4", "A2:3", "D1:2", "D2:1 E2:4", "D2:1 D2:2 D2:3 D2:4"]
FAMILIES = ["marian", "nllb", "t5"]


@pytest.fixture(scope="module", params=FAMILIES)
def translator(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("sweeps") / request.param
    return load_translator(write_translator(place, request.param))


def sentences(*, at_once=3):
    short = DecodingSettings(length_factor=0, length_offset=6, sentences_at_once=at_once)
    pairs = ParallelText([*SOURCES, *SOURCES[:2]], [*TARGETS, *TARGETS[1:3]])
    return Seq2SeqSet(name="check", pairs=pairs, settings=short, resamples=5)


def plainly(model, judged, one, replacements):
    """Return translations and losses without any reuse."""
    with model.gates.applied(one, replacements), torch.inference_mode():
        pieces = model.translate_pieces(judged.batches(model), judged.settings)
        nats = numpy.zeros(len(pieces))
        for batch in judged.batches(model):
            nats[batch.positions] = model.losses(batch)[0]
    return pieces, nats


@pytest.mark.parametrize("rows", [256, 2])
def test_sweeps_give_the_answers_of_plain_generation(translator, rows, monkeypatch):
    monkeypatch.setitem(judging.ROWS, "cpu", rows)
    judged, replacements = sentences(), drawn_replacements(translator.live_sites)
    full = judged.judge(translator)
    changed = 0
    for one in list(of_profiles(PROFILES, translator.sites))[:: 1 if rows > 2 else 4]:
        pieces, nats = plainly(translator, judged, one, replacements)
        found = judged.judge_under(translator, one, full, replacements)
        assert found.answers == pieces, one
        numpy.testing.assert_allclose(found.sample.statistics["loss"][:, 0], nats, rtol=1e-5)
        changed += found.answers != full.answers
    assert changed


def test_candidates_give_the_pieces_of_all_logits(translator, monkeypatch):
    (batch,) = sentences(at_once=6).batches(translator)
    places = batch.taught[1].ge(0)
    (known,) = translator.find_candidates([(batch, places)], 2**20)
    assert translator.find_candidates([(batch, places)], known.size - 1) == []
    searched, parts = [], Reading.parts
    monkeypatch.setattr(Reading, "parts", lambda own, rows: searched.append(len(rows)) or parts(own, rows))
    with torch.inference_mode():
        translator.best_pieces(batch, places, known)
        assert sum(searched) < 0.2 * places.sum()
        for profile in PROFILES:
            with translator.gates.applied(Intervention(parse_profile(profile, translator.sites))):
                best = translator.best_pieces(batch, places)
                assert translator.best_pieces(batch, places, known).tolist() == best.tolist()


def test_sentences_generated_again_are_counted_and_differences_found(translator, monkeypatch):
    monkeypatch.setattr(translation_scores, "EVERY", 1)
    judged, one = sentences(), Intervention(parse_profile("E1:1 A1:2", translator.sites))
    full = judged.judge(translator)
    found = judged.judge_under(translator, one, full, None)
    assert found.sample.statistics[AGAIN].tolist() == [[1.0, 0.0]] * 6
    monkeypatch.setattr(Verifier, "find_changed", lambda *_: {})  # a shortcut that sees no change
    blind = judged.judge_under(translator, one, full, None)
    wrong = [float(row != other) for row, other in zip(found.answers, full.answers)]
    assert blind.sample.statistics[AGAIN][:, 1].tolist() == wrong
    assert any(wrong)


def test_final_scores_search_with_a_beam(translator):
    judged = sentences()
    outcome, search, signature = judged.judge_finally(translator)
    assert search == "beam5"
    assert signature("loss").endswith("beam:5|lenpen:1.0")
    assert outcome.answers == translator.translate_pieces(judged.batches(translator), judged.settings, beam=5)


@torch.inference_mode()
def test_translations_are_continued_from_beginnings_of_any_length(translator):
    (batch,) = translator.batches(SOURCES, sentences=4)
    limits = torch.full((4,), 6)
    whole = translator.generate(batch, limits)
    assert max(map(len, whole)) > 2
    for known in ([row[:1] for row in whole], [row[: number % 3] for number, row in enumerate(whole)]):
        assert translator.generate(batch, limits, known=known) == whole
    begun = [[other] for other in (7, 8, 9, 10)]
    continued = translator.generate(batch, limits, known=begun)
    assert [row[:1] for row in continued] == begun
    taught = translator.teach(batch, [[*row, translator.words.end] for row in continued])
    places = torch.arange(taught.target.shape[1]) - len(translator.words.begin) + 1
    free = taught.target.ge(0) & (places > 0) & (places < 6)
    assert translator.best_pieces(taught, free).tolist() == taught.target[free].tolist()
