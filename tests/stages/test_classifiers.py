"""Every stage on classifiers: one in a local directory, and a self-attentive one made by the stages."""

import logging
from types import SimpleNamespace

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.experiments.ablation import stage as ablation_stage
from headroom.experiments.ablation.declared import ABLATION
from headroom.experiments.agreement import stage as agreement
from headroom.experiments.agreement.declared import AGREEMENT
from headroom.experiments.evaluation import stage as evaluation
from headroom.experiments.evaluation.declared import EVALUATION
from headroom.experiments.gates import stage as gates
from headroom.experiments.gates.declared import PRUNED_MODELS
from headroom.experiments.keep_one import stage as keep_one
from headroom.experiments.keep_one.declared import KEEP_ONE
from headroom.experiments.pruning import stage as pruning
from headroom.experiments.pruning.declared import PRUNING
from headroom.experiments.removal import stage as removal
from headroom.experiments.removal.declared import REMOVAL
from headroom.experiments.scores import stage as scores_stage
from headroom.experiments.scores.declared import SCORES, SCORES_COMPARED, SCORES_COSTS
from headroom.experiments.training import fine_tuning
from headroom.methods.criteria import criteria
from headroom.models.classifier.model import ClassificationModel
from headroom.models.engine import KL
from headroom.preparation import encoder
from stages.stage_arguments import BRIEF_GATES, FEW, OWN, classifying
from study import run_stage
from trainings import write_corpus

ELSEWHERE = {"ablation", "confidence", "gates", "relevance"}


def self_attentive(place):
    """A corpus, an encoder and a classifier of two epochs, each made by its stage."""
    corpus = write_corpus(place / "corpus", pairs=True)
    shape = ["--embedding", "8", "--hidden", "4", "--attention", "6", "--hops", "4", "--fully-connected", "8"]
    source = ["--source", "self-attentive", *shape, "--vocabulary", "120", "--penalty", "0.1"]
    run_stage(encoder, ["--corpus", str(corpus), "--output", str(place / "encoder"), *source])
    where = ["--corpus", str(corpus), "--encoder", str(place / "encoder"), "--work", str(place / "work")]
    written = ["--checkpoints", str(place / "run"), "--output", str(place / "training.csv"), "--device", "cpu"]
    few = ["--epochs", "2", "--learning-rate", "0.01", "--batch-size", "8", "--max-length", "600"]
    run_stage(fine_tuning, [*OWN, *where, *written, *few])
    epochs = [place / "run" / f"epoch{epoch}" for epoch in (1, 2)]
    return SimpleNamespace(place=place, corpus=corpus, epochs=epochs, sites=["E1"], heads=4)


@pytest.fixture(scope="module", params=["own", "self-attentive"])
def made(request, tmp_path_factory):
    """A classifier and what its stages wrote: tables of scores and ablation, each with its halves."""
    place = tmp_path_factory.mktemp("made")
    if request.param == "own":
        own = request.getfixturevalue("own")
        found = SimpleNamespace(
            place=place, corpus=own / "corpus", epochs=[own / "epoch3"], sites=["E1", "E2"], heads=8
        )
    else:
        found = self_attentive(place)
    run_stage(scores_stage, arguments(found, place / "scores.csv", several=True))
    run_stage(ablation_stage, arguments(found, place / "ablation.csv", *FEW, "--halves", str(place / "halves.csv")))
    found.scores = ["--scores", str(place / "scores.csv")]
    found.ablation = ["--ablation", str(place / "ablation.csv")]
    return found


def arguments(made, output, *more, several=False):
    checkpoints = made.epochs if several else made.epochs[-1:]
    return [*classifying(made.corpus, *checkpoints, several=several), "--output", str(output), *more]


def test_the_ablation_is_that_of_the_sliced_model(made, tmp_path):
    table = ABLATION.read(made.ablation[1])
    assert len(table) == 2 * made.heads * len(set(table["metric"]))
    model = ClassificationModel.load(made.epochs[-1], "cpu")
    model.remove(parse_profile(f"{made.sites[-1]}:3", model.sites))
    model.save(tmp_path / "sliced")
    run_stage(evaluation, [*arguments(made, tmp_path / "sliced.csv", *FEW), "--checkpoint", str(tmp_path / "sliced")])
    expected = EVALUATION.read(tmp_path / "sliced.csv").set_index("metric")["value"]
    rows = table[(table["set"] == "test") & (table["layer"] == len(made.sites)) & (table["head"] == 3)]
    rows = rows[rows["metric"] != KL]  # which needs both models
    assert rows.set_index("metric")["value"].to_dict() == pytest.approx(expected.to_dict(), rel=1e-5)


