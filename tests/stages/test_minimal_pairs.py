"""Accuracy on minimal pairs is what plain transformers gives for each sentence, at every step of the order."""

import random
from string import ascii_lowercase

import numpy
import pytest
import torch
from headroom.core.heads import parse_head
from headroom.core.statistics import mcnemar_p
from headroom.experiments.minimal_pairs import stage as minimal_pairs
from headroom.experiments.minimal_pairs.table import MINIMAL_PAIRS
from headroom.experiments.scores import stage as scores
from models import build_small, letter_tokenizer, write_documents, write_language_model

DRAW = random.Random(4)
PAIRS = [
    (group, *(" ".join(DRAW.choices(ascii_lowercase, k=3 + number % 5)) for _ in "ab"))
    for group in ("order", "agreement")
    for number in range(20)
]


@pytest.fixture(scope="module")
def flags(tmp_path_factory):
    """The flags for a model, its corpus, its scores and pairs."""
    place, tokenizer = tmp_path_factory.mktemp("pairs"), letter_tokenizer(ascii_lowercase)
    checkpoint = str(write_language_model(place / "epoch1", build_small("llama"), tokenizer))
    named = ["--engine", "causal", "--study", "letters", "--run", "next.baseline.seed1", "--device", "cpu"]
    documents = [" ".join(DRAW.choices(ascii_lowercase, k=9)) for _ in range(12)]
    flags = [*named, "--corpus", str(write_documents(place / "corpus", documents))]
    table = str(place / "scores.csv")
    scores.main([*flags, "--checkpoints", checkpoint, "--set", "choose", "--output", table])
    (place / "pairs.tsv").write_text("\n".join("\t".join(row) for row in [("group", "good", "bad"), *PAIRS]))
    return [*flags, "--checkpoint", checkpoint, "--scores", table, "--pairs", str(place / "pairs.tsv")]


@pytest.fixture(scope="module")
def table(flags, tmp_path_factory):
    output = tmp_path_factory.mktemp("table") / "pairs.csv"
    minimal_pairs.main([*flags, "--step", "0.25", "--unit", "group", "--resamples", "50", "--output", str(output)])
    return MINIMAL_PAIRS.read(output)


@torch.no_grad()
def is_preferred(removed):
    """Return of every pair whether the good sentence is more probable, with columns of output projections zeroed."""
    model, tokenizer = build_small("llama"), letter_tokenizer(ascii_lowercase)
    for head in removed:
        weight = model.model.layers[head.layer - 1].self_attn.o_proj.weight
        weight.unflatten(1, (6, -1))[:, head.head - 1] = 0

    def probability(sentence):
        pieces = torch.tensor([[tokenizer.bos_token_id, *tokenizer(sentence, add_special_tokens=False)["input_ids"]]])
        nats = model(pieces).logits.double().log_softmax(-1)
        return sum(float(nats[0, place - 1, piece]) for place, piece in enumerate(pieces[0].tolist()) if place)

    return [probability(good) > probability(bad) for _, good, bad in PAIRS]


def test_every_step_and_group_is_that_of_plain_transformers(table):
    assert sorted(set(table["heads_removed"])) == [0, 3, 6, 9, 12]
    full = is_preferred([])
    for removed, rows in table.groupby("removed"):
        own = is_preferred(map(parse_head, removed.split()))
        for group, places in (("", range(40)), ("order", range(20)), ("agreement", range(20, 40))):
            row = rows[rows["group"] == group].iloc[0]
            before, after = ([values[place] for place in places] for values in (full, own))
            assert row["count"] == len(places)
            assert row["value"] == pytest.approx(100 * sum(after) / len(places))
            assert row["full"] == pytest.approx(100 * sum(before) / len(places))
            assert row["delta"] == pytest.approx(row["value"] - row["full"])
            assert row["low"] <= row["delta"] <= row["high"]
            assert row["p"] == pytest.approx(mcnemar_p(*map(numpy.array, (before, after))))
    assert table["delta"].nunique() > 3
