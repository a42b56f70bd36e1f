"""Sentences longer than the positions of a model: cut and counted in evaluation, left out and counted in training."""

from dataclasses import replace
from pathlib import Path

import pytest
from fairseq_models import write_data
from headroom.core.heads import parse_profile
from headroom.core.interventions import Intervention
from headroom.data.parallel import ParallelText
from headroom.engines.fairseq import training
from headroom.engines.fairseq.judging import TranslatedSet
from headroom.settings.answers import DecodingSettings
from training_runs import Translation

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


@pytest.mark.parametrize("profile", ["E1:1", "A2:3", "D1:2", "D2:1"])
def test_a_sweep_over_long_sentences_equals_plain_decoding(short, texts, profile):
    judged = TranslatedSet(name="test", pairs=ParallelText(*texts), settings=LONG, resamples=10)
    intervention = Intervention(parse_profile(profile, short.sites))
    swept = judged.judge_under(short, intervention, judged.judge(short), None)
    with short.gates.masked(intervention.removed):
        plain = short.translate_pieces(judged.batches(short), LONG)
    assert swept.answers == plain
    assert max(map(len, plain)) == LONGEST - 1  # the begin mark has a position too


def test_pairs_are_counted_if_a_side_is_long(short, texts):
    pairs = ParallelText(*([*side, side[0].split(" ")[0]] for side in texts))
    sides = zip(pieces(short, pairs.source), [short.target.numbers(text) for text in pairs.target], strict=True)
    wanted = sum(max(map(len, both)) > LONGEST for both in sides)
    judged = TranslatedSet(name="test", pairs=pairs, settings=LONG, resamples=10)
    judged.batches(short)
    assert 0 < wanted == judged.cut < 13
    assert f"|cut:{wanted}|" in judged.signature("bleu")


class TestTraining:
    def make(self, directory: Path, **changes):
        return Translation(write_data(directory, **changes)).training()

    def test_of_long_pairs_leaves_them_out_and_counts_them(self, tmp_path, caplog, monkeypatch):
        made = self.make(tmp_path / "data")
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
