"""Sliced models compute what masked ones do, survive a file, and keep the names of their heads."""

import copy
import random

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, format_profile, parse_profile
from headroom.core.interventions import Intervention
from headroom.models.find_sites import find_sites
from headroom.models.gates import Gates
from headroom.models.removal import fold, remove_heads
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.sites import site_names
from headroom.settings.answers import DecodingSettings
from hypothesis import given, settings
from hypothesis import strategies as st
from models import INPUTS, toy_configuration, toy_model
from oracles import FORMS, drawn_replacements, of_every_form

LIMITS = DecodingSettings(length_factor=0, length_offset=8)
ENCODER = toy_model(toy_configuration("bert", layers=3), attention="sdpa")
_HEADS = [Head(kind, layer, head) for kind in "EAD" for layer in (1, 2) for head in (1, 2, 3, 4)]
PROFILES = {
    "one head": "A2:3",
    "last head of a site": "E1:4",
    "emptied encoder site": "E1:1 E1:2 E1:3 E1:4",
    "emptied encoder-decoder site": "A2:1 A2:2 A2:3 A2:4 E2:1",
    "emptied decoder site": "D1:1 D1:2 D1:3 D1:4 D2:2",
    "uneven": "E1:1 E1:2 E1:3 E2:2 A1:1 A1:4 D2:1 D2:2 D2:3 D2:4",
    "one per site left": format_profile([head for head in _HEADS if head.head != 2]),
    "one left": format_profile(set(_HEADS) - {Head("D", 2, 1)}),
    "all": format_profile(_HEADS),
    "random": format_profile(random.Random(0).sample(_HEADS, 11)),
}


@pytest.fixture
def translator(lively_checkpoint):
    """Return a function that loads the translation model of a path, by default one in which every head matters."""
    return lambda path=lively_checkpoint: Seq2SeqModel.load(path, "cpu")


@torch.no_grad()
def logits(model, batch):
    torch.manual_seed(0)
    return model.logits(batch)


def exact_logits(model, batch, *intervention):
    """Compute logits in float64, and leave the model in float32, under the intervention if one is given."""
    computed = []
    for precision in (torch.float64, torch.float32):
        model.model.to(precision)
        if intervention:
            model.gates.apply(*intervention)
        computed.append(logits(model, batch))
    assert computed[0].dtype == torch.float64
    torch.testing.assert_close(computed[1].double(), computed[0], rtol=1e-5, atol=5e-5)
    return computed[0]


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


@settings(max_examples=40)
@given(data=st.data())
def test_any_set_of_heads_sliced_is_the_same_masked(data):
    training, precision = data.draw(st.booleans()), data.draw(st.sampled_from([torch.float32, torch.float64]))
    masked, sliced = (copy.deepcopy(ENCODER).to(precision).train(training) for _ in "ms")
    sites = find_sites(masked)
    removed = data.draw(st.frozensets(st.sampled_from(all_heads(site_names(sites)))))
    intervention = data.draw(st.sampled_from(of_every_form(removed, site_names(sites))))
    replacements = drawn_replacements(sites)
    Gates(sites=sites).apply(intervention, replacements)
    live_sites = find_sites(sliced)
    fold(live_sites, intervention, replacements)
    remove_heads(live_sites, removed)
    with torch.no_grad():
        expected, found = masked(**INPUTS)[0], sliced(**INPUTS)[0]
    assert expected.dtype == precision
    tolerance = 1e-5 if precision == torch.float32 else 1e-12
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    assert {head for live in live_sites for head in live.kept_heads()} == {*all_heads(site_names(sites))} - removed


