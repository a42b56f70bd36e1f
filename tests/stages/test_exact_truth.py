"""A trained decoder of 3 x 3 heads that sorts: over all inputs the stages find what brute force finds."""

import math
from itertools import pairwise, product

import pytest
import torch
from headroom.core.heads import Head
from headroom.engines.hub.causal.engine import CausalEngine
from headroom.experiments.ablation import stage as ablation
from headroom.experiments.ablation.table import ABLATION
from headroom.experiments.scores import stage as scores
from headroom.experiments.scores.table import SCORES
from headroom.methods.criteria.shapley import PERMUTATIONS, TOLERANCE, draw_permutations, shapley_values
from models import (
    STRINGS,
    letter_tokenizer,
    pieces_of_strings,
    train_sorter,
    write_documents,
    write_language_model,
)
from torch.nn.functional import cross_entropy

pytestmark = pytest.mark.long

HEADS = [Head("D", layer, head) for layer in (1, 2, 3) for head in (1, 2, 3)]
ALL = (1,) * 9


@pytest.fixture(scope="module")
def sorter():
    return train_sorter()


@pytest.fixture(scope="module")
def flags(sorter, tmp_path_factory):
    """The flags for the model and its corpus."""
    place = tmp_path_factory.mktemp("sorter")
    checkpoint = write_language_model(place / "run/epoch1", sorter, letter_tokenizer())
    corpus = write_documents(place / "corpus", STRINGS)
    named = ["--engine", "causal", "--study", "letters", "--run", "sort.baseline.seed1", "--device", "cpu"]
    return [*named, "--checkpoint", str(checkpoint), "--corpus", str(corpus)]


@torch.no_grad()
def logits_without(model, kept):
    """Return the logits of all strings, (27, 7, V), with the z of heads zeroed by hooks of plain torch."""
    hooks = []
    for layer, own in zip(model.model.layers, zip(*[iter(kept)] * 3)):
        open_ = torch.tensor(own, dtype=torch.float).repeat_interleave(8)
        output = layer.self_attn.o_proj
        hooks.append(output.register_forward_pre_hook(lambda _, inputs, open_=open_: (inputs[0] * open_,)))
    logits = model(pieces_of_strings()).logits
    for hook in hooks:
        hook.remove()
    return logits


def nats_of(logits):
    """Return the loss of every prediction, (27, 6)."""
    return cross_entropy(logits[:, :-1].double().transpose(1, 2), pieces_of_strings()[:, 1:], reduction="none")


@pytest.fixture(scope="module")
def losses(sorter):
    """The mean loss of a string in nats, by which heads are kept."""
    return {kept: float(nats_of(logits_without(sorter, kept)).sum(1).mean()) for kept in product((0, 1), repeat=9)}


def without(kept, place):
    return (*kept[:place], 0, *kept[place + 1 :])


@pytest.fixture(scope="module")
def exact(losses):
    """The Shapley value of every head by its definition, over all subsets of the others."""
    values = [0.0] * 9
    for kept, place in product(losses, range(9)):
        if kept[place]:
            size = sum(kept) - 1
            weight = math.factorial(size) * math.factorial(8 - size) / math.factorial(9)
            values[place] += weight * (losses[without(kept, place)] - losses[kept])
    assert sum(values) == pytest.approx(losses[(0,) * 9] - losses[ALL])
    return values


def marginals_of(losses, orders):
    """Return what the removal of each head adds to the loss in every order, (P, 9)."""
    found = torch.zeros(orders.shape, dtype=torch.float64)
    for row, order in enumerate(orders.tolist()):
        steps = [ALL]
        for place in order:
            steps.append(without(steps[-1], place))
        found[row, order] = torch.tensor([losses[after] - losses[before] for before, after in pairwise(steps)]).double()
    return found


def test_the_model_sorts_every_string_and_needs_heads(sorter, losses):
    answers = logits_without(sorter, ALL)[:, 3:-1].argmax(-1)
    assert torch.equal(answers, pieces_of_strings()[:, 4:])
    assert losses[(0,) * 9] - losses[ALL] > 1


def test_ablation_is_brute_force(sorter, flags, tmp_path):
    ablation.main([*flags, "--sets", "test", "--output", str(tmp_path / "table.csv"), "--resamples", "20"])
    table = ABLATION.read(tmp_path / "table.csv")
    assert set(table["signature"].str.extract(r"examples:(\d+)")[0]) == {"27"}
    targets, size = pieces_of_strings()[:, 1:], len(" a c > a b c")
    rows = table.set_index(["metric", "kind", "layer", "head"])
    for head, kept in [(None, ALL), *((head, without(ALL, place)) for place, head in enumerate(HEADS))]:
        logits = logits_without(sorter, kept)
        nats = nats_of(logits)
        expected = {
            "next": 100 * float((logits[:, :-1].argmax(-1) == targets).double().mean()),
            "loss": float(nats.mean()),
            "bits": float(nats.sum()) / math.log(2) / 27 / size,
        }
        for metric, value in expected.items():
            place = HEADS[0] if head is None else head
            row = rows.loc[metric, place.kind, place.layer, place.head]
            assert row["full" if head is None else "value"] == pytest.approx(value, abs=2e-6), (head, metric)
            if head:
                assert row["delta"] == pytest.approx(row["value"] - row["full"], abs=1e-6)
    assert (rows.loc["loss"]["delta"].abs() > 1e-3).any()


def test_marginals_of_permutations_are_brute_force(flags, losses):
    given = dict(zip(flags[::2], flags[1::2]))
    engine = CausalEngine(corpus=given["--corpus"], tokenizer_of=given["--checkpoint"], device="cpu")
    model = engine.load(given["--checkpoint"])
    batches = engine.batches(model, engine.examples("test"), 32)
    found = shapley_values(model, batches, permutations=10, tolerance=0, seed=4)
    expected = marginals_of(losses, draw_permutations(9, 10, seed=4))
    assert list(found.values) == HEADS
    torch.testing.assert_close(found.marginals, expected, rtol=0, atol=1e-5)
    assert [one.value for one in found.values.values()] == pytest.approx(expected.mean(0).tolist(), abs=1e-5)


def test_shapley_values_are_exact_within_the_error_of_sampling(flags, losses, exact, tmp_path):
    """The error is that of the mean of 50 pairs, from the spread of many pairs by brute force."""
    written = ["--set", "test", "--criteria", "shapley", "--output", str(tmp_path / "scores.csv")]
    scores.main([*("--checkpoints" if flag == "--checkpoint" else flag for flag in flags), *written])
    table = SCORES.read(tmp_path / "scores.csv")
    found = table.sort_values(["layer", "head"])["value"].tolist()
    pairs = marginals_of(losses, draw_permutations(9, 2000, seed=1)).view(-1, 2, 9).mean(1)
    errors = (pairs.std(0) / math.sqrt(PERMUTATIONS / 2)).tolist()
    assert pairs.mean(0).tolist() == pytest.approx(exact, abs=0.1)
    cut = TOLERANCE * (losses[(0,) * 9] - losses[ALL])
    for value, expected, error in zip(found, exact, errors, strict=True):
        assert abs(value - expected) < 3.5 * error + cut
    assert max(errors) < 0.2 * max(exact)
