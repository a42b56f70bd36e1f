"""Scores of one model by hand, of both engines, and their form for the benchmark of circuits."""

import json
import logging
from pathlib import Path

import pytest
from headroom.core import tables
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.core.heads import Head, all_heads
from headroom.methods.criteria import criteria, family_of
from headroom.methods.orders import by_head
from headroom.stages import bakeoff_scores, mib, score
from stages.stage_arguments import looking_at
from toy_encoder import toy_text, write_encoder

ELSEWHERE = {"ablation", "confidence", "gates", "gates-exact", "gates-exact-straight-through", "relevance"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Return the flags for a random classifier and six labelled pairs."""
    place = tmp_path_factory.mktemp("classifier")
    write_encoder(place / "epoch1")
    text = toy_text(examples=6)
    rows = ["sentence1\tsentence2\tlabel", *("\t".join(row) for row in zip(text.first, text.second, text.labels))]
    write_lines(place / "choose.tsv", rows)
    named = ["--task", "classification", "--study", "mine", "--run", "pairs.baseline.seed1"]
    return [*named, "--checkpoint", str(place / "epoch1"), "--corpus", str(place), "--device", "cpu"]


def scored(place, *flags):
    score.main([*flags, "--output", str(place / "scores.csv"), "--costs", str(place / "costs.csv")])
    return tables.BAKEOFF_SCORES.read(place / "scores.csv"), tables.BAKEOFF_COSTS.read(place / "costs.csv")


def test_every_criterion_that_applies_scores_a_classifier(classifier, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    scores, costs = scored(tmp_path, *classifier, "--criteria", "all")
    assert set(scores["criterion"]) == set(costs["criterion"]) == set(criteria()) - ELSEWHERE
    assert (scores.groupby("criterion").size() == 8).all()
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
    model = [*looking_at(toy, lively_checkpoint), "--set", "check", "--examples", "4"]
    named = ["gradient-token", "output-norm", "attention-entropy", "magnitude", "loss-ablation"]
    scores, costs = scored(tmp_path, *model, "--criteria", *named)
    assert set(costs["criterion"]) == set(named)
    for name in named:
        place = [str(tmp_path / f"{name}.csv"), "--costs", str(tmp_path / "c.csv")]
        bakeoff_scores.main([*model, "--family", family_of(name), "--output", *place])
        study = tables.BAKEOFF_SCORES.read(tmp_path / f"{name}.csv").query("half == 'all' and criterion == @name")
        mine = scores[scores["criterion"] == name]
        assert mine.to_numpy().tolist() == study.to_numpy().tolist()


def loaded(path: Path) -> tuple[dict[str, float], list[str]]:
    """Read a file as the benchmark's code does: return the scores of nodes, and those that stay in every circuit.

    EAP-IG, `Graph.from_json`: a graph is made from `cfg`; nodes are named by its shape, and every node and edge in the
    file must be one of them; a node without a score has none.
    """
    content = json.loads(path.read_text())
    assert set(content) == {"cfg", "nodes", "edges"}
    shape = content["cfg"]
    assert {name: type(value) for name, value in shape.items()} == {
        "n_layers": int, "n_heads": int, "parallel_attn_mlp": bool, "d_model": int
    }  # fmt: skip
    heads = [[f"a{layer}.h{head}" for head in range(shape["n_heads"])] for layer in range(shape["n_layers"])]
    known = ["input", *(name for layer, own in enumerate(heads) for name in (*own, f"m{layer}")), "logits"]
    assert list(content["nodes"]) == known
    assert content["edges"] == {}
    assert all(isinstance(node["in_graph"], bool) for node in content["nodes"].values())
    found = {name: node["score"] for name, node in content["nodes"].items() if "score" in node}
    return found, [name for name in known if name not in found]


def test_the_form_of_the_benchmark(classifier, tmp_path):
    scores, _ = scored(tmp_path, *classifier, "--criteria", "wanda", "gradient-signed")
    mib.main(["--scores", str(tmp_path / "scores.csv"), "--width", "16", "--output", str(tmp_path / "mib")])
    for name in ("wanda", "gradient-signed"):
        (path,) = (tmp_path / "mib" / f"{name}.E").glob("*/*")
        assert path.relative_to(tmp_path / "mib" / f"{name}.E") == Path("pairs_baseline.seed1/importances.json")
        found, kept = loaded(path)
        mine = scores[scores["criterion"] == name]
        assert found == {f"a{head.layer - 1}.h{head.head - 1}": v for head, v in by_head(mine, mine["value"]).items()}
        assert kept == ["input", "m0", "m1", "logits"]


def test_a_graph_by_hand():
    scores = {Head("D", 1, 1): 0.5, Head("D", 1, 2): -1.0, Head("D", 2, 1): float("nan"), Head("D", 2, 2): 2.0}
    here = {"in_graph": True}
    assert mib.graph(scores, 8) == {
        "cfg": {"n_layers": 2, "n_heads": 2, "parallel_attn_mlp": False, "d_model": 8},
        "nodes": {
            "input": here, "a0.h0": {**here, "score": 0.5}, "a0.h1": {**here, "score": -1.0}, "m0": here,
            "a1.h0": here, "a1.h1": {**here, "score": 2.0}, "m1": here, "logits": here,
        },
        "edges": {},
    }  # fmt: skip


def test_kinds_of_attention_are_graphs_of_their_own(lively, tmp_path):
    rows = [
        {
            "study": "s", "run": "translation.baseline.seed1", "epoch": 2, "kind": head.kind, "layer": head.layer,
            "head": head.head, "criterion": "wanda", "half": "all", "value": 1.0, "signature": "x",
        }
        for head in all_heads(lively.sites)
    ]  # fmt: skip
    tables.BAKEOFF_SCORES.write(tmp_path / "scores.csv", rows)
    mib.main(["--scores", str(tmp_path / "scores.csv"), "--width", "16", "--output", str(tmp_path)])
    assert {path.parts[-3] for path in tmp_path.glob("*/*/*.json")} == {"wanda.E", "wanda.A", "wanda.D"}
    with pytest.raises(HeadroomError, match="3 heads in 2 layers"):
        mib.graph({Head("E", 1, 1): 1.0, Head("E", 2, 1): 1.0, Head("E", 2, 2): 1.0}, 8)
