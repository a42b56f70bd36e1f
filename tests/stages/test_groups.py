"""`pruning.unit: group` on a decoder with grouped keys: curves, removal and timing take whole groups."""

from string import ascii_lowercase

import pytest
from headroom.core.heads import Head, parse_profile
from headroom.engines.hub.causal.model import CausalModel
from headroom.experiments.pruning import stage as pruning
from headroom.experiments.pruning.table import PRUNING
from headroom.experiments.removal import stage as removal
from headroom.experiments.scores import stage as scores
from headroom.experiments.timing import stage as timing
from headroom.methods.orders import read_scores
from models import build_small, letter_tokenizer, write_documents, write_language_model

DOCUMENTS = [" ".join(ascii_lowercase[start : start + 9]) for start in range(12)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a model, a corpus, and the tables of all stages with whole groups."""
    place = tmp_path_factory.mktemp("groups")
    tokenizer, model = letter_tokenizer(ascii_lowercase), build_small("llama")
    model.config.pad_token_id = tokenizer.pad_token_id
    checkpoint = write_language_model(place / "epoch1", model, tokenizer)
    named = ["--engine", "causal", "--study", "letters", "--run", "next.baseline.seed1", "--device", "cpu"]
    flags = [*named, "--corpus", str(write_documents(place / "corpus", DOCUMENTS)), "--length", "10"]
    one, scored = ["--checkpoint", str(checkpoint)], ["--scores", str(place / "scores.csv")]
    scores.main([*flags, "--checkpoints", str(checkpoint), "--set", "choose", "--output", str(place / "scores.csv")])
    for unit in ("head", "group"):
        few = ["--criteria", "gradient-example", "--step", "0.25", "--random-draws", "2", "--resamples", "20"]
        output, by = ["--output", str(place / f"pruning.{unit}.csv")], ["--unit", unit]
        pruning.main([*flags, "--checkpoints", str(checkpoint), *scored, *few, *by, *output])
        outputs = ["--output", str(place / f"timing.{unit}.csv"), "--samples", str(place / "samples.csv")]
        short = ["--shares", "0.5", "--batch-sizes", "2", "--warmup", "1", "--repeats", "2"]
        timing.main([*flags, *one, *scored, *short, *by, *outputs])
    outputs = ["--output", str(place / "removal.csv"), "--sliced", str(place / "sliced"), "--resamples", "20"]
    removal.main([*flags, *one, *scored, "--share", "0.5", "--unit", "group", *outputs])
    return place


@pytest.fixture(scope="module")
def model(place):
    return CausalModel.load(place / "epoch1", "cpu")


def test_heads_are_grouped_by_their_keys(model):
    units = model.units("group")
    assert units == [
        tuple(Head("D", layer, n) for n in (first, first + 1, first + 2)) for layer in (1, 2) for first in (1, 4)
    ]
    assert [head for unit in units for head in unit] == [head for (head,) in model.units()]
    assert model.units("group", "D2") == units[2:]


def test_curves_remove_the_groups_with_the_smallest_sums(place, model):
    table = PRUNING.read(place / "pruning.group.csv")
    units = [frozenset(unit) for unit in model.units("group")]
    for text in table["removed"]:
        gone = parse_profile(text, model.sites)
        assert all(unit <= gone or not unit & gone for unit in units)
    assert set(table["heads_removed"]) == {0, 3, 6, 9, 12}
    assert set(table["heads_total"]) == {12}
    found = read_scores(str(place / "scores.csv"), epoch=1, criterion="gradient-example")
    ranked = sorted(units, key=lambda unit: sum(found[head] for head in unit))
    main = table[
        (table["order"] == "gradient-example") & (table["normalised"] == "raw") & (table["ranking"] == "fixed")
    ]
    for count in (1, 2, 3):
        (text,) = set(main[main["heads_removed"] == 3 * count]["removed"])
        assert parse_profile(text, model.sites) == frozenset().union(*ranked[:count])
    assert len(set(table[(table["order"] == "random") & (table["heads_removed"] == 6)]["removed"])) == 2
