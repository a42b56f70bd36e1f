"""Sliced models compute what masked ones do, survive a file, and keep the names of their heads."""

import random

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, format_profile, parse_profile
from headroom.core.interventions import Intervention
from headroom.engines.head_model import realise
from headroom.engines.translation.checkpoint import DESCRIPTOR, load_state
from headroom.engines.translation.model import TranslationModel
from headroom.settings.experiments import DecodingSettings
from known_replacements import drawn_replacements, of_every_form

LIMITS = DecodingSettings(length_factor=0, length_offset=8)

NAMED = {
    "one head": "A2:3",
    "last head of a site": "E1:4",
    "emptied encoder site": "E1:1 E1:2 E1:3 E1:4",
    "emptied encoder-decoder site": "A2:1 A2:2 A2:3 A2:4 E2:1",
    "emptied decoder site": "D1:1 D1:2 D1:3 D1:4 D2:2",
    "uneven": "E1:1 E1:2 E1:3 E2:2 A1:1 A1:4 D2:1 D2:2 D2:3 D2:4",
}


def profiles(sites):
    """Return the profiles of `NAMED`, a few random ones, all heads but one per site, but one, and all."""
    heads = all_heads(sites)
    found = {name: parse_profile(text, sites) for name, text in NAMED.items()}
    for seed in range(4):
        generator = random.Random(seed)
        found[f"random {seed}"] = frozenset(generator.sample(heads, generator.randrange(1, len(heads))))
    found["all but one per site"] = frozenset(head for head in heads if head.head != 2)
    found["all but one"] = frozenset(heads) - {Head("D", 2, 1)}
    found["all"] = frozenset(heads)
    return found


PROFILES = [*NAMED, *(f"random {seed}" for seed in range(4)), "all but one per site", "all but one", "all"]


@torch.inference_mode()
def logits(model, batch):
    torch.manual_seed(0)
    return model.model(batch.source, batch.lengths, batch.previous)[0]


def size(model):
    return sum(parameter.numel() for parameter in model.model.parameters())


@pytest.fixture
def load(toy, lively_checkpoint):
    return lambda: TranslationModel.load(lively_checkpoint, toy.data, "cpu")


@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("name", PROFILES)
def test_the_sliced_model_is_the_masked_one_before_and_after_a_file(toy, load, texts, tmp_path, name, form):
    masked, sliced = load(), load()
    removed = profiles(masked.sites)[name]
    intervention, replacements = of_every_form(removed, masked.sites)[form], drawn_replacements(masked.live_sites)
    masked.gates.apply(intervention, replacements)
    realise(sliced, intervention, replacements)
    sliced.save(tmp_path / "sliced.pt")
    reloaded = TranslationModel.load(tmp_path / "sliced.pt", toy.data, "cpu")
    batches = masked.batches(*texts, sentences=5)
    expected = logits(masked, batches[-1])
    close = 1e-5 if form == 0 else 5e-5  # folded scales and means are added up in another order, in float32
    for other in (sliced, reloaded):
        torch.testing.assert_close(logits(other, batches[-1]), expected, rtol=1e-5, atol=close)
        assert other.translate(batches, LIMITS) == masked.translate(batches, LIMITS)
        assert [live.kept for live in other.live_sites] == [live.kept for live in sliced.live_sites]
        gone = set(all_heads(masked.sites)) - {head for live in other.live_sites for head in live.kept_heads()}
        assert gone == removed
    assert reloaded.translate(batches, LIMITS, beam=5) == masked.translate(batches, LIMITS, beam=5)


@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("name", ["uneven", "all but one per site"])
def test_they_agree_in_training_mode_too(load, texts, name, form):
    masked, sliced = load(), load()
    removed = profiles(masked.sites)[name]
    intervention, replacements = of_every_form(removed, masked.sites)[form], drawn_replacements(masked.live_sites)
    masked.gates.apply(intervention, replacements)
    realise(sliced, intervention, replacements)
    batch = masked.batches(*texts, sentences=12)[0]
    plain = logits(load(), batch)
    for model in (masked, sliced):
        model.model.train()
    torch.testing.assert_close(logits(sliced, batch), logits(masked, batch), rtol=1e-5, atol=1e-5)
    assert (logits(sliced, batch) - plain).abs().max() > 1e-3


@pytest.mark.parametrize("name", PROFILES)
def test_parameters_fall_by_exactly_what_the_heads_had(load, name):
    model = load()
    removed = profiles(model.sites)[name]
    before = size(model)
    model.remove(removed)
    # a head of width 4 in a model of width 16: rows and biases of query, key, value; columns of the output
    assert before - size(model) == len(removed) * (3 * (4 * 16 + 4) + 4 * 16)
    assert sum(len(live.kept) for live in model.live_sites) == 24 - len(removed)


def test_removing_nothing_changes_nothing(load):
    model, same = load(), load()
    same.remove(frozenset())
    expected = model.model.state_dict()
    found = same.model.state_dict()
    assert list(found) == list(expected)
    assert all(torch.equal(found[name], expected[name]) for name in found)


def test_heads_go_one_after_another_or_together(load, texts):
    together, stepwise = load(), load()
    batch = together.batches(*texts, sentences=12)[0]
    together.remove(parse_profile("E1:1 E1:3 D2:1 D2:2 D2:3 D2:4", together.sites))
    for step in ("E1:3 D2:2", "E1:1 E1:3", "", "D2:1 D2:4 D2:3", "D2:1"):  # those already gone are passed over
        stepwise.remove(parse_profile(step, stepwise.sites))
    assert torch.equal(logits(stepwise, batch), logits(together, batch))
    assert [live.kept for live in stepwise.live_sites] == [live.kept for live in together.live_sites]


