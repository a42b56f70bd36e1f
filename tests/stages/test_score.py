"""Scores of one model by hand, of both engines."""

import logging

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.experiments.scores import stage
from headroom.experiments.scores.table import SCORES_COMPARED, SCORES_COSTS
from headroom.methods.criteria import criteria, find_family
from models import toy_text, write_encoder
from stages.stage_arguments import looking_at

ELSEWHERE = {"ablation", "confidence", "gates", "gates-exact", "gates-exact-straight-through", "relevance"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Return the flags for a random classifier and six labelled pairs."""
    place = tmp_path_factory.mktemp("classifier")
    write_encoder(place / "epoch1")
    text = toy_text(examples=6)
    rows = ["sentence1\tsentence2\tlabel", *("\t".join(row) for row in zip(text.first, text.second, text.labels))]
    write_lines(place / "choose.tsv", rows)
    named = ["--engine", "classifier", "--study", "mine", "--run", "pairs.baseline.seed1"]
    return [*named, "--checkpoints", str(place / "epoch1"), "--corpus", str(place), "--device", "cpu"]


def scored(place, *flags):
    stage.main([*flags, "--output", str(place / "scores.csv"), "--costs", str(place / "costs.csv")])
    return SCORES_COMPARED.read(place / "scores.csv"), SCORES_COSTS.read(place / "costs.csv")


@pytest.mark.long
def test_every_criterion_that_applies_scores_a_classifier(classifier, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    scores, costs = scored(tmp_path, *classifier, "--criteria", "all")
    assert set(scores["criterion"]) == set(costs["criterion"]) == set(criteria()) - ELSEWHERE
    assert (scores.query("half == 'all'").groupby("criterion").size() == 8).all()
    skipped = {line.split()[1].strip(":"): line for line in caplog.messages if line.startswith("skipped")}
    assert set(skipped) == ELSEWHERE
    assert skipped["gates"] == "skipped gates: needs updates of the model: python -m headroom gates"
    assert skipped["confidence"] == (
        "skipped confidence: is measured by another stage: python -m headroom attention_stats"
    )


def test_criteria_without_labels(classifier, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    _, costs = scored(tmp_path, *classifier, "--criteria", "wanda", "gradient-token", "--no-labels")
    assert costs["criterion"].tolist() == ["wanda"]
    assert "skipped gradient-token: needs labels or references" in caplog.messages
    with pytest.raises(HeadroomError, match=r"--criteria: none of these"):
        scored(tmp_path, *classifier, "--criteria", "gradient-token", "--no-labels")
    with pytest.raises(HeadroomError, match=r"criterion 'wand': unknown; use one of"):
        scored(tmp_path, *classifier, "--criteria", "wand")


def test_scores_of_a_translation_model_are_those_of_a_study(toy, lively_checkpoint, tmp_path):
    model = [*looking_at(toy, lively_checkpoint, several=True), "--set", "check", "--examples", "4"]
    named = ["gradient-token", "output-norm", "attention-entropy", "magnitude", "loss-ablation"]
    scores, costs = scored(tmp_path, *model, "--criteria", *named)
    assert set(costs["criterion"]) == set(named)
    for name in named:
        stage.main([*model, "--family", find_family(name), "--output", str(tmp_path / f"{name}.csv")])
        study = SCORES_COMPARED.read(tmp_path / f"{name}.csv").query("criterion == @name")
        mine = scores[scores["criterion"] == name]
        assert mine.to_numpy().tolist() == study.to_numpy().tolist()
