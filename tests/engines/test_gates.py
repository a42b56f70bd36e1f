"""Gates on z: they act at every site and in every mode, on the head they name, and not at all when they are one."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, parse_head
from headroom.settings.answers import DecodingSettings
from models import ATTENTIONS

SITES = ["E1", "E2", "A1", "A2", "D1", "D2"]
LIMITS = DecodingSettings(length_factor=0, length_offset=6)


@pytest.fixture(params=["fairseq", *ATTENTIONS], ids=str)
def case(request):
    """A model of two layers and four heads of width 4, and a batch of twelve examples."""
    if request.param == "fairseq":
        model, texts = (request.getfixturevalue(name) for name in ("lively", "texts"))
        return model, model.batches(*texts, sentences=12)[0]
    model = request.getfixturevalue("load")(*request.param)
    return model, model.batches(request.getfixturevalue("pairs"), examples=12)[0]


@torch.no_grad()
def logits(model, batch):
    torch.manual_seed(0)  # of dropout
    return model.logits(batch)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_a_mask_acts_on_the_head_it_names_in_train_and_eval(case, training):
    model, batch = case
    model.model.train(training)
    plain = logits(model, batch)
    for live in model.live_sites:
        with model.gates.masked([live.kept_heads()[1]]):
            masked = logits(model, batch)
        assert (masked - plain).abs().max() > 1e-3
        before = live.output.weight.clone()
        live.output.weight[:, 4:8] = 0  # what the output projection reads of head 2
        torch.testing.assert_close(masked, logits(model, batch), rtol=1e-5, atol=1e-5)
        live.output.weight.copy_(before)
    assert torch.equal(logits(model, batch), plain)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("shape", [(4,), (12, 4)])
@pytest.mark.parametrize("case", ["fairseq", ("bert", "eager"), ("bert", "sdpa")], indirect=True, ids=str)
def test_gates_of_one_are_the_plain_model_to_the_bit(case, shape, training):
    model, batch = case
    model.model.train(training)
    plain = logits(model, batch)
    model.gates.set({site: torch.ones(shape) for site in model.sites})
    assert torch.equal(logits(model, batch), plain)
    model.gates.clear()
    assert torch.equal(logits(model, batch), plain)


def test_rows_of_a_gate_act_on_their_example_alone(case):
    model, batch = case
    rows = torch.ones(12, 4)
    rows[3, 1] = rows[7, 2] = 0
    for site in model.sites:
        model.gates.set({site: rows})
        found = logits(model, batch)
        model.gates.clear()
        expected = logits(model, batch).clone()
        for row, head in ((3, 2), (7, 3)):
            with model.gates.masked([Head(site.kind, site.layer, head)]):
                expected[row] = logits(model, batch)[row]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_observers_see_gated_z_by_site_and_head_time_first(case):
    model, batch = case
    last, seen = model.sites[-1], {}
    removed = Head(last.kind, last.layer, 3)
    with model.gates.masked([removed]), model.gates.observed(lambda site, z: seen.update({site: z})):
        logits(model, batch)
    order = "E1 E2 D1 A1 D2 A2" if len(model.sites) == 6 else "E1 E2"
    assert " ".join(map(str, seen)) == order  # as the data goes
    source, target = (getattr(batch, name, None) for name in ("source", "previous"))
    lengths = [x.shape[1] for x in (source, target) if x is not None] or [batch.inputs["input_ids"].shape[1]]
    assert seen[model.sites[0]].shape == (lengths[0], 12, 4, 4)
    assert seen[last].shape == (lengths[-1], 12, 4, 4)
    assert [bool(seen[last][:, :, head].any()) for head in range(4)] == [True, True, False, True]


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra"])
def test_both_backends_say_the_same_under_any_gate(load, pairs, family):
    models = [load(family, attention) for attention in ("eager", "sdpa")]
    assert [model.model.config._attn_implementation for model in models] == ["eager", "sdpa"]
    generator = torch.Generator().manual_seed(0)
    for shape in ((4,), (12, 4)):
        gates = {site: 2 * torch.rand(shape, generator=generator) - 0.5 for site in models[0].sites}
        found = []
        for model in models:
            (batch,) = model.batches(pairs, examples=12)
            model.gates.set(gates)
            found.append(logits(model, batch))
            model.gates.clear()
            assert (found[-1] - logits(model, batch)).abs().max() > 1e-3
        torch.testing.assert_close(*found, rtol=1e-5, atol=1e-5)


@pytest.fixture
def batch(lively, texts):
    return lively.batches(*texts, sentences=12)[0]


def generated_logits(model, batch, beam):
    """Return the logits of the first piece, as they come up in generation."""
    seen = []
    handle = model.model.decoder.output_projection.register_forward_hook(
        lambda *args: seen.append(args[-1][:, -1].clone())
    )
    model.translate_pieces([batch], LIMITS, beam=beam)
    handle.remove()
    return seen[0]


@pytest.mark.parametrize("beam", [1, 5])
def test_a_mask_acts_in_generation(lively, batch, beam):
    plain = generated_logits(lively, batch, beam)
    for site in SITES:
        with lively.gates.masked([parse_head(f"{site}:4")]):
            masked = generated_logits(lively, batch, beam)
        assert (masked - plain).abs().max() > 1e-3
        assert torch.equal(generated_logits(lively, batch, beam), plain)


def test_one_batch_carries_several_masks_in_greedy_generation(lively, texts):
    sources = [texts[0][0]] * 3
    batches = lively.batches(sources, sentences=3)
    masks = [frozenset(), frozenset(lively.sites[1].head_names()), frozenset(lively.sites[4].head_names())]
    rows = {
        site: torch.tensor([[float(head not in mask) for head in site.head_names()] for mask in masks])
        for site in lively.sites
    }
    lively.gates.set(rows)
    together = lively.translate_pieces(batches, LIMITS)
    alone = []
    for mask in masks:
        with lively.gates.masked(mask):
            alone += lively.translate_pieces(lively.batches(sources[:1], sentences=1), LIMITS)
    assert together == alone
    assert len({tuple(row) for row in alone}) > 1


def test_masks_end_with_their_block_even_after_an_error(lively, batch):
    plain = logits(lively, batch)
    with pytest.raises(RuntimeError, match="inside"), lively.gates.masked([Head("E", 1, 1)]):
        raise RuntimeError("inside")
    assert torch.equal(logits(lively, batch), plain)


@pytest.mark.parametrize(
    ("case", "name", "message"),
    [
        ("fairseq", "E1:5", "E1 has 4 heads"),
        ("fairseq", "A3:1", "sites are E1 E2 A1 A2 D1 D2"),
        (("bert", "sdpa"), "D1:1", "sites are E1 E2"),
    ],
    indirect=["case"],
)
def test_a_head_the_model_does_not_have_is_named(case, name, message):
    model, batch = case
    plain = logits(model, batch)
    with pytest.raises(HeadroomError, match=f"head {name}: does not exist.*{message}"):
        model.gates.mask([parse_head(name)])
    assert torch.equal(logits(model, batch), plain)


def test_a_gate_of_another_width_is_refused(lively):
    with pytest.raises(ValueError, match="gate of E1: 3 heads instead of 4"):
        lively.gates.set({lively.sites[0]: torch.ones(3)})
