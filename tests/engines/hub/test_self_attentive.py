"""The self-attentive classifier follows the paper's formulas, and its hops are heads like any others."""

import copy
import itertools

import numpy
import pytest
import torch
from headroom.core.heads import Head
from headroom.models.classifier.model import ClassificationModel
from headroom.models.find_sites import attention_maps, find_sites
from headroom.models.gates import Gates
from headroom.models.removal import fold, remove_heads
from headroom.models.self_attentive import redundancy
from models import (
    ATTENTION,
    HOPS,
    INPUTS,
    STATES,
    UNITS,
    copied,
    self_attentive_configuration,
    toy_model,
    write_self_attentive,
)
from oracles import FORMS, drawn_replacements, of_every_form


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    directory = write_self_attentive(tmp_path_factory.mktemp("self-attentive") / "epoch1")
    return ClassificationModel.load(directory, "cpu")


@pytest.fixture
def model(loaded):
    return copied(loaded)


@pytest.fixture
def exact(model):
    model.model.double()
    return model


def plain(**changes):
    return toy_model(self_attentive_configuration(**changes))


class Slowly:
    """The oracle: one example at a time, in loops, after the equations of Lin et al. 2017 and of the LSTM."""

    def __init__(self, model):
        self.weights = {name: value.double().numpy() for name, value in model.state_dict().items()}

    def __call__(self, tokens):
        """Return A (hops, T), M (hops, 2u) and the logits (classes,)."""
        embedded = [self.weights["encoder.embedding.weight"][token] for token in tokens]
        forward = self.read(embedded, "l0")
        backward = self.read(embedded[::-1], "l0_reverse")[::-1]
        states = [numpy.concatenate(both) for both in zip(forward, backward)]  # H
        hidden, hops = (self.weights[f"encoder.attention.{name}.weight"] for name in ("hidden", "hops"))
        maps, means = [], []
        for hop in hops:
            powers = [numpy.exp(hop @ numpy.tanh(hidden @ state)) for state in states]
            maps.append([power / sum(powers) for power in powers])
            means.append(sum(weight * state for weight, state in zip(maps[-1], states)))
        units = numpy.maximum(self.layer("encoder.fully_connected", numpy.concatenate(means)), 0)
        return numpy.array(maps), numpy.array(means), self.layer("classifier", units)

    def read(self, embedded, direction):
        """Return the state of one direction after each token."""
        of_input, of_state, one, other = (
            self.weights[f"encoder.lstm.{name}_{direction}"]
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        state = cell = numpy.zeros(STATES // 2)
        found = []
        for vector in embedded:
            let, keep, new, show = numpy.split(of_input @ vector + of_state @ state + one + other, 4)
            cell = sigmoid(keep) * cell + sigmoid(let) * numpy.tanh(new)
            state = sigmoid(show) * numpy.tanh(cell)
            found.append(state)
        return found

    def layer(self, name, vector):
        return self.weights[f"{name}.weight"] @ vector + self.weights[f"{name}.bias"]


def sigmoid(vector):
    return 1 / (1 + numpy.exp(-vector))


class TestWhatItComputes:
    def test_maps_sentence_embedding_and_logits_equal_a_loop(self, exact, pairs):
        (batch,) = exact.batches(pairs, examples=12)
        seen = {}
        with (
            torch.no_grad(),
            attention_maps(exact.live_sites, lambda _, maps: seen.update(maps=maps)),
            exact.gates.observed(lambda _, z: seen.update(z=z)),
        ):
            found = exact.logits(batch)
        length = batch.inputs["input_ids"].shape[1]
        assert seen["maps"].shape == (12, HOPS, 1, length)
        assert seen["z"].shape == (1, 12, HOPS, STATES)
        slowly = Slowly(exact.model)
        for row, mask in enumerate(batch.inputs["attention_mask"].bool()):
            maps, means, expected = slowly(batch.inputs["input_ids"][row, mask].tolist())
            numpy.testing.assert_allclose(seen["maps"][row, :, 0, mask], maps, rtol=1e-9)
            assert not seen["maps"][row, :, 0, ~mask].any()
            numpy.testing.assert_allclose(seen["z"][0, row], means, rtol=1e-9, atol=1e-12)
            numpy.testing.assert_allclose(found[row], expected, rtol=1e-9, atol=1e-12)

    @torch.no_grad()
    def test_padding_changes_nothing_whatever_it_holds(self):
        model = plain()
        together = model(**INPUTS).logits
        for row, mask in enumerate(INPUTS["attention_mask"].bool()):
            alone = model(INPUTS["input_ids"][row, mask][None]).logits  # without a mask nothing is padding
            torch.testing.assert_close(together[row], alone[0], rtol=1e-5, atol=1e-6)
        filled = INPUTS["input_ids"].where(INPUTS["attention_mask"].bool(), torch.tensor(13))
        assert torch.equal(model(filled, INPUTS["attention_mask"]).logits, together)


class TestPenalty:
    def test_it_is_what_one_works_out_by_hand(self):
        """By hand: A A^T - I is ((0, .5), (.5, -.5)) for the first example, ((0, 1), (1, 0)) for the second."""
        maps = torch.tensor([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])
        assert redundancy(maps).tolist() == pytest.approx([0.75, 2.0])
        assert redundancy(torch.eye(3)[None]).tolist() == [0.0]

    def test_it_moves_the_hops_and_is_gone_with_them(self):
        labels, model = torch.tensor([0, 1, 1]), plain(penalty=0.5).train()
        sites = find_sites(model)
        (model(**INPUTS, labels=labels).loss - plain().train()(**INPUTS, labels=labels).loss).backward()
        assert model.encoder.attention.hops.weight.grad.abs().max() > 0
        remove_heads(sites, frozenset(sites[0].kept_heads()))
        loss = model(**INPUTS, labels=labels).loss
        torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(model(**INPUTS).logits, labels))


class TestRemoval:
    @torch.no_grad()
    def test_every_set_of_hops_sliced_is_the_same_masked(self):
        exact = toy_model(self_attentive_configuration()).double()
        for training, *kept, form in itertools.product(*[(False, True)] * (1 + HOPS), range(FORMS)):
            masked, sliced = (copy.deepcopy(exact).train(training) for _ in "ms")
            removed = frozenset(Head("E", 1, index) for index, stays in enumerate(kept, start=1) if not stays)
            (live,) = sites = find_sites(sliced)
            intervention, replacements = of_every_form(removed, [live.site])[form], drawn_replacements(sites)
            Gates(sites=find_sites(masked)).apply(intervention, replacements)
            fold(sites, intervention, replacements)
            remove_heads(sites, removed)
            expected, found = masked(**INPUTS).logits, sliced(**INPUTS).logits
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
            assert [index in live.kept for index in range(1, HOPS + 1)] == [*kept]
            # per hop: its row of W_s2, and its columns of the fully connected layer
            lost = sum(p.numel() for p in exact.parameters()) - sum(p.numel() for p in sliced.parameters())
            shared = 0 if any(kept) else ATTENTION * STATES  # W_s1 goes with the last hop
            assert lost == len(removed) * (ATTENTION + UNITS * STATES) + shared
