"""Gates on z: they act at every site and in every mode, on the head they name; what replaces a head is added to it."""

from string import ascii_lowercase

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, parse_head
from headroom.core.interventions import Intervention
from headroom.models.causal.model import CausalModel
from headroom.models.classifier.model import ClassificationModel
from headroom.models.gates import Replacements
from headroom.settings.answers import DecodingSettings
from models import build_small, letter_tokenizer, write_language_model, write_self_attentive
from oracles import drawn_replacements

LIMITS = DecodingSettings(length_factor=0, length_offset=6)
CASES = ["translator", "bert", "deberta-v2", "self-attentive"]


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    """A model of four heads a site, and a batch of twelve examples."""
    if request.param == "translator":
        model, texts = (request.getfixturevalue(name) for name in ("lively", "texts"))
        return model, model.batches(*texts, sentences=12)[0]
    if request.param == "self-attentive":
        model = ClassificationModel.load(write_self_attentive(tmp_path / "epoch1"), "cpu")
    else:
        model = request.getfixturevalue("load")(request.param)
    return model, model.batches(request.getfixturevalue("pairs"), examples=12)[0]


@torch.no_grad()
def logits(model, batch):
    torch.manual_seed(0)  # of dropout
    return model.logits(batch)


def test_a_mask_acts_on_the_head_it_names_in_train_and_eval(case):
    model, batch = case
    for training in (False, True):
        model.model.train(training)
        plain = logits(model, batch)
        for live in model.live_sites:
            with model.gates.masked([live.kept_heads()[1]]):
                masked = logits(model, batch)
            assert (masked - plain).abs().max() > 1e-3
            before = live.output.weight.clone()
            # what the output projection reads of head 2
            live.output.weight[:, live.head_width : 2 * live.head_width] = 0
            torch.testing.assert_close(masked, logits(model, batch), rtol=1e-5, atol=1e-5)
            live.output.weight.copy_(before)
        assert torch.equal(logits(model, batch), plain)


def test_gates_of_one_are_the_plain_model_to_the_bit(case):
    model, batch = case
    for training in (False, True):
        model.model.train(training)
        plain = logits(model, batch)
        for shape in ((4,), (12, 4)):
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
    orders = {6: "E1 E2 D1 A1 D2 A2", 2: "E1 E2", 1: "E1"}  # as the data goes
    assert " ".join(map(str, seen)) == orders[len(model.sites)]
    source, target = (getattr(batch, name, None) for name in ("source", "previous"))
    lengths = [x.shape[1] for x in (source, target) if x is not None] or [batch.inputs["input_ids"].shape[1]]
    if len(model.sites) == 1:
        lengths = [1]  # a hop says one thing of a sentence
    width = model.live_sites[0].head_width
    assert seen[model.sites[0]].shape == (lengths[0], 12, 4, width)
    assert seen[last].shape == (lengths[-1], 12, 4, width)
    assert [bool(seen[last][:, :, head].any()) for head in range(4)] == [True, True, False, True]


@pytest.fixture
def batch(lively, texts):
    return lively.batches(*texts, sentences=12)[0]


def test_one_batch_carries_several_masks_in_greedy_generation(lively, texts):
    sources = [texts[0][0]] * 3
    batches = lively.batches(sources, sentences=3)
    masks = [frozenset(), frozenset(lively.sites[1].head_names()), frozenset(lively.sites[4].head_names())]
    rows = {
        site: torch.tensor([[float(head not in mask) for head in site.head_names()] for mask in masks])
        for site in lively.sites
    }
    lively.gates.set(rows)
    together = lively.translate_tokens(batches, LIMITS)
    alone = []
    for mask in masks:
        with lively.gates.masked(mask):
            alone += lively.translate_tokens(lively.batches(sources[:1], sentences=1), LIMITS)
    assert together == alone
    assert len({tuple(row) for row in alone}) > 1


def test_masks_end_with_their_block_even_after_an_error(lively, batch):
    plain = logits(lively, batch)
    with pytest.raises(RuntimeError, match="inside"), lively.gates.masked([Head("E", 1, 1)]):
        raise RuntimeError("inside")
    assert torch.equal(logits(lively, batch), plain)


def test_what_the_model_does_not_have_is_named(lively, load):
    rows = [
        (lively, "E1:5", "E1 has 4 heads"),
        (lively, "A3:1", "sites are E1 E2 A1 A2 D1 D2"),
        (load(), "D1:1", "sites are E1 E2"),
    ]
    for model, name, message in rows:
        with pytest.raises(HeadroomError, match=f"head {name}: does not exist.*{message}"):
            model.gates.mask([parse_head(name)])
        assert not model.gates.changed
    with pytest.raises(ValueError, match="gate of E1: 3 heads instead of 4"):
        lively.gates.set({lively.sites[0]: torch.ones(3)})


@torch.no_grad()
def seen_z(model, batch):
    """Return every site's z, (T, B, H, d)."""
    seen = {}
    with model.gates.observed(lambda site, z: seen.update({site: z.clone()})):
        model.losses(batch)
    return seen


def test_what_stands_in_is_added_after_the_gate(lively, batch):
    replacements = drawn_replacements(lively.live_sites)
    site, plain = lively.sites[0], seen_z(lively, batch)
    one = Intervention.parse(f"{site}:2 {site}:3*0.5 mean")
    with lively.gates.applied(one, replacements):
        z = seen_z(lively, batch)[site]
    expected = replacements.means[site][1].float()
    torch.testing.assert_close(z[:, :, 1], expected.expand_as(z[:, :, 1]))
    torch.testing.assert_close(z[:, :, 2], plain[site][:, :, 2] / 2)
    torch.testing.assert_close(z[:, :, [0, 3]], plain[site][:, :, [0, 3]])


def test_resampled_heads_say_what_they_say_of_another_example(lively, batch):
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


def test_heads_that_attend_to_the_first_token_alone_say_its_value(tmp_path):
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


def test_the_order_of_examples_depends_on_the_seed_alone():
    for examples in (1, 2, 5, 64):
        first, again, other = (Replacements({}, seed=seed).other_examples(examples) for seed in (1, 1, 2))
        assert torch.equal(first, again)
        assert torch.equal(first, other) == (examples < 3)


def test_means_of_another_model_or_none_are_refused(lively):
    one = Intervention.without(Head("E", 1, 1), replacement="mean")
    repaired = Intervention.without(Head("E", 1, 1), repair="obs")
    rows = [
        (one, None, "measure them first"),
        (one, Replacements({}), "site E1: no mean z; measure the means"),
        (repaired, None, "measure them first"),
        (repaired, Replacements({}), "intervention 'E1:1 obs': its repair is unknown; measure z first"),
    ]
    for intervention, replacements, message in rows:
        with pytest.raises(HeadroomError, match=message):
            lively.gates.apply(intervention, replacements)