def test_heads_of_a_sliced_model_keep_their_names(load, texts):
    full, sliced = load(), load()
    batch = full.batches(*texts, sentences=12)[0]
    sliced.remove(parse_profile("E1:1 A2:2", sliced.sites))
    for further in ("E1:3", "A2:4", "D1:1", "E1:1"):
        with full.gates.masked(parse_profile(f"E1:1 A2:2 {further}" if further != "E1:1" else "E1:1 A2:2", full.sites)):
            expected = logits(full, batch)
        with sliced.gates.masked(parse_profile(further, sliced.sites)):
            torch.testing.assert_close(logits(sliced, batch), expected, rtol=1e-5, atol=1e-5)


def test_gates_with_rows_work_on_a_sliced_model(load, texts):
    full, sliced = load(), load()
    batch = full.batches(*texts, sentences=12)[0]
    removed = parse_profile("E1:1 E1:4 A1:1 A1:2 A1:3 A1:4", sliced.sites)
    rows = torch.rand(12, 4, generator=torch.Generator().manual_seed(0))
    sliced.remove(removed)
    sliced.gates.set(dict.fromkeys(sliced.sites, rows))
    kept = {
        site: rows * torch.tensor([float(head not in removed) for head in site.head_names()]) for site in full.sites
    }
    full.gates.set(kept)
    torch.testing.assert_close(logits(sliced, batch), logits(full, batch), rtol=1e-5, atol=1e-5)


def test_the_file_says_what_was_removed_and_needs_no_code(load, tmp_path):
    model = load()
    removed = parse_profile(NAMED["uneven"], model.sites)
    model.remove(removed)
    model.save(tmp_path / "sliced.pt")
    state = load_state(tmp_path / "sliced.pt")
    torch.load(tmp_path / "sliced.pt", weights_only=True)
    assert state[DESCRIPTOR] == {"removed": format_profile(removed)} == {"removed": NAMED["uneven"]}
    assert state["model"]["encoder.layers.0.self_attn.q_proj.weight"].shape == (4, 16)


def test_a_sliced_file_can_be_sliced_further(toy, load, texts, tmp_path):
    masked, sliced = load(), load()
    sliced.remove(parse_profile("E2:1 D1:4", sliced.sites))
    sliced.save(tmp_path / "once.pt")
    again = TranslationModel.load(tmp_path / "once.pt", toy.data, "cpu")
    again.remove(parse_profile("E2:2 E2:3 E2:4 D1:1", again.sites))
    again.save(tmp_path / "twice.pt")
    assert load_state(tmp_path / "twice.pt")[DESCRIPTOR] == {"removed": "E2:1 E2:2 E2:3 E2:4 D1:1 D1:4"}
    last = TranslationModel.load(tmp_path / "twice.pt", toy.data, "cpu")
    masked.gates.mask(parse_profile("E2:1 E2:2 E2:3 E2:4 D1:1 D1:4", masked.sites))
    batch = masked.batches(*texts, sentences=12)[0]
    torch.testing.assert_close(logits(last, batch), logits(masked, batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("head", [Head("E", 1, 5), Head("D", 3, 1)])
def test_a_head_the_model_does_not_have_is_named_and_nothing_is_cut(load, head):
    model = load()
    before = size(model)
    with pytest.raises(HeadroomError, match=f"head {head} does not exist"):
        model.remove(frozenset([Head("E", 1, 1), head]))
    assert size(model) == before


def test_means_that_stand_in_are_in_the_bias_and_scales_in_the_columns(load):
    model, before = load(), load()
    intervention = Intervention.parse("E1:2 E1:3 E1:1*0.5 mean")
    replacements = drawn_replacements(model.live_sites)
    realise(model, intervention, replacements)
    old, new = (one.live_sites[0].output for one in (before, model))
    means = replacements.means[before.sites[0]][1:3].flatten().float()
    torch.testing.assert_close(new.bias, old.bias + old.weight[:, 4:12] @ means)
    torch.testing.assert_close(new.weight, torch.cat([old.weight[:, :4] * 0.5, old.weight[:, 12:]], dim=1))
    others = (one.live_sites[1].output.parameters() for one in (before, model))
    assert all(torch.equal(*pair) for pair in zip(*others))


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("E1:1 resample", "resampled heads cannot be sliced out; use zero or mean"),
        ("E1:1 mean", "what stands in for its heads is not known; measure replacements first"),
        ("E1:1 D3:1*2", "head D3:1 does not exist"),
    ],
)
def test_what_cannot_be_folded_is_refused_and_nothing_is_cut(load, written, told):
    model = load()
    before = size(model)
    with pytest.raises(HeadroomError, match=told):
        realise(model, Intervention.parse(written))
    assert size(model) == before


def test_a_site_without_an_output_bias_can_hold_no_mean(load):
    model = load()
    model.live_sites[0].output.bias = None
    with pytest.raises(HeadroomError, match="site E1 has no output bias that could hold means; use zero"):
        realise(model, Intervention.parse("E1:1 mean"), drawn_replacements(model.live_sites))


def test_a_file_that_names_a_head_it_cannot_have_is_refused(toy, load, tmp_path):
    state = load_state(toy.checkpoints[-1])
    torch.save({**state, DESCRIPTOR: {"removed": "E1:9"}}, tmp_path / "odd.pt")
    with pytest.raises(HeadroomError, match="head E1:9 does not exist"):
        TranslationModel.load(tmp_path / "odd.pt", toy.data, "cpu")
