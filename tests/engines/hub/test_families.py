"""Every family of models: gates, removal, reloading and generation with cache, on small models with random weights."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.engines.gates import Gates
from headroom.engines.hub import families, verification
from headroom.engines.hub.sites import find_sites
from headroom.engines.hub.verification import Trial, check_interventions, check_maps
from headroom.engines.removal import remove_heads
from headroom.engines.sites import site_names
from models import (
    EAGER_ONLY,
    FAMILIES,
    MASKED_ONLY,
    REFUSED,
    SEQ2SEQ,
    build_small,
    inputs_of,
    prompt_of,
)


@pytest.fixture(params=[family for family in FAMILIES if family not in REFUSED])
def family(request):
    return request.param


def test_sliced_and_reloaded_are_masked_to_the_last_digits(family, monkeypatch):
    """Whole and uneven groups, an emptied first layer and no heads at all; logits and generation with cache."""
    monkeypatch.setattr(verification, "_SHARE", 0.0)
    model = build_small(family, "eager" if family in EAGER_ONLY else "sdpa")
    reason = check_interventions(model, Trial(inputs_of(family), prompt_of(family)))
    assert MASKED_ONLY.get(family, "") in reason
    assert bool(reason) == (family in MASKED_ONLY)


def test_maps_of_all_sites_sum_to_one(family):
    check_maps(build_small(family, "eager"), Trial(inputs_of(family)))


def one_number(model, inputs, gates, site):
    """Return the function from the gates of a site to a projection of the logits."""
    logits = model(**inputs)[0]
    direction = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1)).double()

    def loss(values):
        gates.set({site: values})
        return (model(**inputs)[0] * direction).mean()

    return loss


def test_each_head_is_silenced_by_its_gate_alone(family):
    """z of a head is zero under its gate; the head matters; and the gradient is that of finite differences."""
    model = build_small(family, "eager" if family in EAGER_ONLY else "sdpa").double()
    sites, inputs = find_sites(model), inputs_of(family)
    gates = Gates(sites=sites, batch_first=True)
    for site in (live.site for live in sites):
        gate = torch.ones(site.heads, dtype=torch.double, requires_grad=True)
        loss = one_number(model, inputs, gates, site)
        loss(gate).backward()
        step = torch.zeros_like(gate)
        step[1] = 0.005
        small, large = (
            (loss(gate.detach() + n * step) - loss(gate.detach() - n * step)) / 2 / n / step[1] for n in (1, 2)
        )
        assert gate.grad[1].abs() > 1e-5
        torch.testing.assert_close(gate.grad[1], (4 * small - large) / 3, rtol=0, atol=1e-5)  # error of order 4
    seen = {}
    gates.apply(Intervention(frozenset(Head(site.kind, site.layer, 2) for site in site_names(sites))))
    with gates.observed(seen.__setitem__):
        model(**inputs)
    assert all(not z[..., 1, :].any() and z[..., 0, :].any() for z in seen.values())
    assert {site.kind for site in seen} == ({"E", "A", "D"} if family in SEQ2SEQ else {site_names(sites)[0].kind})


def refused_in_a_line(family, match):
    with pytest.raises(HeadroomError, match=match) as raised:
        check_interventions(build_small(family), Trial(inputs_of(family)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("refused", REFUSED)
def test_heads_that_cannot_be_told_apart_are_refused(refused):
    refused_in_a_line(refused, REFUSED[refused])


def test_shared_layers_of_a_type_that_is_not_known_to_have_them_are_refused(monkeypatch):
    monkeypatch.setattr(families, "FAMILIES", ())
    refused_in_a_line("albert", "module 1 runs 2 times in one pass, not 1")


@pytest.mark.parametrize("family", ["llama", "phi-3", "qwen3", "gemma3"])
def test_the_cache_shrinks_with_a_whole_group(family):
    model = build_small(family)
    before = model(**inputs_of(family), use_cache=True).past_key_values
    remove_heads(find_sites(model), {Head("D", layer, head) for layer in (1, 2) for head in (1, 2, 3)})
    after = model(**inputs_of(family), use_cache=True).past_key_values
    assert [layer.keys.nbytes for layer in after.layers] == [layer.keys.nbytes // 2 for layer in before.layers]


def test_neighbouring_query_heads_share_keys():
    """Query head h uses group h // (H / G): cutting the rows of another group gives another model."""
    model = build_small("llama")
    (first, _), keys = find_sites(model), model.model.layers[0].self_attn.k_proj.weight.clone()
    remove_heads([first], {Head("D", 1, head) for head in (1, 2, 3)})
    assert torch.equal(first.attention.k_proj.weight, keys[4:])