@pytest.mark.long
def test_any_set_of_heads_of_a_transformer_sliced_is_the_same_masked(translator, texts):
    plain = translator()
    plain.model.double()
    (batch,) = plain.batches(*(side[:3] for side in texts), sentences=3)

    @settings(max_examples=15)
    @given(data=st.data())
    def check(data):
        removed = data.draw(st.frozensets(st.sampled_from(all_heads(plain.sites))))
        intervention = data.draw(st.sampled_from(of_every_form(removed, plain.sites)))
        masked, sliced, replacements = translator(), translator(), drawn_replacements(plain.live_sites)
        training = data.draw(st.booleans())
        for model in (masked, sliced):
            model.model.double().train(training)
        masked.gates.apply(intervention, replacements)
        sliced.realise(intervention, replacements)
        torch.testing.assert_close(logits(sliced, batch), logits(masked, batch), rtol=1e-12, atol=1e-12)

    check()


@pytest.mark.parametrize("form", range(FORMS))
def test_a_sliced_transformer_is_the_masked_one_also_in_generation_and_after_a_file(translator, texts, tmp_path, form):
    for profile in [*PROFILES.values()][form::FORMS]:
        masked, sliced = translator(), translator()
        removed = parse_profile(profile, masked.sites)
        intervention = of_every_form(removed, masked.sites)[form]
        replacements = drawn_replacements(masked.live_sites)
        sliced.realise(intervention, replacements)
        sliced.save(tmp_path / "sliced")
        reloaded = translator(tmp_path / "sliced")
        (batch,) = masked.batches(*texts, sentences=12)
        plain, expected = (exact_logits(masked, batch, *given) for given in ((), (intervention, replacements)))
        close = 1e-11 if form == 0 else 5e-5  # scales and means were folded in float32
        batches = masked.batches(*(side[:5] for side in texts), sentences=5)
        for model in (sliced, reloaded):
            torch.testing.assert_close(exact_logits(model, batch), expected, rtol=0, atol=close)
            kept = {head for live in model.live_sites for head in live.kept_heads()}
            assert kept == set(all_heads(masked.sites)) - removed
            assert model.sites == masked.sites
            assert model.translate(batches, LIMITS) == masked.translate(batches, LIMITS)
        assert reloaded.translate(batches, LIMITS, beam=5) == masked.translate(batches, LIMITS, beam=5)
        assert (expected - plain).abs().max() > 1e-3


def test_parameters_fall_by_exactly_what_the_heads_had(translator, load):
    inputs = {"bert": 3, "distilbert": 3, "electra": 3, "deberta-v3": 3, "deberta-v2": 5}
    of_encoders = ("E2:3", "E1:1 E1:2 E1:3 E1:4", "E1:1 E1:2 E1:3 E2:2", "E1:1 E1:2 E1:3 E1:4 E2:1 E2:2 E2:3 E2:4")
    rows = [(translator, 3, profile) for profile in PROFILES.values()]
    rows += [(lambda family=family: load(family), inputs[family], gone) for family in inputs for gone in of_encoders]
    for make, projections, profile in rows:
        model = make()
        removed = parse_profile(profile, model.sites)
        before = size(model.model)
        model.remove(removed)
        # a head of width 4 in a model of width 16: rows and biases of the inputs, columns of the output
        assert before - size(model.model) == len(removed) * (projections * (4 * 16 + 4) + 4 * 16), profile
        assert sum(len(live.kept) for live in model.live_sites) == len(all_heads(model.sites)) - len(removed)


@pytest.fixture(params=["translator", "bert"])
def case(request):
    """A function that loads a model, and one that makes a batch for it."""
    if request.param == "translator":
        texts = request.getfixturevalue("texts")
        return request.getfixturevalue("translator"), lambda model: model.batches(*texts, sentences=12)[0]
    pairs = request.getfixturevalue("pairs")
    return request.getfixturevalue("load"), lambda model: model.batches(pairs, examples=12)[0]


def test_heads_of_a_sliced_model_keep_their_names(case):
    make, batch_for = case
    full, sliced = make(), make()
    batch, last = batch_for(full), full.sites[-1]
    gone = parse_profile(f"E1:1 {last}:2", full.sites)
    sliced.remove(gone)
    for further in ("E1:3", f"{last}:4", "E2:1", "E1:1"):
        more = parse_profile(further, full.sites)
        with full.gates.masked(gone | more):
            expected = logits(full, batch)
        with sliced.gates.masked(more):
            torch.testing.assert_close(logits(sliced, batch), expected, rtol=1e-5, atol=1e-5)


