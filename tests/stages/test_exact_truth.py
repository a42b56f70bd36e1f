"""A trained decoder of 3 x 3 heads that sorts: on all inputs the stages find what brute force finds."""

import math
import random
from itertools import pairwise, product

import numpy
import pytest
import torch
from headroom.core.heads import Head
from headroom.core.interventions import PLAIN
from headroom.core.statistics import mcnemar_p
from headroom.experiments.ablation import stage as ablation
from headroom.experiments.ablation.declared import ABLATION, ABLATION_HALVES
from headroom.experiments.attention_stats.declared import RELEVANCE
from headroom.experiments.keep_one import stage as keep_one
from headroom.experiments.keep_one.declared import KEEP_ONE
from headroom.experiments.minimal_pairs import stage as minimal_pairs
from headroom.experiments.minimal_pairs.declared import MINIMAL_PAIRS
from headroom.experiments.pruning import stage as pruning
from headroom.experiments.pruning.declared import PRUNING
from headroom.experiments.scores import stage as scores_stage
from headroom.methods.criteria.shapley import PERMUTATIONS, TOLERANCE, draw_permutations, shapley_values
from headroom.methods.judging import Judge
from models import STRINGS, build_small, letter_tokenizer, write_documents, write_language_model
from stages.sorter import (
    ALL,
    HEADS,
    NONE,
    SETS,
    TARGETS,
    engine_of,
    kept_of,
    logits_under,
    logits_without,
    metrics_of,
    nats_of,
    rising,
    run,
    scores_of,
    without,
)
from stages.stage_arguments import QUICK, looking_at
from study import run_stage
from tables import write_rows


@pytest.fixture(scope="module")
def logits(sorter):
    """The logits by which heads are kept, of all 512 subsets."""
    return {kept: logits_without(sorter, kept) for kept in product((0, 1), repeat=9)}


@pytest.fixture(scope="module")
def losses(logits):
    """The mean loss of a string in nats, by which heads are kept."""
    return {kept: float(nats_of(found).sum(1).mean()) for kept, found in logits.items()}


def assert_rows_are_brute_force(table, logits_of):
    """Assert that each row has the metrics, on its set, of the model whose logits the function returns for it.

    Those of the full model are returned for None.
    """
    wrong = []
    for row in table.itertuples():
        own, full = (metrics_of(logits_of(which), SETS[row.set], logits_of(None))[row.metric] for which in (row, None))
        if (row.value, row.full, row.delta) != pytest.approx((own, full, own - full), abs=3e-6):
            wrong.append((row, own, full))
    assert not wrong, wrong[:5]


def test_the_model_sorts_every_string_and_needs_heads(logits, losses):
    assert torch.equal(logits[ALL][:, 3:-1].argmax(-1), TARGETS[:, 3:])
    assert losses[NONE] - losses[ALL] > 1


def place_of(row):
    return HEADS.index(Head(row.kind, row.layer, row.head))


def test_ablation(letters, logits, tmp_path):
    """Also on halves of the first set, in the main metric."""
    outputs = ["--output", tmp_path / "table.csv", "--halves", tmp_path / "halves.csv"]
    run(ablation, letters, "--sets", "test", "choose", "--resamples", 20, *outputs)
    table, halves = ABLATION.read(tmp_path / "table.csv"), ABLATION_HALVES.read(tmp_path / "halves.csv")
    assert len(table) == 2 * 36
    assert_rows_are_brute_force(table, lambda row: logits[without(ALL, place_of(row)) if row else ALL])
    assert (table[table["metric"] == "loss"]["delta"].abs() > 1e-3).any()
    for half, start in (("choose", 0), ("score", 1)):
        rows = slice(start, None, 2)
        full = metrics_of(logits[ALL], rows)["next"]
        lost = [full - metrics_of(logits[without(ALL, head)], rows)["next"] for head in range(9)]
        assert halves[halves["half"] == half]["value"].tolist() == pytest.approx(lost, abs=1e-4)
        assert any(lost)


