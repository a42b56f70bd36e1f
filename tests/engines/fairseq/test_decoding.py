"""Decoding equals fairseq's generator; sweeps that reuse states equal plain decoding; sentences that are too long."""

from dataclasses import replace
from types import SimpleNamespace

import numpy
import pytest
import torch
from headroom.core.heads import parse_profile
from headroom.core.interventions import Intervention
from headroom.data.parallel import ParallelText
from headroom.engines import translation_scores
from headroom.engines.candidates import Projection
from headroom.engines.fairseq import sweeps, training
from headroom.engines.fairseq.changes import after, cut_after, end_translations
from headroom.engines.fairseq.decoding import Prefixes, encode, greedy, mismatches, pieces_until_end
from headroom.engines.fairseq.judging import TranslatedSet
from headroom.engines.fairseq.readout import Marks, best_pieces, compute_features, find_candidates, forbid_pieces
from headroom.engines.fairseq.sweeps import Sweep
from headroom.engines.gates import Replacements
from headroom.settings.answers import DecodingSettings
from oracles import drawn_addition, of_profiles
from trainings import Translation

from fairseq.sequence_generator import SequenceGenerator  # isort: skip

SHORT = DecodingSettings(length_factor=0, length_offset=9)


@pytest.fixture(params=["trained", "lively"])
def either(request, model, lively):
    """The model as trained, whose best first piece is the end mark, and one with varied translations."""
    return model if request.param == "trained" else lively


def by_fairseq(model, batches, beam=1):
    """Translate with fairseq's generator as it comes."""
    generator = SequenceGenerator([model.model], model.target.dictionary, beam_size=beam, max_len_a=0, max_len_b=9)
    found = {}
    for batch in batches:
        sample = {"net_input": {"src_tokens": batch.source, "src_lengths": batch.lengths}}
        best = [hypotheses[0]["tokens"].tolist() for hypotheses in generator.generate([model.model], sample)]
        found.update(zip(batch.positions, best))
    end = model.target.dictionary.eos()
    return [pieces_until_end(found[position], end) for position in range(len(found))]


def test_batches_equal_fairseq_with_a_beam_of_one(either, texts):
    batches = either.batches(texts[0], sentences=5)
    expected = by_fairseq(either, batches)
    assert either.translate_pieces(batches, SHORT) == expected
    assert all(expected)  # fairseq never gives an empty translation


def test_a_beam_leaves_nothing_behind(lively, texts):
    batches = lively.batches(texts[0], sentences=5)
    before = lively.translate_pieces(batches, SHORT)
    beam = lively.translate_pieces(batches, SHORT, beam=5)
    assert beam == by_fairseq(lively, batches, beam=5)
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


MARKS = Marks(2, 2, [1])


@pytest.mark.parametrize("bias", [False, True])
def test_candidates_give_the_best_pieces_of_another_model(bias):
    torch.manual_seed(3)
    output = torch.nn.Linear(6, 30, bias=bias).requires_grad_(False)
    with torch.no_grad():
        output.weight[1] += 9  # a forbidden piece is never the best
    decoder = SimpleNamespace(layer_norm=None, project_out_dim=None, output_projection=output, output_layer=output)
    states, place = torch.randn(400, 6), torch.randint(0, 3, (400,))
    found = find_candidates(decoder, Projection(output.weight, output.bias, MARKS.forbidden), states, place, MARKS)
    before = forbid_pieces(output(states), place, MARKS).argmax(-1)
    for change in (0.0, 0.01, 0.3, 3.0):
        other = states + change * torch.randn(400, 6)
        expected = forbid_pieces(output(other), place, MARKS).argmax(-1)
        computed = []

        def search(some, other=other, computed=computed):
            computed.append(len(some))
            return best_pieces(decoder, other[some], place[some], MARKS)

        assert torch.equal(found.best(compute_features(decoder, other), search), expected), change
        assert sum(computed) < 40 if change < 0.1 else sum(computed) > 0
        assert (expected != before).any() == (change > 0)


