"""Positions without padding, and candidates for the best pieces: hand-worked cases and the plain computation."""

from types import SimpleNamespace

import pytest
import torch
from headroom.engines.candidates import Projection
from headroom.engines.fairseq import sweeps
from headroom.engines.fairseq.readout import Marks, best_pieces, compute_features, find_candidates, forbid_pieces
from headroom.engines.fairseq.sweeps import Sweep
from headroom.settings.answers import DecodingSettings

MARKS = Marks(2, 2, [1])


@pytest.mark.parametrize("change", [0.0, 0.01, 0.3, 3.0])
@pytest.mark.parametrize("bias", [False, True])
def test_candidates_give_the_best_pieces_of_another_model(change, bias):
    torch.manual_seed(3)
    output = torch.nn.Linear(6, 30, bias=bias).requires_grad_(False)
    with torch.no_grad():
        output.weight[1] += 9  # a forbidden piece is never the best
    decoder = SimpleNamespace(layer_norm=None, project_out_dim=None, output_projection=output, output_layer=output)
    states, place = torch.randn(400, 6), torch.randint(0, 3, (400,))
    found = find_candidates(decoder, Projection(output.weight, output.bias, MARKS.forbidden), states, place, MARKS)
    other = states + change * torch.randn(400, 6)
    expected = forbid_pieces(output(other), place, MARKS).argmax(-1)
    computed = []

    def search(some):
        computed.append(len(some))
        return best_pieces(decoder, other[some], place[some], MARKS)

    assert torch.equal(found.best(compute_features(decoder, other), search), expected)
    assert sum(computed) < 40 if change < 0.1 else sum(computed) > 0
    before = forbid_pieces(output(states), place, MARKS).argmax(-1)
    assert (expected != before).any() == (change > 0)


def test_the_limit_of_memory_counts_keys_and_values_of_sources(lively, texts, monkeypatch):
    settings = DecodingSettings(length_factor=0, length_offset=9)
    batches = lively.batches(*texts, sentences=12)
    plain = lively.translate_pieces(batches, settings)
    (known,) = Sweep(lively, batches, plain, settings)._known
    stored = known.plain.packed.tensors()
    source = batches[0].source
    assert sum(one.numel() for one in stored) == 2 * len(lively.model.decoder.layers) * source.numel() * 16
    without = known.plain.size - sum(one.numel() * one.element_size() for one in stored)
    monkeypatch.setattr(sweeps, "STORED", without)
    assert Sweep(lively, batches, plain, settings)._known[0].plain is None
    monkeypatch.setattr(sweeps, "STORED", known.plain.size)
    assert Sweep(lively, batches, plain, settings)._known[0].plain is not None