def test_stages_that_follow(made, tmp_path):
    """Scores and ablation are compared, one head is kept, and curves are within sites."""
    assert (SCORES.read(made.scores[1])["value"] > 0).all()
    more = [*made.scores, *made.ablation, "--gates", "--halves", str(made.place / "halves.csv")]
    run_stage(agreement, [*OWN, *more, "--output", str(tmp_path / "agreement.csv")])
    table = AGREEMENT.read(tmp_path / "agreement.csv")
    assert {*table["between"]} == {"set", "criterion", *(["epoch"] if len(made.epochs) > 1 else [])}
    rows = table[table["between"] == "criterion"]
    assert {*rows["a"], *rows["b"]} == {"gradient-example", "gradient-token", "ablation"}
    run_stage(keep_one, arguments(made, tmp_path / "keep.csv", *FEW))
    table = KEEP_ONE.read(tmp_path / "keep.csv")
    chosen = table[(table["set"] == "test") & table["chosen_on"].str.contains("choose")]
    assert [f"E{layer}" for layer in sorted(set(chosen["layer"]))] == made.sites
    last = SimpleNamespace(corpus=made.corpus, epochs=made.epochs[-1:])  # ablation is of the last epoch
    given = arguments(last, tmp_path / "curves.csv", *FEW, *made.scores, *made.ablation, several=True)
    orders = ["--orders", "gradient-token", "ablation", "random", "reverse", "--rescored", "gradient-token"]
    run_stage(pruning, [*given, *orders, "--step", "0.5", "--scopes", "sites", "--random-draws", "1"])
    table = PRUNING.read(tmp_path / "curves.csv")
    assert [*dict.fromkeys(table["scope"])] == made.sites
    assert set(table["heads_total"]) == {4}


def test_a_sliced_classifier_labels_as_the_masked_one_also_if_repaired(made, tmp_path):
    for repair in ([], ["--repair", "refit"]):
        given = arguments(made, tmp_path / "removal.csv", *FEW, *made.scores, "--share", "0.5", *repair)
        run_stage(
            removal, [*given, "--smaller", str(tmp_path / "sliced"), "--removable", str(tmp_path / "removable.csv")]
        )
        checks = REMOVAL.read(tmp_path / "removal.csv").set_index("check")["value"]
        assert checks["identical_outputs"] == 1
        assert checks["largest_logit_difference"] < 1e-4
        left = sum(len(live.kept) for live in ClassificationModel.load(tmp_path / "sliced", "cpu").live_sites)
        assert left == made.heads // 2
    assert len({checks["loss_full"], checks["loss_unrepaired"], checks["loss_repaired"]}) == 3


@pytest.mark.parametrize(
    "way",
    [
        ["--method", "hard-concrete", "--penalties", "0.01"],
        ["--method", "controls", "--kept-shares", "0.5", "--random-draws", "1"],
    ],
    ids=lambda way: way[1],
)
def test_learned_gates_and_their_controls(made, tmp_path, way):
    more = made.scores if "controls" in way else ["--models", str(tmp_path / "models")]
    run_stage(gates, arguments(made, tmp_path / "pruned.csv", *BRIEF_GATES, *FEW, *way, *more))
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    assert set(table["heads"]) == {made.heads}
    for path in (tmp_path / "models").glob("*/epoch?"):
        model = ClassificationModel.load(path, "cpu")
        assert sum(len(live.kept) for live in model.live_sites) in set(table["kept"])


def scored(own, place, *flags):
    model = [*classifying(own / "corpus", own / "epoch3", several=True), "--examples", "6"]
    run_stage(
        scores_stage, [*model, *flags, "--output", str(place / "scores.csv"), "--costs", str(place / "costs.csv")]
    )
    return SCORES_COMPARED.read(place / "scores.csv"), SCORES_COSTS.read(place / "costs.csv")


@pytest.mark.long
def test_every_criterion_that_applies_scores_a_classifier(own, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    scores, costs = scored(own, tmp_path, "--criteria", "all")
    assert set(scores["criterion"]) == set(costs["criterion"]) == set(criteria()) - ELSEWHERE
    assert (scores.query("half == 'all'").groupby("criterion").size() == 8).all()
    skipped = {line.split()[1].strip(":"): line for line in caplog.messages if line.startswith("skipped")}
    assert set(skipped) == ELSEWHERE
    assert skipped["gates"] == "skipped gates: needs updates of the model: python -m headroom gates"
    assert skipped["confidence"] == (
        "skipped confidence: is measured by another stage: python -m headroom attention_stats"
    )


def test_criteria_without_labels(own, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    _, costs = scored(own, tmp_path, "--criteria", "wanda", "gradient-token", "--no-labels")
    assert costs["criterion"].tolist() == ["wanda"]
    assert "skipped gradient-token: needs labels or references" in caplog.messages
    with pytest.raises(HeadroomError, match=r"--criteria: none of these"):
        scored(own, tmp_path, "--criteria", "gradient-token", "--no-labels")
    with pytest.raises(HeadroomError, match=r"criterion 'wand': unknown; use one of"):
        scored(own, tmp_path, "--criteria", "wand")