def test_the_limit_of_memory_counts_keys_and_values_of_sources(lively, texts, monkeypatch):
    settings = DecodingSettings(length_factor=0, length_offset=9)
    batches = lively.batches(*texts, sentences=12)
    plain = lively.translate_pieces(batches, settings)
    (known,) = Sweep(lively, batches, plain, settings)._known
    stored = known.plain.packed.tensors()
    source = batches[0].source
    assert sum(one.numel() for one in stored) == 2 * len(lively.model.decoder.layers) * source.numel() * 16
    without = known.plain.size - sum(one.numel() * one.element_size() for one in stored)
    monkeypatch.setattr(sweeps, "STORED", without)
    assert Sweep(lively, batches, plain, settings)._known[0].plain is None
    monkeypatch.setattr(sweeps, "STORED", known.plain.size)
    assert Sweep(lively, batches, plain, settings)._known[0].plain is not None


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


LONGEST = 8
LONG = DecodingSettings(length_factor=2, length_offset=9)


@pytest.fixture
def short(lively, monkeypatch):
    """A model with few positions."""
    monkeypatch.setattr(lively.model.encoder, "max_source_positions", LONGEST)
    monkeypatch.setattr(lively.model.decoder, "max_target_positions", LONGEST)
    return lively


def pieces(model, texts):
    return [model.source.numbers(text) for text in texts]


def test_batches_have_the_beginnings_and_the_end_mark(short, texts):
    (batch,) = short.batches(*texts, sentences=12)
    whole = pieces(short, texts[0])
    assert batch.source.shape[1] == batch.target.shape[1] == LONGEST
    for row, place in enumerate(batch.positions):
        own = batch.source[row, LONGEST - batch.lengths[row] :].tolist()
        wanted = whole[place].tolist()
        assert own == (wanted if len(wanted) <= LONGEST else [*wanted[: LONGEST - 1], wanted[-1]])
    assert any(len(row) > LONGEST for row in whole)


def test_a_sweep_over_long_sentences_equals_plain_decoding(short, texts):
    judged = TranslatedSet(name="test", pairs=ParallelText(*texts), settings=LONG, resamples=10)
    whole, wrong = judged.judge(short), []
    for profile in ("E1:1", "A2:3", "D1:2", "D2:1"):
        intervention = Intervention(parse_profile(profile, short.sites))
        swept = judged.judge_under(short, intervention, whole, None)
        with short.gates.masked(intervention.removed):
            plain = short.translate_pieces(judged.batches(short), LONG)
        wrong += [] if swept.answers == plain else [profile]
        assert max(map(len, plain)) == LONGEST - 1  # the begin mark has a position too
    assert not wrong, wrong


def test_pairs_are_counted_if_a_side_is_long(short, texts):
    pairs = ParallelText(*([*side, side[0].split(" ")[0]] for side in texts))
    sides = zip(pieces(short, pairs.source), [short.target.numbers(text) for text in pairs.target], strict=True)
    wanted = sum(max(map(len, both)) > LONGEST for both in sides)
    judged = TranslatedSet(name="test", pairs=pairs, settings=LONG, resamples=10)
    judged.batches(short)
    assert 0 < wanted == judged.cut < 13
    assert f"|cut:{wanted}|" in judged.signature("bleu")


def test_training_leaves_long_pairs_out_and_counts_them(data, tmp_path, caplog, monkeypatch):
    made = Translation(data).training()
    monkeypatch.setattr(training, "POSITIONS", 1024)
    lengths = made._lengths("train")  # pieces with the end mark, 3 to 8
    few = replace(made, training=made.training.model_copy(update={"max_tokens": 7}))
    long = int((lengths > 7).sum())
    few.check()
    rest = (40 - long) % 8
    assert 0 < long == few.count_long("train")
    assert f"train: {long} of 40 pairs are left out, longer than 7 pieces" in caplog.text
    assert f"|left-out-long:{long}|" in few.signature("baseline")
    assert (f"|left-out-rest:{rest}|" in few.signature("baseline")) == bool(rest)
    few.train(epochs=1, work=tmp_path / "work", notify=lambda _: None)  # valid has long pairs too
    assert (tmp_path / "work/epoch1.pt").is_file()
