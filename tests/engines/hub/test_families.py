"""Every family of models: gates, maps, removal, files and generation with cache, on small models of random weights."""

import copy
import logging
import subprocess
import sys
from itertools import product
from pathlib import Path

import headroom.sliced  # noqa: F401
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, parse_profile
from headroom.core.interventions import Intervention
from headroom.models import families, verification
from headroom.models.find_sites import find_sites
from headroom.models.gates import Gates
from headroom.models.removal import fold, remove_heads
from headroom.models.sites import site_names
from headroom.models.verification import Trial, check_interventions, check_maps, count_uses
from missing_software import skip
from models import (
    FAMILIES,
    MASKED_ONLY,
    SEQ2SEQ,
    TASKS,
    best_attention,
    build_small,
    inputs_of,
    letter_tokenizer,
    prompt_of,
    toy_configuration,
    toy_model,
    write_language_model,
)
from oracles import drawn_replacements


@torch.no_grad()
def outcome(model, family):
    """Return the logits of a pass, and those of a generation with its cache."""
    found = [model(**inputs_of(family))[0]]
    if prompt := prompt_of(family):
        given = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "num_beams": 1}
        found += model.generate(**prompt, **given, output_logits=True, return_dict_in_generate=True).logits
    return found


def assert_same(model, family, expected, about):
    for step, (one, other) in enumerate(zip(outcome(model, family), expected, strict=True)):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5, msg=lambda text: f"{about}, step {step}: {text}")  # noqa: B023


def check_gates(family):
    """z of a head is zero under its gate; the head matters; and the gradient is that of finite differences."""
    model = build_small(family).double()
    sites, inputs = find_sites(model), inputs_of(family)
    gates = Gates(sites=sites)
    direction = torch.randn(model(**inputs)[0].shape, generator=torch.Generator().manual_seed(1)).double()

    def loss(site, values):
        gates.set({site: values})
        return (model(**inputs)[0] * direction).mean()

    for site in site_names(sites):
        gate = torch.ones(site.heads, dtype=torch.double, requires_grad=True)
        loss(site, gate).backward()
        step = torch.zeros_like(gate)
        step[1] = 0.005
        small, large = (
            (loss(site, gate.detach() + n * step) - loss(site, gate.detach() - n * step)) / 2 / n / step[1]
            for n in (1, 2)
        )
        assert gate.grad[1].abs() > 1e-5
        torch.testing.assert_close(gate.grad[1], (4 * small - large) / 3, rtol=0, atol=1e-5)  # error of order 4
    seen = {}
    gates.apply(Intervention(frozenset(Head(site.kind, site.layer, 2) for site in site_names(sites))))
    with gates.observed(seen.__setitem__):
        model(**inputs)
    assert all(not z[..., 1, :].any() and z[..., 0, :].any() for z in seen.values())
    assert {site.kind for site in seen} == ({"E", "A", "D"} if family in SEQ2SEQ else {site_names(sites)[0].kind})


def interventions(sites):
    """Return removals: whole and uneven groups, an emptied first layer, no heads at all, and heads with stand-ins."""
    first, last = sites[0], sites[-1]
    uneven = {Head(site.kind, site.layer, head) for site in sites for head in range(1, site.layer + 2)}
    return {
        "uneven": Intervention(frozenset(uneven), scale=((Head(last.kind, last.layer, 6), 0.5),)),
        "group": Intervention(frozenset(Head(last.kind, last.layer, head) for head in (1, 2, 3))),
        "layer": Intervention(frozenset(first.head_names())),
        "means": Intervention(frozenset([first.head_names()[1], *last.head_names()]), replacement="mean"),
        "all": Intervention(frozenset(head for site in sites for head in site.head_names())),
    }


def load(directory, family):
    builder = getattr(transformers, TASKS[family])
    how = {"attn_implementation": best_attention(family)}
    model, report = builder.from_pretrained(directory, output_loading_info=True, **how)
    assert not any(report.values())
    return model


def check_removal(family, place):
    """Sliced models are the masked one, also as transformers loads them from a directory, and once more."""
    whole = build_small(family)
    for name, one in interventions(site_names(find_sites(whole))).items():
        masked, sliced = copy.deepcopy(whole), copy.deepcopy(whole)
        sites = find_sites(sliced)
        replacements = drawn_replacements(sites)
        with Gates(sites=find_sites(masked)).applied(one, replacements):
            expected = outcome(masked, family)
        fold(sites, one, replacements)
        remove_heads(sites, set(sorted(one.removed)[:1]))
        remove_heads(sites, one.removed)
        assert_same(sliced, family, expected, name)
        if name in ("uneven", "layer", "means"):
            write_language_model(place / name, sliced, letter_tokenizer(), sites)
            again = load(place / name, family)
            assert_same(again, family, expected, f"{name}, reloaded")
            again.save_pretrained(place / f"{name}-again")
            assert_same(load(place / f"{name}-again", family), family, expected, f"{name}, saved and reloaded")


@pytest.mark.parametrize("family", FAMILIES)
def test_gates_maps_and_removal_of_a_family(family, tmp_path, monkeypatch):
    check_gates(family)
    check_maps(build_small(family, "eager"), Trial(inputs_of(family)))
    monkeypatch.setattr(verification, "_SHARE", 0.0)
    reason = check_interventions(build_small(family), Trial(inputs_of(family), prompt_of(family)))
    assert MASKED_ONLY.get(family, "") in reason
    assert bool(reason) == (family in MASKED_ONLY)
    if not reason:
        check_removal(family, tmp_path)


