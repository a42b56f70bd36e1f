"""Reused states change no answer: every intervention equals plain decoding and plain losses."""

import numpy
import pytest
import torch
from headroom.core.heads import parse_profile
from headroom.core.interventions import Intervention
from headroom.engines import translation_scores
from headroom.engines.fairseq import sweeps
from headroom.engines.fairseq.changes import after, cut_after, end_translations
from headroom.engines.fairseq.decoding import Prefixes, encode, greedy, mismatches
from headroom.engines.fairseq.sweeps import Sweep
from headroom.engines.gates import Replacements
from headroom.settings.answers import DecodingSettings
from oracles import drawn_addition, of_profiles

SHORT = DecodingSettings(length_factor=0, length_offset=9)
PROFILES = ["E1:1", "E2:4", "A1:1 A1:2 A1:3 A1:4", "A2:3", "D1:2", "D2:1", "D2:1 E2:4", "D2:1 D2:2 D2:3 D2:4"]


@pytest.fixture
def batches(lively, texts):
    return lively.batches(*texts, sentences=5)


@pytest.fixture
def sweep(lively, batches):
    return Sweep(lively, batches, lively.translate_pieces(batches, SHORT), SHORT)


def replacements(model):
    generator = torch.Generator().manual_seed(0)
    means = {live.site: torch.randn(4, live.head_width, generator=generator).double() for live in model.live_sites}
    return Replacements(means, seed=3, repair=drawn_addition)


def plainly(model, batches, intervention):
    """Return the translations and the losses without reuse."""
    with model.gates.applied(intervention, replacements(model)), torch.inference_mode():
        pieces = model.translate_pieces(batches, SHORT)
        nats = numpy.zeros(len(pieces))
        for batch in batches:
            nats[batch.positions] = model.losses(batch)[0].numpy()
    return pieces, nats


def swept(model, sweep, intervention):
    with model.gates.applied(intervention, replacements(model)):
        return sweep.result(intervention)


def test_every_intervention_equals_plain_decoding_and_losses(lively, batches, sweep):
    full = lively.translate_pieces(batches, SHORT)
    changed = 0
    for one in of_profiles(PROFILES, lively.sites):
        pieces, nats = plainly(lively, batches, one)
        found = swept(lively, sweep, one)
        assert found.pieces == pieces, str(one)
        numpy.testing.assert_allclose(found.nats, nats, rtol=1e-5)
        changed += sum(row != other for row, other in zip(pieces, full))
    assert changed > 50  # most interventions change something


@pytest.mark.parametrize(("name", "value"), [("STORED", 0), ("_WORTH", 2.0), ("EVERY", 1), ("ROWS", 3)])
def test_neither_memory_nor_shortcuts_change_a_result(lively, batches, monkeypatch, name, value):
    monkeypatch.setattr(translation_scores if name == "EVERY" else sweeps, name, value)
    sweep = Sweep(lively, batches, lively.translate_pieces(batches, SHORT), SHORT)
    for one in list(of_profiles(PROFILES, lively.sites))[::3]:
        pieces, nats = plainly(lively, batches, one)
        found = swept(lively, sweep, one)
        assert found.pieces == pieces
        numpy.testing.assert_allclose(found.nats, nats, rtol=1e-5)


def test_sentences_decoded_again_are_counted_and_differences_found(lively, batches, monkeypatch):
    monkeypatch.setattr(translation_scores, "EVERY", 1)
    monkeypatch.setattr(sweeps, "_WORTH", 0)
    plain = lively.translate_pieces(batches, SHORT)
    one = Intervention(parse_profile("E1:1", lively.sites))
    again = swept(lively, Sweep(lively, batches, plain, SHORT), one).again
    assert again.tolist() == [[1.0, 0.0]] * 12
    monkeypatch.setattr(sweeps, "mismatches", lambda *_, **__: (torch.tensor([], dtype=torch.long),) * 3)
    again = swept(lively, Sweep(lively, batches, plain, SHORT), one).again  # a shortcut that sees no change
    pieces, _ = plainly(lively, batches, one)
    assert again[:, 1].tolist() == [float(row != other) for row, other in zip(pieces, plain)]
    assert again[:, 1].any()


class TestGuesses:
    @pytest.fixture
    def batch(self, lively, texts):
        return lively.batches(*texts, sentences=12)[0]

    @pytest.fixture
    def known(self, lively, batch):
        return {"limits": torch.full_like(batch.lengths, 9), "marks": lively.marks}

    @pytest.fixture
    def right(self, lively, batch, known):
        return greedy(lively.model, encoded=encode(lively.model.encoder, batch), **known)

    def wrong(self, lively, batch, guess, known):
        encoded = encode(lively.model.encoder, batch)
        with torch.inference_mode():
            states = sweeps.decode(lively.model.decoder, after(known["marks"].begin, guess), encoded)
        return mismatches(lively.model, states=states[-1], guess=guess, **known), encoded, states

    def test_right_guesses_are_right_also_at_the_limit(self, lively, batch, right, known):
        assert any(len(row) == 9 for row in (sweeps.pieces_until_end(r, known["marks"].end) for r in right.tolist()))
        (rows, _, _), _, _ = self.wrong(lively, batch, right, known)
        assert len(rows) == 0

    @pytest.mark.parametrize("spoil", ["first", "later", "shorter", "empty", "another"])
    def test_wrong_guesses_are_found_and_continued(self, lively, batch, right, known, spoil):
        end, unknown = lively.target.dictionary.eos(), lively.target.dictionary.unk()
        guess = right.clone()
        if spoil == "first":
            guess[::2, 0] = unknown
        elif spoil == "later":
            guess[:, 4] = unknown
        elif spoil == "shorter":
            guess[:, 3:] = end
        elif spoil == "empty":
            guess[:] = end
        else:
            guess = guess.roll(1, 0)
        guess = end_translations([sweeps.pieces_until_end(row, end) for row in guess.tolist()], end, guess.device)
        (rows, places, best), encoded, states = self.wrong(lively, batch, guess, known)
        for row, place, piece in zip(rows.tolist(), places.tolist(), best.tolist()):
            assert guess[row, :place].tolist() == right[row, :place].tolist()
            assert guess[row, place] != right[row, place] == piece
        different = [row for row, one in enumerate(guess) if one.tolist() != right[row, : len(one)].tolist()]
        assert set(different) <= set(rows.tolist())
        prefixes = Prefixes(
            cut_after(guess[rows], places, best, end), places, [state[:, rows] for state in states[:-1]]
        )
        known = {**known, "limits": known["limits"][rows]}
        found = greedy(lively.model, encoded=sweeps.select_encoded(encoded, rows), prefixes=prefixes, **known)
        assert found.tolist() == right[rows].tolist()