def alone(place):
    """Return which heads are kept where a head is the only one of its layer."""
    return tuple(int(other == place or other // 3 != place // 3) for other in range(9))


def test_keep_one(letters, logits, tmp_path):
    """The best head of a layer has the highest main metric, and of equal ones the lowest loss, on a set."""
    run(keep_one, letters, "--sets", "test", "choose", "--resamples", 20, "--output", tmp_path / "table.csv")
    table = KEEP_ONE.read(tmp_path / "table.csv")
    assert len(table) == 2 * 36
    assert_rows_are_brute_force(table, lambda row: logits[alone(place_of(row)) if row else ALL])
    for name, rows in SETS.items():
        found = [metrics_of(logits[alone(head)], rows) for head in range(9)]
        quality = [(round(one["next"], 6), -one["loss"]) for one in found]
        best = {max(range(first, first + 3), key=quality.__getitem__) for first in (0, 3, 6)}
        chosen = table[table["chosen_on"].str.split().map(lambda names, name=name: name in names)]
        assert {place_of(row) for row in chosen.itertuples()} == best


def another_example(z):
    """Return the z of another string, in one cycle through all."""
    order = torch.randperm(27, generator=torch.Generator().manual_seed(0))
    others = torch.empty_like(order)
    others[order] = order.roll(1)
    return z[others]


REPLACED = {
    "mean": lambda _, z: z[SETS["choose"]].mean((0, 1), keepdim=True),
    "first": lambda _, z: z[:, :1],
    "resample": lambda _, z: another_example(z),
}


@pytest.mark.parametrize("kind", REPLACED)
def test_heads_replaced_by_other_values_than_zero(letters, sorter, tmp_path, kind):
    for stage, table, kept in ((ablation, ABLATION, lambda head: without(ALL, head)), (keep_one, KEEP_ONE, alone)):
        output = tmp_path / f"{kind}.csv"
        flags = ["--sets", "test", "--resamples", 2, "--windows-at-once", 27, "--replacement", kind]
        run(stage, letters, *flags, "--output", output)
        rows = table.read(output).query("metric == 'loss'")
        expected = [metrics_of(logits_without(sorter, kept(head), REPLACED[kind]))["loss"] for head in range(9)]
        assert rows["value"].tolist() == pytest.approx(expected, abs=3e-6)
        assert set(rows["replacement"]) == {kind}


def test_gradients_and_losses_of_all_strings_and_of_halves(sorter, losses, logits, letter_scores):
    gates = torch.ones(27, 3, 3, requires_grad=True)  # by string, layer and head
    nats_of(logits_under(sorter, lambda layer, z: z * gates[:, layer, None, :, None])).sum().backward()
    gradients = gates.grad.flatten(1).abs()
    for half, rows in (("all", slice(None)), ("choose", slice(0, None, 2)), ("score", slice(1, None, 2))):
        found = scores_of(letter_scores, "gradient-example", half=half)
        assert found == pytest.approx(gradients[rows].mean(0).tolist(), rel=1e-4)
        full, *others = (
            float(nats_of(logits[kept])[rows].sum(1).mean())
            for kept in (ALL, *(without(ALL, head) for head in range(9)))
        )
        expected = [other - full for other in others]
        assert scores_of(letter_scores, "loss-ablation", half=half) == pytest.approx(expected, abs=2e-5)
    norms = torch.tensor(scores_of(letter_scores, "gradient-example")).view(3, 3).norm(dim=1).repeat_interleave(3)
    expected = (torch.tensor(scores_of(letter_scores, "gradient-example")) / norms).tolist()
    assert scores_of(letter_scores, "gradient-example", normalised="layer") == pytest.approx(expected, rel=1e-5)
    assert scores_of(letter_scores, "gradient-example", epoch=1)[4] == 0


@pytest.fixture(scope="module")
def greedy(losses):
    """The order in which the head goes without which the loss is lowest, of all that are left."""
    kept, order = ALL, []
    while any(kept):
        best = min((place for place in range(9) if kept[place]), key=lambda place: losses[without(kept, place)])
        kept = without(kept, best)
        order.append(best)
    return order


def test_backward_elimination(letter_scores, greedy):
    assert scores_of(letter_scores, "backward-elimination") == [greedy.index(head) + 1 for head in range(9)]


@pytest.fixture(scope="module")
def exact(losses):
    """The Shapley value of every head by its definition, over all subsets of the others."""
    values = [0.0] * 9
    for kept, place in product(losses, range(9)):
        if kept[place]:
            size = sum(kept) - 1
            weight = math.factorial(size) * math.factorial(8 - size) / math.factorial(9)
            values[place] += weight * (losses[without(kept, place)] - losses[kept])
    assert sum(values) == pytest.approx(losses[NONE] - losses[ALL])
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


def test_marginals_of_permutations(letters, losses):
    engine = engine_of(letters)
    model = engine.load(letters / "run/epoch2")
    batches = engine.batches(model, engine.examples("test"), 32)
    found = shapley_values(model, batches, permutations=10, tolerance=0, seed=4)
    expected = marginals_of(losses, draw_permutations(9, 10, seed=4))
    assert list(found.values) == HEADS
    torch.testing.assert_close(found.marginals, expected, rtol=0, atol=1e-5)
    assert [one.value for one in found.values.values()] == pytest.approx(expected.mean(0).tolist(), abs=1e-5)


def test_shapley_values_within_the_error_of_sampling(losses, exact, letter_scores):
    """The error is that of the mean of 50 pairs, from the spread of many pairs by brute force."""
    pairs = marginals_of(losses, draw_permutations(9, 2000, seed=1)).view(-1, 2, 9).mean(1)
    errors = (pairs.std(0) / math.sqrt(PERMUTATIONS / 2)).tolist()
    assert pairs.mean(0).tolist() == pytest.approx(exact, abs=0.1)
    cut = TOLERANCE * (losses[NONE] - losses[ALL])
    for value, expected, error in zip(scores_of(letter_scores, "shapley"), exact, errors, strict=True):
        assert abs(value - expected) < 3.5 * error + cut
    assert max(errors) < 0.2 * max(exact)


FINE = ["--step", "0.11", "--random-draws", "2", "--resamples", "20", "--score-on", "test"]


def order_of(table, **named):
    """Return the heads of a curve, by place, in the order of their removal."""
    for column, value in named.items():
        table = table[table[column] == value]
    kept = list(map(kept_of, table[table["metric"] == "loss"].sort_values("heads_removed")["removed"]))
    assert (kept[0], kept[-1], len(kept)) == (ALL, NONE, 10)
    return [place for before, after in pairwise(kept) for place in range(9) if before[place] > after[place]]


def test_curves_of_every_order(letters, logits, losses, greedy, letter_scores, tmp_path):
    run(ablation, letters, "--sets", "choose", "test", "--resamples", 20, "--output", tmp_path / "ablation.csv")
    relevance = [(7 * head + 3) % 9 for head in range(9)]
    about = {"study": "letters", "run": "r", "epoch": 2, "measure": "relevance", "half": "all", "signature": "made"}
    rows = [about | vars(head) | {"value": value} for head, value in zip(HEADS, relevance)]
    write_rows(RELEVANCE, tmp_path / "relevance.csv", rows)
    by_scores = ["gradient-example", "loss-ablation", "backward-elimination", "shapley"]
    orders = [*by_scores, "ablation", "relevance", "random", "reverse", "top-first", "bottom-first"]
    measured = [flag for name in ("ablation", "relevance") for flag in (f"--{name}", tmp_path / f"{name}.csv")]
    chosen = ["--orders", *orders, "--rescored", "loss-ablation", "--main", "shapley"]
    flags = [*FINE, *chosen, "--scores", *letter_scores, *measured, "--output", tmp_path / "table.csv"]
    run(pruning, letters, *flags, epochs=[2])
    table = PRUNING.read(tmp_path / "table.csv")
    assert_rows_are_brute_force(table, lambda row: logits[kept_of(row.removed) if row else ALL])
    effects = [metrics_of(logits[without(ALL, head)]) for head in range(9)]
    single = [losses[without(ALL, head)] for head in range(9)]
    raw, by_layer = (scores_of(letter_scores, "gradient-example", normalised=way) for way in ("raw", "layer"))
    expected = {
        ("gradient-example", "raw", "fixed"): rising(raw),
        ("gradient-example", "layer", "fixed"): rising(by_layer),
        ("loss-ablation", "", "fixed"): rising(single),
        ("loss-ablation", "", "rescored"): greedy,
        ("backward-elimination", "", "fixed"): greedy,
        ("shapley", "", "fixed"): rising(scores_of(letter_scores, "shapley")),
        ("reverse", "", "fixed"): rising(scores_of(letter_scores, "shapley"))[::-1],
        ("ablation", "", "fixed"): rising([(-round(one["next"], 6), one["loss"]) for one in effects]),
        ("relevance", "", "fixed"): rising(relevance),
        ("top-first", "", "fixed"): [6, 7, 8, 3, 4, 5, 0, 1, 2],
        ("bottom-first", "", "fixed"): [2, 1, 0, 5, 4, 3, 8, 7, 6],
    }
    found = {
        key: order_of(table, order=key[0], normalised=key[1], ranking=key[2])
        for key in zip(table["order"], table["normalised"], table["ranking"])
        if key[0] != "random"
    }
    assert found == expected
    assert order_of(table, order="random", draw=0) != order_of(table, order="random", draw=1)


def test_curves_of_every_epoch_and_scope(letters, logits, letter_scores, tmp_path):
    """Each by the scores of its epoch, of the heads in scope."""
    flags = ["--orders", "gradient-example", "--normalisations", "raw", "--scopes", "all", "sites", "D"]
    output = ["--scores", *letter_scores, "--output", tmp_path / "table.csv"]
    run(pruning, letters, *FINE, *flags, *output, epochs=[1, 2])
    table = PRUNING.read(tmp_path / "table.csv")
    for epoch, whole in ((1, without(ALL, 4)), (2, ALL)):
        rows = table[table["epoch"] == epoch]

        def own(row, whole=whole):
            return logits[tuple(map(min, kept_of(row.removed), whole)) if row else whole]

        assert_rows_are_brute_force(rows, own)
        order = rising(scores_of(letter_scores, "gradient-example", epoch=epoch))
        assert order_of(rows, scope="all") == order_of(rows, scope="D") == order
        for layer in (1, 2, 3):
            of_layer = rows[(rows["scope"] == f"D{layer}") & (rows["metric"] == "loss")].sort_values("heads_removed")
            heads = [HEADS[head] for head in order if head // 3 == layer - 1]
            gone = [set(text.split()) for text in of_layer["removed"]]
            assert gone == [{*map(str, heads[:count])} for count in range(4)]


def test_curves_of_groups_that_share_keys(tmp_path):
    model = build_small("llama")  # two layers of six heads, three to a group
    write_language_model(tmp_path / "run/epoch2", model, letter_tokenizer())
    write_documents(tmp_path / "corpus", STRINGS)
    run(scores_stage, tmp_path, "--set", "test", "--output", tmp_path / "scores.csv", epochs=[2])
    flags = ["--unit", "group", "--step", "0.25", "--random-draws", "2", "--resamples", 20, "--score-on", "test"]
    output = ["--scores", tmp_path / "scores.csv", "--output", tmp_path / "table.csv"]
    run(pruning, tmp_path, *flags, "--criteria", "gradient-example", *output, epochs=[2])
    table = PRUNING.read(tmp_path / "table.csv")
    heads = [Head("D", layer, head) for layer in (1, 2) for head in range(1, 7)]
    groups = [" ".join(map(str, heads[first : first + 3])) for first in (0, 3, 6, 9)]
    profiles = {"", *table["removed"]}
    found = {removed: logits_without(model, kept_of(removed, heads)) for removed in profiles}
    assert_rows_are_brute_force(table, lambda row: found[row.removed if row else ""])
    assert all(len({*group.split()} & {*removed.split()}) in (0, 3) for removed in profiles for group in groups)
    assert set(table["heads_removed"]) == {len(removed.split()) for removed in profiles} == {0, 3, 6, 9, 12}
    scores = torch.tensor(scores_of([tmp_path / "scores.csv"], "gradient-example")).view(4, 3).sum(1)
    main = table[(table["order"] == "gradient-example") & (table["normalised"] == "raw") & (table["metric"] == "loss")]
    for count, removed in enumerate(main.sort_values("heads_removed")["removed"]):
        assert set(removed.split()) == {head for group in scores.argsort()[:count] for head in groups[group].split()}


DRAW = random.Random(4)
PAIRS = [
    (group, *(" ".join(DRAW.choices("abc>", k=4 + number % 5)) for _ in "ab"))
    for group in ("order", "agreement")
    for number in range(20)
]


@torch.no_grad()
def is_preferred(sorter, kept):
    """Return of every pair whether the good sentence is more probable."""
    tokenizer = letter_tokenizer()

    def probability(sentence):
        tokens = torch.tensor([[tokenizer.bos_token_id, *tokenizer(sentence, add_special_tokens=False)["input_ids"]]])
        nats = logits_without(sorter, kept, tokens=tokens).double().log_softmax(-1)
        return sum(float(nats[0, place - 1, token]) for place, token in enumerate(tokens[0].tolist()) if place)

    return [probability(good) > probability(bad) for _, good, bad in PAIRS]


def test_minimal_pairs(letters, sorter, letter_scores, tmp_path):
    alike = [("order", "a b", "a b"), ("spaces", "a  b", "a b"), ("unknown", "x", "y")]  # no pair of two groups is left
    rows = [("group", "good", "bad"), alike[0], *PAIRS, *alike[1:]]
    (tmp_path / "pairs.tsv").write_text("\n".join("\t".join(row) for row in rows))
    flags = ["--pairs", tmp_path / "pairs.tsv", "--scores", letter_scores[0], "--step", "0.25", "--resamples", 50]
    run(minimal_pairs, letters, *flags, "--output", tmp_path / "table.csv")
    table = MINIMAL_PAIRS.read(tmp_path / "table.csv")
    order = rising(scores_of(letter_scores, "gradient-example"))
    assert sorted(set(table["heads_removed"])) == [0, 2, 4, 7, 9]
    full = is_preferred(sorter, ALL)
    for removed, rows in table.groupby("removed"):
        kept = kept_of(removed)
        assert {head for head in range(9) if not kept[head]} == set(order[: 9 - sum(kept)])
        own = is_preferred(sorter, kept)
        for group in ("", "order", "agreement"):
            row = rows[rows["group"] == group].iloc[0]
            places = [place for place, pair in enumerate(PAIRS) if group in ("", pair[0])]
            before, after = ([values[place] for place in places] for values in (full, own))
            assert row["count"] == len(places)
            assert row["value"] == pytest.approx(100 * sum(after) / len(places))
            assert row["full"] == pytest.approx(100 * sum(before) / len(places))
            assert row["delta"] == pytest.approx(row["value"] - row["full"])
            assert row["low"] <= row["delta"] <= row["high"]
            assert row["p"] == pytest.approx(mcnemar_p(*map(numpy.array, (before, after))))
    assert table["delta"].nunique() > 3
    assert set(table["group"]) == {"", *(group for group, *_ in PAIRS)}
    assert table["signature"].str.contains("|set:pairs|undecided:3|", regex=False).all()


SWEEPS = {
    "ablation": (ablation, None, ["--sets", "choose", "test"]),
    "ablation with means": (ablation, None, ["--sets", "test", "--replacement", "mean"]),
    "keep_one": (keep_one, None, ["--sets", "choose", "test"]),
    "pruning": (pruning, [1, 2], ["--criteria", "gradient-example", "--repairs", "obs", *FINE, "--step", "0.5"]),
}


def test_shards_of_a_translation_model_merge_too(toy, lively_checkpoint, tmp_path):
    """Sentences are packed with those of other profiles, which differ by shard."""
    flags = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "check", "far", "--output"]
    run_stage(ablation, [*flags, str(tmp_path / "whole.csv")])
    for number in "12":
        run_stage(ablation, [*flags, str(tmp_path / f"{number}.npz"), "--shard", f"{number}/2"])
    run_stage(ablation, [*flags, str(tmp_path / "merged.csv"), "--merge", *(str(tmp_path / f"{n}.npz") for n in "12")])
    assert (tmp_path / "merged.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize("name", SWEEPS)
def test_shards_merge_into_the_bytes_of_one_job(name, letters, letter_scores, tmp_path, monkeypatch):
    """A shard that is missing is judged at the merge."""
    stage, epochs, given = SWEEPS[name]
    given = [*given, "--resamples", 20, *(["--scores", *letter_scores] if epochs else [])]
    halves = {way: ["--halves", tmp_path / f"{way}.halves.csv"] * (stage is ablation) for way in ("whole", "merged")}
    run(stage, letters, *given, "--output", tmp_path / "whole.csv", *halves["whole"], epochs=epochs)
    shards = [tmp_path / f"{number}.npz" for number in (1, 2, 3)]
    for number, shard in enumerate(shards, 1):
        run(stage, letters, *given, "--shard", f"{number}/3", "--output", shard, epochs=epochs)
    live, outcome = [], Judge._outcome

    def watched(judge, one):
        live.extend([one] if one not in judge.known else [])
        return outcome(judge, one)

    monkeypatch.setattr(Judge, "_outcome", watched)
    for merged in (shards, shards[1:2]):
        live.clear()
        output = ["--output", tmp_path / "merged.csv", *halves["merged"]]
        run(stage, letters, *given, "--merge", *merged, *output, epochs=epochs)
        assert (set(live) == {PLAIN}) == (merged == shards)  # the full model alone
        for table in sorted(tmp_path.glob("whole.*")):
            assert (tmp_path / table.name.replace("whole", "merged")).read_bytes() == table.read_bytes()
