"""Sites of decoders, whose projections hold queries, keys and values in other ways, or share keys and values."""

import copy

import pytest
import torch
import transformers
from headroom.core.heads import Head, Site
from headroom.core.interventions import Intervention
from headroom.engines.gates import Gates
from headroom.engines.removal import fold, remove_heads
from headroom.engines.sites import AttentionSite, Layout

SIZES = {"vocab_size": 20, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6, "intermediate_size": 8}
GROUPED = {**SIZES, "num_key_value_heads": 2, "pad_token_id": 0}
GROUPS = (0, 0, 0, 1, 1, 1)


def fused(name, **others):
    return {"queries": name, "keys": name, "values": name, **others}


FAMILIES = {
    "gpt2": (
        transformers.GPT2Config(vocab_size=20, n_embd=24, n_layer=2, n_head=6, n_inner=8),
        "transformer.h.{}",
        fused("c_attn", layout=Layout.FUSED, head_counts=("num_heads",), head_widths=("split_size",))
        | {"attribute": "attn", "output_place": "attn.c_proj"},
    ),
    "gpt-neox": (
        transformers.GPTNeoXConfig(**SIZES),
        "gpt_neox.layers.{}",
        fused("query_key_value", layout=Layout.INTERLEAVED, attribute="attention", output_place="attention.dense"),
    ),
    "llama": (
        transformers.LlamaConfig(**GROUPED),
        "model.layers.{}",
        {"queries": "q_proj", "keys": "k_proj", "values": "v_proj", "groups": GROUPS}
        | {"attribute": "self_attn", "output_place": "self_attn.o_proj", "group_sizes": ("num_key_value_groups",)},
    ),
    "phi3": (
        transformers.Phi3Config(**GROUPED),
        "model.layers.{}",
        fused("qkv_proj", layout=Layout.FUSED, groups=GROUPS, group_sizes=("num_key_value_groups",))
        | {"attribute": "self_attn", "output_place": "self_attn.o_proj"},
    ),
}
REMOVED = {
    "one head": (1,),
    "a whole group": (1, 2, 3),
    "one head of each group": (2, 6),
    "all but one": (1, 2, 3, 4, 6),
}


def sites_of(family, model):
    _, place, names = FAMILIES[family]
    layers = [model.get_submodule(place.format(layer)) for layer in range(2)]
    kept = tuple(range(1, 7))
    return [
        AttentionSite(site=Site("D", layer, 6), parent=parent, kept=kept, **names)
        for layer, parent in enumerate(layers, 1)
    ]


def count_in_configuration(live):
    """Let a Phi-3 attention have its own numbers of heads, which it reads from the configuration."""
    live.attention.config = copy.deepcopy(live.attention.config)
    live.attention.config.num_attention_heads = len(live.kept)
    live.attention.num_key_value_heads = max(live.groups) + 1


@torch.no_grad()
@pytest.mark.parametrize("removed", REMOVED)
@pytest.mark.parametrize("family", FAMILIES)
def test_sliced_is_masked_in_every_layout(family, removed):
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(FAMILIES[family][0]).eval()
    for weight in model.parameters():
        weight.normal_(std=0.3)
    masked, sliced = model, copy.deepcopy(model)
    heads = {Head("D", 1, head) for head in REMOVED[removed]}
    intervention = Intervention(frozenset(heads), scale=((Head("D", 2, 3), 0.5),))
    gates, sites = Gates(sites=sites_of(family, masked), batch_first=True), sites_of(family, sliced)
    fold(sites, intervention)
    remove_heads(sites, {Head("D", 1, REMOVED[removed][0])})
    remove_heads(sites, heads)
    if family == "phi3":
        count_in_configuration(sites[0])
    pieces = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    plain = masked(pieces).logits
    gates.apply(intervention)
    torch.testing.assert_close(sliced(pieces).logits, masked(pieces).logits, rtol=1e-5, atol=1e-5)
    assert (masked(pieces).logits - plain).abs().max() > 1e-2
    generated = [one.generate(pieces, max_new_tokens=4, do_sample=False) for one in (masked, sliced)]
    assert torch.equal(*generated)
