"""Means are added after the gate; resampled z is that of another example."""

from string import ascii_lowercase

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.engines.gates import Replacements
from headroom.engines.hub.causal.model import CausalModel
from models import build_small, letter_tokenizer, write_language_model
from oracles import drawn_replacements


@torch.no_grad()
def seen_z(model, batch):
    """Return every site's z, (T, B, H, d)."""
    seen = {}
    with model.gates.observed(lambda site, z: seen.update({site: z.clone()})):
        model.losses(batch)
    return seen


@torch.no_grad()
def test_what_stands_in_is_added_after_the_gate(lively, texts):
    (batch,) = lively.batches(*texts, sentences=12)
    replacements = drawn_replacements(lively.live_sites)
    site, plain = lively.sites[0], seen_z(lively, batch)
    one = Intervention.parse(f"{site}:2 {site}:3*0.5 mean")
    with lively.gates.applied(one, replacements):
        z = seen_z(lively, batch)[site]
    expected = replacements.means[site][1].float()
    torch.testing.assert_close(z[:, :, 1], expected.expand_as(z[:, :, 1]))
    torch.testing.assert_close(z[:, :, 2], plain[site][:, :, 2] / 2)
    torch.testing.assert_close(z[:, :, [0, 3]], plain[site][:, :, [0, 3]])


@torch.no_grad()
def test_resampled_heads_say_what_they_say_of_another_example(lively, texts):
    (batch,) = lively.batches(*texts, sentences=12)
    replacements = Replacements({}, seed=3)
    others = replacements.other_examples(12)
    assert sorted(others.tolist()) == list(range(12))
    assert not (others == torch.arange(12)).any()
    site, plain = lively.sites[0], seen_z(lively, batch)
    with lively.gates.applied(Intervention.parse(f"{site}:2 resample"), replacements):
        z = seen_z(lively, batch)[site]
    assert torch.equal(z[:, :, 1], plain[site][:, others, 1])
    assert torch.equal(z[:, :, [0, 2, 3]], plain[site][:, :, [0, 2, 3]])
    assert torch.equal(seen_z(lively, batch)[site], plain[site])


@torch.no_grad()
def test_heads_that_attend_to_the_first_piece_alone_say_its_value(tmp_path):
    written = write_language_model(tmp_path / "epoch1", build_small("llama"), letter_tokenizer(ascii_lowercase))
    model = CausalModel.load(written, "cpu")
    (batch,) = model.sentence_batches(["a b c d e", "f g h"], 2)
    live, plain, values = model.live_sites[0], seen_z(model, batch), []
    hook = live.value.register_forward_hook(lambda _, __, output: values.append(output))
    with model.gates.applied(Intervention.parse("D1:2 D1:4 first")):
        z = seen_z(model, batch)[live.site]  # (T, B, H, d)
    hook.remove()
    first = live.split_values(values[0])[:, 0]  # (B, H, d)
    torch.testing.assert_close(z[:, :, [1, 3]], first[None, :, [1, 3]].expand_as(z[:, :, [1, 3]]))
    assert not torch.allclose(plain[live.site][1:, :, 1], z[1:, :, 1])
    assert torch.equal(z[:, :, [0, 2, 4, 5]], plain[live.site][:, :, [0, 2, 4, 5]])


@pytest.mark.parametrize("examples", [1, 2, 5, 64])
def test_the_order_of_examples_depends_on_the_seed_alone(examples):
    first, again, other = (Replacements({}, seed=seed).other_examples(examples) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (examples < 3)


def test_means_of_another_model_or_none_are_refused(lively):
    one = Intervention.without(Head("E", 1, 1), replacement="mean")
    with pytest.raises(HeadroomError, match="measure them first"):
        lively.gates.apply(one)
    with pytest.raises(HeadroomError, match="site E1: no mean z; measure the means"):
        lively.gates.apply(one, Replacements({}))
    repaired = Intervention.without(Head("E", 1, 1), repair="obs")
    with pytest.raises(HeadroomError, match="measure them first"):
        lively.gates.apply(repaired)
    with pytest.raises(HeadroomError, match="intervention 'E1:1 obs': its repair is unknown; measure z first"):
        lively.gates.apply(repaired, Replacements({}))
