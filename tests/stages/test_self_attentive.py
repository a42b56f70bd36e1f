"""Every stage that a self-attentive classifier goes through: made, trained, and looked at, on a tiny corpus."""

import pytest
from headroom.core import tables
from headroom.engines.classification.model import ClassificationModel
from headroom.stages import ablation as ablation_stage
from headroom.stages import (
    agreement,
    encoder,
    evaluation,
    gates,
    keep_one,
    parameters,
    pruning,
    rank_correlation,
    removal,
    settling,
    timing,
    training,
)
from headroom.stages import scores as scores_stage
from toy_fine_tuning import write_corpus

RUN = ["--study", "toy", "--run", "hops.baseline.seed1"]
QUICK = ["--resamples", "20"]
HOPS = 4
SHAPE = ["--embedding", "8", "--hidden", "4", "--attention", "6", "--hops", str(HOPS), "--fully-connected", "8"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A corpus, an encoder and a classifier of two epochs, each made by its stage."""
    place = tmp_path_factory.mktemp("hops")
    corpus = write_corpus(place / "corpus", pairs=True)
    source = ["--source", "self-attentive", *SHAPE, "--vocabulary", "120", "--penalty", "0.1"]
    encoder.main(["--corpus", str(corpus), "--output", str(place / "encoder"), *source])
    training.main(
        [
            *(
                "--task",
                "classification",
                *RUN,
                "--corpus",
                str(corpus),
                "--encoder",
                str(place / "encoder"),
                "--work",
                str(place / "work"),
            ),
            *("--checkpoints", str(place / "run"), "--output", str(place / "training.csv"), "--device", "cpu"),
            *("--epochs", "2", "--learning-rate", "0.01", "--batch-size", "8", "--max-length", "600"),
        ]
    )
    return place


def arguments(place, output, *more, several=False):
    epochs = [str(place / "run" / f"epoch{epoch}") for epoch in ((1, 2) if several else (2,))]
    where = ["--checkpoints" if several else "--checkpoint", *epochs, "--corpus", str(place / "corpus")]
    return ["--task", "classification", *RUN, *where, "--device", "cpu", "--output", str(output), *more]


@pytest.fixture(scope="module")
def scores(place):
    halves = ["--halves", str(place / "halves.scores.csv")]
    scores_stage.main(arguments(place, place / "scores.csv", *halves, several=True))
    return place / "scores.csv"


@pytest.fixture(scope="module")
def ablation(place):
    halves = ["--halves", str(place / "halves.ablation.csv")]
    ablation_stage.main(arguments(place, place / "ablation.csv", *QUICK, *halves))
    return place / "ablation.csv"


def test_the_classifier_has_one_site(place):
    model = ClassificationModel.load(place / "run" / "epoch2", "cpu")
    assert [str(head) for head in model.live_sites[0].kept_heads()] == ["E1:1", "E1:2", "E1:3", "E1:4"]
    assert model.longest == 600  # more than the positions of a BERT


def test_scores_ablation_and_settling(place, scores, ablation, tmp_path):
    table = tables.SCORES.read(scores)
    assert len(table) == 2 * 4 * HOPS * 2  # epochs, criteria, hops, raw and normalised
    assert (table["value"] > 0).all()
    assert set(tables.ABLATION.read(ablation)["head"]) == {1, 2, 3, 4}
    settling.main([*RUN, "--scores", str(scores), "--output", str(tmp_path / "settling.csv")])
    agreement.main([*RUN, "--ablation", str(ablation), "--output", str(tmp_path / "agreement.csv")])


def test_criteria_are_compared_without_where_heads_point_and_relevance(place, scores, ablation, tmp_path):
    halves = [str(place / f"halves.{name}.csv") for name in ("scores", "ablation")]
    more = ["--scores", str(scores), "--ablation", str(ablation), "--gates", "--halves", *halves]
    rank_correlation.main([*RUN, *more, "--output", str(tmp_path / "criteria.csv")])
    table = tables.RANK_CORRELATION.read(tmp_path / "criteria.csv")
    assert {*table["first"], *table["second"]} == {"gradient-example", "gradient-token", "ablation"}


def test_one_hop_kept(place, tmp_path):
    keep_one.main(arguments(place, tmp_path / "keep.csv", *QUICK))
    table = tables.KEEP_ONE.read(tmp_path / "keep.csv")
    assert set(table["head"]) == {1, 2, 3, 4}


@pytest.mark.parametrize("scope", ["all", "sites"])
def test_curves_end_without_any_hop(place, scores, ablation, tmp_path, scope):
    more = ["--scores", str(scores), "--ablation", str(ablation), "--random-draws", "1", "--scopes", scope]
    more += ["--only-main", "true"] if scope == "sites" else []
    given = arguments(place, tmp_path / "curves.csv", *QUICK, *more, several=True)
    given.remove(str(place / "run" / "epoch1"))  # ablation is of the last epoch
    pruning.main(given)
    table = tables.PRUNING.read(tmp_path / "curves.csv")
    assert table["heads_removed"].max() == HOPS


def test_a_sliced_classifier_labels_as_the_masked_one(place, scores, tmp_path):
    more = ["--scores", str(scores), "--sliced", str(tmp_path / "sliced")]
    removal.main(arguments(place, tmp_path / "removal.csv", *QUICK, *more))
    checks = tables.REMOVAL.read(tmp_path / "removal.csv").set_index("check")["value"]
    assert checks["identical_outputs"] == 1
    assert checks["largest_logit_difference"] < 1e-5
    evaluation.main([*arguments(place, tmp_path / "table.csv", *QUICK), "--checkpoint", str(tmp_path / "sliced")])


def test_timing_of_full_masked_and_sliced(place, scores, tmp_path):
    few = ["--shares", "0.5", "--batch-sizes", "1", "4", "--warmup", "1", "--repeats", "2"]
    more = ["--scores", str(scores), "--samples", str(tmp_path / "samples.csv"), *few]
    timing.main(arguments(place, tmp_path / "timing.csv", *more))
    assert len(tables.TIMING.read(tmp_path / "timing.csv")) == 3 * 2


def test_counts_by_hand(place, tmp_path):
    parameters.main(arguments(place, tmp_path / "parameters.csv"))
    (row,) = tables.PARAMETERS.read(tmp_path / "parameters.csv").to_dict("records")
    assert (row["kind"], row["layer"], row["heads"]) == ("E", 1, HOPS)
    assert row["head_parameters"] == 6 + 8 * 8  # its row of W_s2, and what the fully connected layer reads of it
    assert row["attention_parameters"] == HOPS * row["head_parameters"] + 8  # and that layer's bias


@pytest.mark.parametrize(
    "way",
    [
        ["--method", "hard-concrete", "--penalties", "0.01", "1"],
        ["--method", "exact", "--kept-shares", "0.25"],
        ["--method", "exact-straight-through", "--kept-heads", "2"],
        ["--method", "controls", "--kept-shares", "0.5", "--random-draws", "1"],
    ],
    ids=lambda way: way[1],
)
def test_learned_gates_and_their_controls(place, scores, tmp_path, way):
    brief = ["--updates", "6", "--batch-examples", "12", "--judge-on", "check", "--test-examples", "8", *QUICK]
    more = ["--scores", str(scores)] if "controls" in way else ["--models", str(tmp_path / "models")]
    gates.main(arguments(place, tmp_path / "pruned.csv", *brief, *way, *more))
    table = tables.PRUNED_MODELS.read(tmp_path / "pruned.csv")
    assert set(table["heads"]) == {HOPS}
    for path in (tmp_path / "models").glob("*/epoch2"):
        model = ClassificationModel.load(path, "cpu")
        assert len(model.live_sites[0].kept) in set(table["kept"])
