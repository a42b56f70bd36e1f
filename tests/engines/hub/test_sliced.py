"""Sliced models of every family as transformers loads them from a directory: they are the silenced originals."""

import logging
import subprocess
import sys

import headroom.sliced  # noqa: F401
import pytest
import torch
import transformers
from headroom.core.heads import Head, parse_profile
from headroom.core.interventions import Intervention
from headroom.engines.gates import Gates, Replacements
from headroom.engines.hub.sites import find_sites
from headroom.engines.removal import fold, remove_heads
from headroom.engines.sites import site_names
from models import (
    EAGER_ONLY,
    FAMILIES,
    MASKED_ONLY,
    REFUSED,
    TASKS,
    build_small,
    inputs_of,
    letter_tokenizer,
    prompt_of,
    write_language_model,
)

CHOSEN = [family for family in FAMILIES if family not in {*REFUSED, *MASKED_ONLY}]


def outcome(model, family):
    """Return the logits of a pass, and those of a generation with its cache."""
    found = [model(**inputs_of(family))[0]]
    if prompt := prompt_of(family):
        given = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "num_beams": 1}
        found += model.generate(**prompt, **given, output_logits=True, return_dict_in_generate=True).logits
    return found


def assert_same(model, family, expected):
    for one, other in zip(outcome(model, family), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def removals(sites):
    """Return sets of heads: an uneven number of each layer, the first group of the last layer, the first layer."""
    first, last = sites[0], sites[-1]
    return {
        "uneven": {Head(site.kind, site.layer, head) for site in sites for head in range(1, site.layer + 2)},
        "group": {Head(last.kind, last.layer, head) for head in (1, 2, 3)},
        "layer": set(first.head_names()),
        "same": {Head(site.kind, site.layer, head) for site in sites for head in (2, 5)},
    }


def load(directory, family):
    builder = getattr(transformers, TASKS[family])
    how = {"attn_implementation": "eager"} if family in EAGER_ONLY else {}
    model, report = builder.from_pretrained(directory, output_loading_info=True, **how)
    assert not any(report.values())
    return model


@pytest.mark.parametrize("removed", ["uneven", "group", "layer", "same"])
@pytest.mark.parametrize("family", CHOSEN)
def test_a_sliced_model_is_loaded_saved_and_loaded_by_transformers(family, removed, tmp_path):
    model = build_small(family, "eager" if family in EAGER_ONLY else "sdpa")
    sites = find_sites(model)
    gone = removals(site_names(sites))[removed]
    gates = Gates(sites=sites, batch_first=True)
    with gates.masked(gone):
        expected = outcome(model, family)
    remove_heads(sites, gone)
    write_language_model(tmp_path / "sliced", model, letter_tokenizer(), sites)
    with pytest.raises(Exception, match="ignore_mismatched_sizes"):
        type(model).from_pretrained(tmp_path / "sliced")
    again = load(tmp_path / "sliced", family)
    assert_same(again, family, expected)
    again.save_pretrained(tmp_path / "again")
    assert_same(load(tmp_path / "again", family), family, expected)


def test_a_bias_that_replaces_heads_by_their_means_is_loaded(tmp_path):
    """Llama has no biases: one is added where heads were folded, also where no head is left."""
    model = build_small("llama")
    sites = find_sites(model)
    gone = frozenset({Head("D", 1, 2), *site_names(sites)[1].head_names()})
    means = {site: torch.randn(site.heads, 4) for site in site_names(sites)}
    intervention, replacements = Intervention(gone, replacement="mean"), Replacements(means=means)
    with Gates(sites=sites, batch_first=True).applied(intervention, replacements):
        expected = outcome(model, "llama")
    fold(sites, intervention, replacements)
    remove_heads(sites, gone)
    write_language_model(tmp_path / "sliced", model, letter_tokenizer(), sites)
    assert_same(load(tmp_path / "sliced", "llama"), "llama", expected)


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
pieces = tokenizer("a b c", return_tensors="pt").input_ids
print(model.generate(pieces, max_new_tokens=4, min_new_tokens=4, do_sample=False)[0].tolist())
from transformers.utils import import_utils, logging
print(import_utils.is_scipy_available(), logging.get_verbosity())
"""


def test_two_lines_load_a_sliced_model_in_a_new_process_and_one_does_not(tmp_path):
    """The import leaves transformers as it was: its other packages, and its warnings."""
    model = build_small("qwen2")
    sites = find_sites(model)
    remove_heads(sites, parse_profile("D1:2 D2:1 D2:2 D2:3", site_names(sites)))
    write_language_model(tmp_path / "sliced", model, letter_tokenizer(), sites)
    assert "model type `headroom-sliced`" in run_alone(REFUSED_ALONE, str(tmp_path / "sliced"))
    pieces = letter_tokenizer()("a b c", return_tensors="pt").input_ids
    expected = model.generate(pieces, max_new_tokens=4, min_new_tokens=4, do_sample=False)[0].tolist()
    printed = run_alone(LOADED_ALONE, str(tmp_path / "sliced"))
    assert printed.splitlines() == [str(expected), f"True {logging.WARNING}"]
