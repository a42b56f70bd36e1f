"""Heads compared on planted models, by hand, and on live ones of both tasks, sentence by sentence."""

import math
from collections import defaultdict
from types import SimpleNamespace

import numpy
import pytest
import torch
from headroom.core.heads import Site
from headroom.data.parallel import ParallelText
from headroom.engines.engine import Engine
from headroom.engines.fairseq.engine import TranslationEngine
from headroom.engines.gates import Gates
from headroom.engines.hub.classifier.engine import ClassificationEngine
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.sites import AttentionSite
from headroom.experiments.diversity.measures import (
    MEASURES,
    ON_TEXT,
    STEP,
    extract_particles,
    particle_similarity,
    text_similarity,
)
from models import toy_text, write_encoder
from torch import nn

THIRD = Site("E", 3, 2)


QKV = {"queries": "query", "keys": "key", "values": "value"}


def planted(names=QKV, *, heads=2, site=THIRD, **weights):
    """Return a model with one site whose attention module has these projections: rows by name."""
    attention = nn.Module()
    for name, rows in weights.items():
        linear = nn.Linear(len(rows[0]), len(rows), bias=False)
        linear.weight.data = torch.tensor(rows)
        setattr(attention, name, linear)
    parent = nn.Module()
    parent.attention, parent.output = attention, nn.Identity()
    kept = tuple(range(1, heads + 1))
    live = AttentionSite(site=site, parent=parent, attribute="attention", output_place="output", kept=kept, **names)
    return SimpleNamespace(live_sites=[live], gates=Gates(sites=[live], batch_first=True))


class TestParticles:
    """Two heads on a line: query 1 and 1, key 0 and 2, value 1 and -1."""

    model = planted(query=[[1.0], [1.0]], key=[[0.0], [2.0]], value=[[1.0], [-1.0]])

    def test_means_over_projections(self):
        found = particle_similarity(extract_particles(self.model))
        # cosines 1, 0 and -1; distances 0, 2 and 2; kernels 1, 1/3 and 1/3
        assert {measure: sites[THIRD] for measure, sites in found.items()} == pytest.approx(
            {"particle_cosine": 0, "particle_distance": 4 / 3, "particle_kernel": 5 / 9}
        )


@pytest.fixture(params=["translation", "bert", "deberta-v2"])
def live(request, tmp_path):
    """Return a live model of either task, its text, and a function for its batches."""
    if request.param == "translation":
        toy, texts = request.getfixturevalue("toy"), request.getfixturevalue("texts")
        examples = ParallelText(*texts)
        checkpoint = request.getfixturevalue("lively_checkpoint")
        engine: Engine = TranslationEngine(vocabulary=toy.data, corpus=toy.corpus, device="cpu")
    else:
        examples = toy_text(examples=12)
        checkpoint = write_encoder(tmp_path / "model", request.param)
        engine = ClassificationEngine(corpus=tmp_path, device="cpu")
    model = engine.load(str(checkpoint), maps=True)
    return SimpleNamespace(model=model, batches=lambda size: engine.example_batches(model, examples, size))


def test_every_site_and_measure_whatever_the_batches(live):
    padded, alone = (text_similarity(live.model, live.batches(size)) for size in (100, 1))
    assert tuple(padded) == ON_TEXT
    for measure in ON_TEXT:
        assert list(padded[measure]) == live.model.sites
        assert padded[measure] == pytest.approx(alone[measure], abs=1e-5)


@torch.inference_mode()
def test_numbers_are_those_of_a_loop(live):
    """Over examples one by one, without padding, with hooks and loops of its own."""
    seen = defaultdict(list)
    site = live.model.live_sites[-1]
    batch_first = isinstance(live.model, ClassificationModel)

    def by_head(states):
        flat = (states if batch_first else states.transpose(0, 1))[0]  # (T, H * d)
        return flat.unflatten(-1, (site.site.heads, -1)).numpy().astype(float)

    site.value.register_forward_hook(lambda _, __, values: seen["value"].append(by_head(values)))
    site.output.register_forward_pre_hook(lambda _, inputs: seen["z"].append(by_head(inputs[0])))
    for batch in live.batches(1):
        batch.show(lambda name, maps: name == site.site and seen["map"].append(maps[0].numpy().astype(float)))
    pairs = [(i, j) for i in range(site.site.heads) for j in range(i)]

    def cosine(a, b):
        return (a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum())

    def mean(numbers):
        return numpy.mean(list(numbers))

    z = numpy.concatenate(seen["z"])  # (tokens, H, d)
    centred = z - z.mean(0)
    cross = {(i, j): (centred[:, i].T @ centred[:, j]) for i in range(len(z[0])) for j in range(len(z[0]))}
    norm = {pair: math.sqrt((found**2).sum()) for pair, found in cross.items()}
    expected = {
        "value_cosine": mean(cosine(t[i], t[j]) for one in seen["value"] for t in one for i, j in pairs),
        "attention_product": mean(
            (q[i] * q[j]).sum() for one in seen["map"] for q in one.swapaxes(0, 1) for i, j in pairs
        ),
        "attention_cosine": mean(cosine(one[i], one[j]) for one in seen["map"] for i, j in pairs),
        "z_cosine": mean(cosine(t[i], t[j]) for t in z for i, j in pairs),
        "z_cka": mean(norm[i, j] ** 2 / (norm[i, i] * norm[j, j]) for i, j in pairs),
    }
    found = text_similarity(live.model, live.batches(5))
    assert {measure: found[measure][site.site] for measure in ON_TEXT} == pytest.approx(expected, abs=2e-5)


def test_collapsed_heads_are_degenerate(live):
    first = live.model.live_sites[0]
    with torch.no_grad():
        for projection in first.inputs:
            for weight in projection.parameters():
                weight.copy_(weight[: first.head_width].repeat(4, *[1] * (weight.dim() - 1)))
    found = particle_similarity(extract_particles(live.model)) | text_similarity(live.model, live.batches(8))
    assert {*found} == {*MEASURES} - {STEP}
    for measure, sites in found.items():
        collapsed, other = (sites[site] for site in live.model.sites[:2])
        if measure == "particle_distance":
            assert collapsed == 0 < other
        elif measure == "attention_product":
            assert 0 < collapsed <= 1
        else:
            assert collapsed == pytest.approx(1, abs=1e-5)
            assert other < 0.999


def test_heads_that_are_gone_are_not_compared(live):
    first, second = live.model.sites[:2]
    live.model.remove(frozenset([*first.head_names()[:2], *second.head_names()[:3]]))
    found = particle_similarity(extract_particles(live.model)) | text_similarity(live.model, live.batches(8))
    for sites in found.values():
        assert first in sites
        assert second not in sites
        assert all(math.isfinite(value) for value in sites.values())
