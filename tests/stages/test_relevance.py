"""The stage `relevance` on a tiny run and a tiny classifier."""

import logging
import math

import pytest
from headroom.core.files import read_lines, write_lines
from headroom.core.heads import Head, all_heads
from headroom.data.labelled import read_labelled
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.experiments.attention_stats import relevance
from headroom.experiments.attention_stats.table import RELEVANCE
from headroom.methods import propagation
from headroom.methods.propagation import AlphaBetaRule, EpsilonRule
from headroom.methods.relevance import estimates, relevances
from models import toy_text, write_encoder
from stages.stage_arguments import looking_at


def arguments(toy, output, *more):
    given = looking_at(toy, toy.checkpoints[-1])
    return [*given, "--output", str(output), "--examples", "7", *more]


def test_the_starter_kind_of_model_conserves_relevance(toy, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        relevance.main(arguments(toy, tmp_path / "relevance.csv"))
    table = RELEVANCE.read(tmp_path / "relevance.csv")
    (row,) = table[table["measure"] == "conservation-error"].to_dict("records")
    assert 0 < float(row["value"]) < 1e-3
    assert (row["kind"], row["half"]) == ("", "all")
    assert math.isnan(row["layer"])
    assert math.isnan(row["head"])
    assert not caplog.records


def test_relevance_that_leaks_is_told(toy, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(propagation, "EPSILON", 10.0)
    with caplog.at_level(logging.WARNING):
        relevance.main(arguments(toy, tmp_path / "relevance.csv"))
    assert "relevance is not conserved" in caplog.text


def test_a_classifier(tmp_path):
    write_encoder(tmp_path / "epoch3")
    text = toy_text()
    rows = ["sentence1\tsentence2\tlabel", *("\t".join(row) for row in zip(text.first, text.second, text.labels))]
    write_lines(tmp_path / "check.tsv", rows)
    named = ["--engine", "classifier", "--study", "own", "--run", "own.baseline.seed1", "--device", "cpu"]
    where = ["--checkpoint", str(tmp_path / "epoch3"), "--corpus", str(tmp_path)]
    relevance.main([*named, *where, "--output", str(tmp_path / "relevance.csv")])
    table = RELEVANCE.read(tmp_path / "relevance.csv")
    assert len(table) == 8 * 2 * 3 + 1
    assert set(table["epoch"]) == {3}
    model = ClassificationModel.load(tmp_path / "epoch3", "cpu")
    found = relevances(
        model, model.batches(read_labelled(tmp_path / "check.tsv", None), examples=12), rule=EpsilonRule(1e-6)
    )
    expected = estimates(found, "signed", "score")[Head("E", 2, 3)]
    chosen = table[(table["measure"] == "signed") & (table["half"] == "score")]
    (row,) = chosen[(chosen["layer"] == 2) & (chosen["head"] == 3)].to_dict("records")
    assert float(row["value"]) == pytest.approx(expected.value, rel=1e-4)
    assert row["count"] == 6


@pytest.mark.long
def test_the_rule_is_a_setting_and_in_the_signature(toy, model, tmp_path):
    given = arguments(toy, tmp_path / "relevance.csv", "--rule", "alpha-beta", "--alpha", "2")
    relevance.main(given)
    table = RELEVANCE.read(tmp_path / "relevance.csv")
    named = "lrp:alpha-beta|epsilon:1e-06|alpha:2.0|beta:-1.0|logit:top-1|set:check|examples:7"
    assert set(table["signature"]) == {named}
    texts = [read_lines(toy.corpus / f"check.{side}")[:7] for side in ("source", "target")]
    found = relevances(model, model.batches(*texts, sentences=3), rule=AlphaBetaRule(2, 1e-6))
    expected = estimates(found, "relevance", "all")
    rows = table[(table["measure"] == "relevance") & (table["half"] == "all")]
    assert rows["value"].tolist() == pytest.approx([expected[head].value for head in all_heads(model.sites)], rel=1e-4)