def test_gates_with_rows_work_on_a_sliced_model(case):
    make, batch_for = case
    full, sliced = make(), make()
    batch, last = batch_for(full), full.sites[-1]
    removed = frozenset([*parse_profile("E1:1 E1:4", full.sites), *(last.head_names() if last.kind == "D" else ())])
    rows = torch.rand(12, 4, generator=torch.Generator().manual_seed(0))
    sliced.remove(removed)
    sliced.gates.set(dict.fromkeys(sliced.sites, rows))
    kept = {site: [float(head not in removed) for head in site.head_names()] for site in full.sites}
    full.gates.set({site: rows * torch.tensor(stay) for site, stay in kept.items()})
    torch.testing.assert_close(logits(sliced, batch), logits(full, batch), rtol=1e-5, atol=1e-5)


def test_a_head_the_model_does_not_have_is_named_and_nothing_is_cut(case):
    model = case[0]()
    before = size(model.model)
    for head, message in ((Head("E", 1, 5), "; site E1 has 4 heads"), (Head("D", 3, 1), "")):
        with pytest.raises(HeadroomError, match=f"head {head}: does not exist{message}"):
            model.remove(frozenset([Head("E", 1, 1), head]))
    assert size(model.model) == before


def test_means_that_stand_in_are_in_the_bias_and_scales_in_the_columns(translator):
    model, before = translator(), translator()
    intervention = Intervention.parse("E1:2 E1:3 E1:1*0.5 mean")
    replacements = drawn_replacements(model.live_sites)
    model.realise(intervention, replacements)
    old, new = (one.live_sites[0].output for one in (before, model))
    means = replacements.means[before.sites[0]][1:3].flatten().float()
    torch.testing.assert_close(new.bias, old.bias + old.weight[:, 4:12] @ means)
    torch.testing.assert_close(new.weight, torch.cat([old.weight[:, :4] * 0.5, old.weight[:, 12:]], dim=1))
    others = (one.live_sites[1].output.parameters() for one in (before, model))
    assert all(torch.equal(*pair) for pair in zip(*others))


def test_repairs_are_in_the_weight_and_the_bias(translator):
    model, before = translator(), translator()
    replacements = drawn_replacements(model.live_sites)
    one = Intervention.parse("E1:2 obs")
    model.realise(one, replacements)
    old, new = (each.live_sites[0].output for each in (before, model))
    drawn = replacements.repair(before.live_sites[0], one)
    left = [*range(4), *range(8, 16)]
    expected = old.weight.double() @ (torch.eye(16) + drawn.matrix)[:, left]
    torch.testing.assert_close(new.weight, expected.float())
    torch.testing.assert_close(new.bias, old.bias + (old.weight.double() @ drawn.constant).float())


def test_what_cannot_be_folded_is_refused_and_nothing_is_cut(translator):
    rows = {
        "E1:1 resample": "heads whose z depends on the text cannot be sliced out; use zero or mean",
        "E1:1 mean": "the replacements of its heads are unknown; measure them first",
        "E1:1 obs": "the replacements of its heads are unknown; measure them first",
        "E1:1 D3:1*2": "head D3:1: does not exist",
    }
    model = translator()
    before = size(model.model)
    for written, message in rows.items():
        with pytest.raises(HeadroomError, match=message):
            model.realise(Intervention.parse(written))
        assert size(model.model) == before


@pytest.mark.parametrize("written", ["E1:1 mean", "E1:1 refit"])
def test_a_site_without_an_output_bias_gets_one_for_the_constant(translator, texts, written):
    model, masked = translator(), translator()
    for one in (model, masked):
        one.live_sites[0].output.bias = None
    replacements, (batch,) = drawn_replacements(model.live_sites), masked.batches(*texts, sentences=12)
    model.realise(Intervention.parse(written), replacements)
    masked.gates.apply(Intervention.parse(written), replacements)
    torch.testing.assert_close(model.logits(batch), masked.logits(batch), rtol=1e-4, atol=1e-5)
