"""KL from the full model's predictions: that of two whole passes, by example, whatever the logits are made of."""

import math

import headroom
import pandas
import pytest
import torch
from headroom import api
from headroom.core.heads import Head
from headroom.core.interventions import PLAIN, Intervention
from headroom.methods.judging import Judge
from headroom.models import readout, reusing
from headroom.models.causal.model import CausalModel
from headroom.models.engine import KL
from headroom.study.selection import with_perplexity
from models import build_small, letter_tokenizer, toy_text, write_encoder, write_language_model
from torch.nn.functional import kl_div

TEXTS = ["a b c a c b b a", "c a", "b b c a c", "a c c c b a b a c"]
CAPPED = {"gemma2": "final_logit_softcapping", "granite": "logits_scaling"}
REMOVED = [Intervention.without(Head("D", layer, head)) for layer, head in ((1, 1), (1, 2), (2, 3))]


@pytest.fixture
def load(tmp_path):
    """Return a decoder of a family with logits of a usual size, capped or scaled in some families."""

    def loaded(family, **how):
        made, tokenizer = build_small(family), letter_tokenizer("abcdefghijklmnopqrstuvwxyz")
        made.get_output_embeddings().weight.data.mul_(8)
        made.config.pad_token_id = tokenizer.pad_token_id
        if family in CAPPED:
            setattr(made.config, CAPPED[family], 3.0)
        return CausalModel.load(write_language_model(tmp_path / family, made, tokenizer), "cpu", **how)

    return loaded


@torch.inference_mode()
def by_hand(model, judged, intervention):
    """Return KL(full || changed) per predicted token from whole logits of two passes."""
    nats, tokens = 0.0, 0
    for batch in judged.batches(model):
        kept = batch.answers.ge(0)
        full = model.logits(batch)[kept].double().log_softmax(-1)
        with model.gates.applied(intervention):
            changed = model.logits(batch)[kept].double().log_softmax(-1)
        nats += float(kl_div(changed, full, log_target=True, reduction="sum"))
        tokens += int(kept.sum())
    return nats / tokens


@pytest.mark.parametrize("limit", [2**30, 0])
@pytest.mark.parametrize("room", [2**20, 40])
@pytest.mark.parametrize("family", ["llama", "gpt-j", "gemma2", "granite"])
def test_divergence_of_a_language_model_is_that_of_two_whole_passes(load, family, room, limit, monkeypatch):
    """Logits are a projection, with a bias, capped, scaled; read in parts; predictions are kept, or made again."""
    monkeypatch.setitem(readout._ROOM, "cpu", room)
    monkeypatch.setattr(reusing.PlainStates.__init__, "__kwdefaults__", {"limit": limit})
    model = load(family)
    judge = Judge(model, api.make_set(model, TEXTS))
    assert model.readout._projects is None
    for one in REMOVED:
        rows = {columns["metric"]: columns for columns, _ in judge.compared(one)}
        wanted = by_hand(model, judge.set, one)
        assert rows[KL]["value"] == rows[KL]["delta"] == pytest.approx(wanted, rel=1e-3, abs=2e-7)
        assert wanted > 1e-5
        assert rows[KL]["full"] == rows[KL]["chance"] == 0
        assert 0 <= rows[KL]["low"] <= rows[KL]["value"] <= rows[KL]["high"]
        assert math.isnan(rows[KL]["p"])
    assert model.readout._projects == (family not in CAPPED)


def test_divergence_in_half_precision_is_that_of_the_rounded_logits(load):
    model = load("llama", dtype="bfloat16")
    judge = Judge(model, api.make_set(model, TEXTS))
    assert judge.outcome(REMOVED[0]).scores[KL] == pytest.approx(by_hand(model, judge.set, REMOVED[0]), rel=1e-3)


def test_divergence_of_a_classifier_is_that_of_two_whole_passes(tmp_path):
    model = headroom.load(write_encoder(tmp_path, "bert", layers=2), device="cpu")
    text = toy_text(examples=12)
    pairs = [(*sides, label) for *sides, label in zip(*text.sides, text.labels, strict=True)]
    judged = api.make_set(model, pairs)
    judge, one = Judge(model, judged), Intervention.without(Head("E", 2, 1))
    total = 0.0
    with torch.inference_mode():
        for batch in judged.batches(model):
            full = model.logits(batch).log_softmax(-1)
            with model.gates.applied(one):
                total += float(kl_div(model.logits(batch).log_softmax(-1), full, log_target=True, reduction="sum"))
    assert judge.outcome(one).scores[KL] == pytest.approx(total / 12, rel=1e-4)
    assert judge.outcome(PLAIN).scores[KL] == 0


@pytest.mark.parametrize("family", ["llama", "gemma2"])
def test_nothing_diverges_from_itself(load, family):
    model = load(family)
    judge = Judge(model, api.make_set(model, TEXTS))
    unchanged = Intervention.parse("D1:1*1.0")
    plain = judge.set.judge_under(model, unchanged, judge.full, None)
    assert judge.full.scores[KL] == 0
    assert plain.scores[KL] == pytest.approx(0, abs=1e-9)
    assert not model.gates.changed


def test_notebooks_get_divergences_beside_the_other_metrics(load):
    model = load("llama")
    frame = api.ablate(model, TEXTS)
    assert list(frame["metric"].unique()) == ["next", "loss", "bits", KL]
    own = frame[frame["metric"] == KL]
    assert (own["value"] > 0).all()
    assert own["p_holm"].isna().all()
    steps = api.curve(model, TEXTS, step=0.5)
    assert steps[steps["metric"] == KL]["value"].iloc[0] == 0


@torch.inference_mode()
def test_bits_per_byte_and_perplexity_are_those_of_the_loss(load):
    model = load("llama")
    judged = api.make_set(model, TEXTS)
    (batch,) = judged.batches(model)
    nats = float(model.losses(batch)[0].sum())
    tokens = sum(len(text.split()) - 1 for text in TEXTS)
    size = sum(len(text.encode()) - 1 for text in TEXTS)  # the first letter is context
    scores = judged.judge(model).scores
    assert scores["bits"] == pytest.approx(nats / math.log(2) / size)
    rows = pandas.DataFrame(
        [{"metric": name, "value": scores[name], "low": 0.0, "high": 1.0} for name in judged.metrics]
    )
    shown = with_perplexity(rows).set_index("metric")
    assert list(shown.index) == ["next", "loss", "perplexity", "bits"]
    assert list(shown.loc["perplexity"]) == pytest.approx([math.exp(nats / tokens), 1.0, math.e])
    others = rows[rows["metric"] != "bits"]
    assert with_perplexity(others).equals(others)