def test_heads_that_are_not_found_are_refused():
    """z of ConvBERT also has features of a convolution, and all heads of XLNet are one parameter."""
    small = {"hidden_size": 16, "num_attention_heads": 4, "num_hidden_layers": 1}
    for config, message in (
        (transformers.ConvBertConfig(**small, head_ratio=1), "0 layers that may be its output"),
        (transformers.XLNetConfig(d_model=16, n_head=4, n_layer=1), "one parameter"),
    ):
        model = transformers.AutoModelForSequenceClassification.from_config(config)
        with pytest.raises(HeadroomError, match=message) as raised:
            find_sites(model)
        assert "\n" not in str(raised.value)


def test_repeated_layers_are_counted_without_an_entry(monkeypatch):
    monkeypatch.setattr(families, "FAMILIES", ())
    assert count_uses(build_small("albert"), Trial(inputs_of("albert"))) == {Site("E", 1, 6): 2}


def test_a_check_leaves_the_model_as_it_was():
    for lively, attention in ((True, "eager"), (True, "sdpa"), (False, "eager"), (False, "sdpa")):
        model = toy_model(toy_configuration("bert"), lively=lively, attention=attention)
        modules, tensors = list(model.modules()), {name: value.clone() for name, value in model.state_dict().items()}
        assert check_interventions(model, Trial(inputs_of("bert"))) == ""
        assert all(module is other for module, other in zip(model.modules(), modules, strict=True))
        assert not any(module._forward_pre_hooks for module in modules)
        assert all(torch.equal(value, tensors[name]) for name, value in model.state_dict().items())
        assert [live.kept for live in find_sites(model)] == [(1, 2, 3, 4)] * 2


def test_heads_that_do_not_stand_in_blocks_are_masked_only():
    model = toy_model(toy_configuration("bert"))
    attention = model.bert.encoder.layer[0].attention.self
    attention.register_forward_hook(lambda *passed: (passed[-1][0].roll(2, -1), None))
    assert check_interventions(model, Trial(inputs_of("bert"))) == "the sliced model differs from the masked model"


def test_the_cache_shrinks_with_a_whole_group_however_it_goes():
    for family, steps in product(("llama", "phi-3", "qwen3", "gemma3"), ([(1, 2, 3)], [(1, 3), (2,)])):
        model = build_small(family)
        before = model(**inputs_of(family), use_cache=True).past_key_values
        sites = find_sites(model)
        for step in steps:
            remove_heads(sites, {Head("D", layer, head) for layer in (1, 2) for head in step})
        after = model(**inputs_of(family), use_cache=True).past_key_values
        sizes = [[layer.keys.nbytes for layer in cache.layers] for cache in (before, after)]
        assert sizes[1] == [size // 2 for size in sizes[0]], family


def test_layers_are_found_in_the_order_of_the_modules():
    for family in ("bert", "roberta", "distilbert", "electra", "deberta-v3", "deberta-v2"):
        model = toy_model(toy_configuration(family, layers=3, heads=2))
        sites = find_sites(model)
        assert site_names(sites) == [Site("E", 1, 2), Site("E", 2, 2), Site("E", 3, 2)]
        outputs = [module for module in model.modules() if module in [live.output for live in sites]]
        assert outputs == [live.output for live in sites], family


def test_a_pretrained_minilm_has_six_layers_of_twelve_heads():
    directory = Path(__file__).parents[3] / "data/models/minilm"
    if not directory.is_dir():
        skip("minilm")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(str(directory), local_files_only=True)
    assert site_names(find_sites(model)) == [Site("E", layer, 12) for layer in range(1, 7)]


def run_alone(code, *arguments):
    """Return what a process prints that has imported nothing yet."""
    found = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout


REFUSED_ALONE = """
import sys, transformers
try:
    transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1])
except ValueError as error:
    print(error)
"""

LOADED_ALONE = """
import sys, transformers, headroom.sliced
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1])
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
tokens = tokenizer("a b c", return_tensors="pt").input_ids
print(model.generate(tokens, max_new_tokens=4, min_new_tokens=4, do_sample=False)[0].tolist())
from transformers.utils import import_utils, logging
print(import_utils.is_scipy_available(), logging.get_verbosity())
"""


@pytest.mark.long
def test_two_lines_load_a_sliced_model_in_a_new_process_and_one_does_not(tmp_path):
    """The import leaves transformers as it was: its other packages, and its warnings."""
    model = build_small("qwen2")
    sites = find_sites(model)
    remove_heads(sites, parse_profile("D1:2 D2:1 D2:2 D2:3", site_names(sites)))
    write_language_model(tmp_path / "sliced", model, letter_tokenizer(), sites)
    with pytest.raises(Exception, match="ignore_mismatched_sizes"):
        type(model).from_pretrained(tmp_path / "sliced")
    assert "model type `headroom-sliced`" in run_alone(REFUSED_ALONE, str(tmp_path / "sliced"))
    tokens = letter_tokenizer()("a b c", return_tensors="pt").input_ids
    expected = model.generate(tokens, max_new_tokens=4, min_new_tokens=4, do_sample=False)[0].tolist()
    printed = run_alone(LOADED_ALONE, str(tmp_path / "sliced"))
    assert printed.splitlines() == [str(expected), f"True {logging.WARNING}"]
