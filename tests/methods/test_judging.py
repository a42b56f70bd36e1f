"""Evaluation: metrics equal sacrebleu's, every profile is decoded once, differences are paired; timings."""

from types import SimpleNamespace

import numpy
import pytest
import torch
from headroom.core.columns import COMPARISON
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads
from headroom.core.interventions import PLAIN, Intervention, Shard
from headroom.core.statistics import benjamini_hochberg, compute_unpaired_p, holm, interval, mcnemar_p
from headroom.data.parallel import ParallelText
from headroom.methods.costs import ratio_summary, time_interleaved
from headroom.methods.judging import Judge, comparisons, read_shards, warn_of_chance, write_shard
from headroom.models.seq2seq.judging import Seq2SeqSet
from headroom.models.translation_scores import METRICS
from headroom.settings.answers import DecodingSettings
from sacrebleu.metrics import BLEU, CHRF

LIMITS = DecodingSettings(length_factor=0, length_offset=12, sentences_at_once=5)
ONE = Intervention.without(Head("E", 1, 1))


@pytest.fixture
def judged(lively, texts):
    """Sources with the model's own translations as references, some spoilt, so that scores are high."""
    own = lively.translate(lively.batches(texts[0], sentences=12), LIMITS)
    references = [text if i % 3 else f"{text} {texts[1][i]}" for i, text in enumerate(own)]
    return Seq2SeqSet(name="check", pairs=ParallelText(texts[0], references), settings=LIMITS, resamples=50)


@pytest.fixture
def judge(lively, judged):
    return Judge(lively, judged)


@pytest.mark.parametrize("beam", [1, 5])
def test_scores_equal_sacrebleu_on_the_translations(lively, judged, beam):
    outcome = judged.judge(lively, beam=beam)
    found = lively.translate(lively.batches(judged.sources, sentences=12), LIMITS, beam=beam)
    references = judged.references.references
    assert lively.texts(outcome.answers) == found
    assert outcome.scores["bleu"] == pytest.approx(BLEU().corpus_score(found, [references]).score, abs=1e-9)
    assert outcome.scores["chrf"] == pytest.approx(CHRF().corpus_score(found, [references]).score, abs=1e-9)
    exact = [one == other for one, other in zip(found, references)]
    assert outcome.scores["exact"] == pytest.approx(100 * sum(exact) / 12)
    assert outcome.scores["bleu"] > 10
    assert {metric: len(outcome.resampled[metric]) for metric in METRICS} == dict.fromkeys(METRICS, 50)


@torch.inference_mode()
def test_the_loss_is_per_token_over_the_whole_set(lively, judged):
    (batch,) = lively.batches(judged.sources, judged.references.references, sentences=12)
    nats, tokens = lively.losses(batch)
    expected = float(nats.sum()) / int(tokens.sum())
    assert judged.judge(lively).scores["loss"] == pytest.approx(expected, rel=1e-5)


def test_the_full_model_does_not_differ_from_itself(judge):
    rows = list(judge.compared(PLAIN))
    assert [row["metric"] for row, _ in rows] == list(METRICS)
    for row, tail in rows:
        assert (row["delta"], row["low"], row["high"], row["p"], tail) == (0, 0, 0, 1, 1)
        assert row["value"] == row["full"]


def test_a_difference_is_masked_less_full(lively, judge, judged):
    with lively.gates.masked(ONE.removed):
        masked = judged.judge(lively).scores
    rows = {row["metric"]: row for row, _ in judge.compared(ONE)}
    full = judge.full.scores
    for metric in METRICS:
        assert rows[metric]["value"] == masked[metric]
        assert rows[metric]["delta"] == pytest.approx(masked[metric] - full[metric])
        moved = judge.outcome(ONE).resampled[metric] - judge.full.resampled[metric]
        assert (rows[metric]["low"], rows[metric]["high"]) == interval(moved)
        assert 0 < rows[metric]["p"] <= 1
    assert rows["loss"]["delta"] != 0
    assert rows["loss"]["set"] == "check"


def test_an_intervention_is_decoded_once_whoever_asks(lively, judge, monkeypatch):
    calls = []
    translate, under = lively.translate_tokens, Seq2SeqSet.translate_under
    monkeypatch.setattr(lively, "translate_tokens", lambda *a, **k: calls.append(1) or translate(*a, **k))
    monkeypatch.setattr(Seq2SeqSet, "translate_under", lambda *a: calls.append(1) or under(*a))
    for one in (ONE, PLAIN, Intervention.parse("E1:1"), ONE, Intervention.parse("D1:2")):
        list(judge.compared(one))
    comparisons(judge, [({}, ONE), ({}, PLAIN)])
    assert len(calls) == 3


