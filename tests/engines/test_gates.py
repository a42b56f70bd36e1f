"""Gates on z: they act at every site and in every mode, on the head they name, and not at all when they are one."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, parse_head
from headroom.settings.experiments import DecodingSettings

SITES = ["E1", "E2", "A1", "A2", "D1", "D2"]
LIMITS = DecodingSettings(length_factor=0, length_offset=6)


@pytest.fixture
def batch(lively, texts):
    return lively.batches(*texts, sentences=12)[0]


@torch.no_grad()
def logits(model, batch, seed=0):
    torch.manual_seed(seed)
    return model.model(batch.source, batch.lengths, batch.previous)[0]  # (B, T, V)


def generated_logits(model, batch, beam):
    """Return the logits of the first piece, as they come up in generation."""
    seen = []
    handle = model.model.decoder.output_projection.register_forward_hook(
        lambda *args: seen.append(args[-1][:, -1].clone())
    )
    model.translate_pieces([batch], LIMITS, beam=beam)
    handle.remove()
    return seen[0]


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("site", SITES)
def test_a_mask_acts_on_the_head_it_names_in_train_and_eval(lively, batch, site, training):
    lively.model.train(training)
    head = parse_head(f"{site}:2")
    plain = logits(lively, batch)
    with lively.gates.masked([head]):
        masked = logits(lively, batch)
    assert (masked - plain).abs().max() > 1e-3
    live = next(live for live in lively.live_sites if str(live.site) == site)
    width = live.output.weight.shape[1] // 4
    live.output.weight[:, width : 2 * width] = 0  # what the output projection reads of head 2
    torch.testing.assert_close(masked, logits(lively, batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("site", SITES)
def test_a_mask_acts_in_generation(lively, batch, site, beam):
    plain = generated_logits(lively, batch, beam)
    with lively.gates.masked([parse_head(f"{site}:4")]):
        masked = generated_logits(lively, batch, beam)
    assert (masked - plain).abs().max() > 1e-3
    assert torch.equal(generated_logits(lively, batch, beam), plain)


def test_generation_is_masked_at_every_step_not_only_the_first(lively, texts):
    """Removing everything the decoder hears of the source makes all translations equal."""
    batches = lively.batches(texts[0], sentences=12)
    assert len({tuple(row) for row in lively.translate_pieces(batches, LIMITS)}) > 1
    deaf = [Head("A", layer, head) for layer in (1, 2) for head in (1, 2, 3, 4)]
    for beam in (1, 5):
        with lively.gates.masked(deaf):
            assert len({tuple(row) for row in lively.translate_pieces(batches, LIMITS, beam=beam)}) == 1


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("shape", [(4,), (12, 4)])
def test_gates_of_one_are_the_plain_model_to_the_bit(lively, batch, shape, training):
    lively.model.train(training)
    plain = logits(lively, batch)
    lively.gates.set({site: torch.ones(shape) for site in lively.sites})
    assert torch.equal(logits(lively, batch), plain)
    lively.gates.clear()
    assert torch.equal(logits(lively, batch), plain)


def test_a_gate_scales_what_the_output_projection_reads_of_a_head(lively, batch):
    live = lively.live_sites[2]
    lively.gates.set({live.site: torch.tensor([1.0, 0.25, 1.0, -2.0])})
    gated = logits(lively, batch)
    lively.gates.clear()
    live.output.weight[:, 4:8] *= 0.25
    live.output.weight[:, 12:] *= -2
    torch.testing.assert_close(gated, logits(lively, batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("site", SITES)
def test_rows_of_a_gate_act_on_their_example_alone(lively, batch, site):
    live = next(live for live in lively.live_sites if str(live.site) == site)
    rows = torch.ones(12, 4)
    rows[3, 1] = rows[7, 2] = 0
    lively.gates.set({live.site: rows})
    found = logits(lively, batch)
    lively.gates.clear()
    expected = logits(lively, batch).clone()
    for row, head in ((3, 2), (7, 3)):
        with lively.gates.masked([Head(live.site.kind, live.site.layer, head)]):
            expected[row] = logits(lively, batch)[row]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


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


def test_observers_see_gated_z_by_site_and_head(lively, batch):
    seen = {}
    with lively.gates.masked([Head("D", 2, 3)]), lively.gates.observed(lambda site, z: seen.update({str(site): z})):
        logits(lively, batch)
    assert list(seen) == ["E1", "E2", "D1", "A1", "D2", "A2"]  # as the data goes
    assert seen["E1"].shape == (batch.source.shape[1], 12, 4, 4)
    assert seen["D2"].shape == (batch.previous.shape[1], 12, 4, 4)
    assert [bool(seen["D2"][:, :, head].any()) for head in range(4)] == [True, True, False, True]


def test_masks_end_with_their_block_even_after_an_error(lively, batch):
    plain = logits(lively, batch)
    with pytest.raises(RuntimeError, match="inside"), lively.gates.masked([Head("E", 1, 1)]):
        raise RuntimeError("inside")
    assert torch.equal(logits(lively, batch), plain)


@pytest.mark.parametrize(("name", "message"), [("E1:5", "E1 has 4 heads"), ("A3:1", "sites are E1 E2 A1 A2 D1 D2")])
def test_a_head_the_model_does_not_have_is_named(lively, batch, name, message):
    plain = logits(lively, batch)
    with pytest.raises(HeadroomError, match=f"head {name} does not exist.*{message}"):
        lively.gates.mask([parse_head(name)])
    assert torch.equal(logits(lively, batch), plain)


def test_a_gate_of_another_width_is_refused(lively):
    with pytest.raises(ValueError, match="gate of E1: 3 heads instead of 4"):
        lively.gates.set({lively.sites[0]: torch.ones(3)})