def test_comparisons_correct_over_the_profiles_of_each_metric(judge, lively):
    profiles = [({"head": str(head)}, Intervention.without(head)) for head in all_heads(lively.sites, "A")]
    rows = comparisons(judge, profiles)
    assert len(rows) == 8 * len(METRICS)
    assert set(rows[0]) == {"head", *(column.name for column in COMPARISON), "signature"}
    for metric in METRICS:
        mine = [row for row in rows if row["metric"] == metric]
        assert [row["head"] for row in mine] == [str(head) for head in all_heads(lively.sites, "A")]
        tails = [{row["metric"]: tail for row, tail in judge.compared(gone)}[metric] for _, gone in profiles]
        assert [row["p_holm"] for row in mine] == holm(tails)
        assert [row["p_bh"] for row in mine] == benjamini_hochberg(tails)
    assert any(row["p_holm"] < 1 for row in rows)


def test_right_or_wrong_answers_are_tested_paired_and_unpaired(judge):
    rows = {row["metric"]: row for row, _ in judge.compared(ONE)}
    full, other = (judge.outcome(gone).sample.statistics["exact"][:, 0] for gone in (PLAIN, ONE))
    assert rows["exact"]["p_mcnemar"] == mcnemar_p(full, other) < 1
    assert rows["exact"]["p_unpaired"] == compute_unpaired_p(full, other)
    assert rows["bleu"]["p_mcnemar"] == rows["loss"]["p_unpaired"] == ""


def test_a_model_that_does_not_score_more_than_chance_is_named_in_the_log(caplog):
    judged = SimpleNamespace(name="choose", metrics=("next",), chance=lambda _: 50.0)
    for score, said in ((40.0, True), (51.0, True), (60.0, False)):
        caplog.clear()
        outcome = SimpleNamespace(scores={"next": score}, resampled={"next": numpy.linspace(score - 2, score + 2, 101)})
        warn_of_chance(judged, outcome)
        assert ("set choose: the model's next is" in caplog.text) == said, score


HEADS = [Head("E", 1, number) for number in range(1, 8)]
PROFILES = [
    *(Intervention.without(*HEADS[:count]) for count in range(1, 6)),
    Intervention.without(*HEADS[:5], replacement="mean"),
    Intervention.scaled({HEADS[6]: 1 / 3}, removed=HEADS[:5]),
]


def test_every_profile_is_in_one_shard():
    for count in (1, 2, 3, 7, 9):
        shares = [Shard(number, count).share([*PROFILES, PROFILES[0]]) for number in range(1, count + 1)]
        together = [profile for share in shares for profile in share]
        assert len(together) == len(PROFILES)
        assert set(together) == set(PROFILES)
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_what_is_written_is_read_and_shards_of_one_judge_are_joined(tmp_path):
    generator, written = numpy.random.default_rng(0), {"test": PROFILES[:5], "far": PROFILES[5:], "empty": []}
    judged = {
        name: {profile: {"bleu": generator.random((5, 10)), "loss": generator.random((5, 2))} for profile in profiles}
        for name, profiles in written.items()
    }
    parts = [(name, profiles[start : start + 3]) for name, profiles in written.items() for start in (0, 3)]
    for number, (name, profiles) in enumerate(parts):
        write_shard(tmp_path / f"{number}.npz", {name: {one: judged[name][one] for one in profiles}})
    found = read_shards(sorted(tmp_path.iterdir()))
    assert {name: list(profiles) for name, profiles in found.items()} == {"test": PROFILES[:5], "far": PROFILES[5:]}
    for name, profiles in found.items():
        for profile, statistics in profiles.items():
            assert list(statistics) == ["bleu", "loss"]
            for metric, values in statistics.items():
                assert (values == judged[name][profile][metric]).all()


def test_a_damaged_shard_is_told(tmp_path):
    path = tmp_path / "shard.npz"
    for content in (b"", b"no archive", b"PK\x03\x04 cut off"):
        path.write_bytes(content)
        with pytest.raises(HeadroomError, match="cannot read the shard; delete it and rerun its job"):
            read_shards([path])


def test_rounds_run_every_action_once_there_and_back():
    ran = []
    actions = {name: lambda name=name: ran.append(name) for name in "abc"}
    time_interleaved(actions, warmup=1, repeats=3)
    assert "".join(ran) == "cba" + "abc" + "cba" + "abc"


def test_the_device_is_waited_for_on_both_sides(monkeypatch):
    happened = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: happened.append("wait"))
    time_interleaved({"a": lambda: happened.append("run")}, warmup=0, repeats=2)
    assert happened == ["wait", "run", "wait"] * 2


def test_the_median_ratio_within_rounds_and_its_interval():
    fast, slow = [10.0**place for place in range(6)], [2 * 10.0**place for place in range(6)]
    assert ratio_summary(slow, fast) == (2.0, 2.0, 2.0)  # rounds of very different speed
    # all six below the median, or all above: each 1 of 64 = 1.6 %
    assert ratio_summary([1.0, 6.0, 2.0, 5.0, 3.0, 4.0], [1.0] * 6) == (3.5, 1.0, 6.0)
