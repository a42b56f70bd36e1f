"""The stage `attention_maps`: maps of heads with roles, between words, on sentences of suitable length."""

import json

import pytest
import torch
from headroom.core.files import read_lines
from headroom.data.trees import read_trees
from headroom.engines.fairseq.sites import attention_maps
from headroom.experiments.attention_maps import stage as attention_maps_stage
from headroom.experiments.attention_stats.table import ATTENTION_STATS
from headroom.experiments.roles.table import ROLES
from stages.stage_arguments import looking_at
from tables import write_rows

HELD = [
    ("trained", "", "E", 1, 1, "positional", "-1", 0.95, 0),
    ("trained", "", "E", 2, 1, "positional", "-1", 0.97, 0),
    ("trained", "", "D", 1, 1, "positional", "-1", 0.99, 0),
    ("trained", "gold", "E", 1, 2, "syntactic", "nsubj:to-dependent", 0.9, 0),
    ("trained", "gold", "E", 1, 3, "syntactic", "nsubj:to-dependent", 0.6, 1),
    ("trained", "shuffled", "E", 1, 4, "syntactic", "obj:to-dependent", 0.9, 1),
    ("untrained", "gold", "E", 2, 4, "syntactic", "obj:to-dependent", 0.9, 1),
    ("trained", "", "E", 1, 4, "rare", "two-rarest", 0.6, 0),
]


def write_roles(path, roles):
    names = ("model", "trees", "kind", "layer", "head", "role", "target", "value", "best")
    rest = {"study": "toy", "run": "r", "epoch": 2}
    return write_rows(ROLES, path, [{**rest, **dict(zip(names, role, strict=True))} for role in roles])


def traced(toy, tmp_path, *more, roles=HELD):
    given = [*looking_at(toy, toy.checkpoints[-1]), "--roles", str(write_roles(tmp_path / "roles.csv", roles))]
    attention_maps_stage.main([*given, "--output", str(tmp_path / "maps.json"), *more])
    return json.loads((tmp_path / "maps.json").read_text())


def test_where_no_head_holds_a_role_the_head_that_comes_nearest_is_shown(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(attention_maps_stage, "SENTENCES", 1)
    rows = [
        ("trained", "E", 1, 1, "relation", "nsubj:to-dependent", "gold", "choose", 0.9),  # held: see HELD
        ("trained", "E", 1, 2, "relation", "amod:to-governor", "gold", "choose", 0.3),
        ("trained", "E", 2, 2, "relation", "amod:to-governor", "gold", "choose", 0.4),
        ("trained", "E", 1, 2, "relation", "amod:to-governor", "gold", "score", 0.9),
        ("trained", "E", 1, 2, "relation", "amod:to-dependent", "gold", "choose", 0.2),
        ("trained", "E", 1, 3, "relation", "amod:to-governor", "shuffled", "choose", 0.8),
        ("untrained", "E", 1, 4, "relation", "amod:to-governor", "gold", "choose", 0.9),
        ("trained", "E", 1, 1, "offset", "0", "", "all", 0.8),
        ("trained", "E", 2, 3, "offset", "+1", "", "all", 0.7),
        ("trained", "D", 2, 4, "offset", "+1", "", "all", 0.9),
    ]
    names = ("model", "kind", "layer", "head", "measure", "target", "trees", "half", "value")
    rest = {"study": "toy", "run": "r", "epoch": 2}
    given = [{**rest, **dict(zip(names, row, strict=True))} for row in rows]
    write_rows(ATTENTION_STATS, tmp_path / "p.csv", given)
    more = ["--treebank", str(toy.corpus / "far.conllu")]
    found = traced(toy, tmp_path, *more, "--pointing", str(tmp_path / "p.csv"), roles=HELD[3:5])
    assert [(one["head"], one["role"], one["target"]) for one in found["maps"]] == [
        ("E1:3", "syntactic", "nsubj:to-dependent"),
        ("E2:2", "", "amod:to-governor"),
        ("E2:3", "", "+1"),
    ]


def test_the_best_head_of_every_role_on_the_same_sentences(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(attention_maps_stage, "SENTENCES", 2)
    found = traced(toy, tmp_path, "--treebank", str(toy.corpus / "far.conllu"))
    assert (found["run"], found["epoch"]) == ("translation.baseline.seed1", 2)
    shown = [(one["head"], one["role"], one["target"], one["sentence"]) for one in found["maps"]]
    assert shown == [
        (head, role, target, sentence)
        for head, role, target in (
            ("E2:1", "positional", "-1"),
            ("E1:3", "syntactic", "nsubj:to-dependent"),
            ("E1:4", "rare", "two-rarest"),
        )
        for sentence in (1, 2)
    ]
    fitting = [one for one in read_trees(toy.corpus / "far.conllu") if 6 <= len(one.words) <= 14]
    chosen = {one["sentence"]: one["queries"] for one in found["maps"]}
    assert [word.form for word in fitting[0].words] == chosen[1]
    for one in found["maps"]:
        assert one["queries"] == one["keys"] == chosen[one["sentence"]]
        assert len(one["weights"]) == len(one["queries"])
        assert all(len(row) == len(one["keys"]) for row in one["weights"])
        assert all(weight == round(weight, 2) and 0 <= weight <= 1 for row in one["weights"] for weight in row)


@torch.inference_mode()
def test_weights_are_those_of_the_model(toy, model, tmp_path, monkeypatch):
    monkeypatch.setattr(attention_maps_stage, "SENTENCES", 1)
    found = traced(toy, tmp_path, "--treebank", str(toy.corpus / "far.conllu"))["maps"][1]
    text = next(one for one in read_trees(toy.corpus / "far.conllu") if 6 <= len(one.words) <= 14).text
    batch, maps = model.batches([text], sentences=1)[0], {}
    with attention_maps(model.live_sites[:1], lambda site, weights: maps.update({str(site): weights})):
        model.model.encoder(batch.source, src_lengths=batch.lengths)
    rows = maps["E1"][0, 2, :-1, :-1]
    words = [
        sum(piece.startswith("▁") for piece in model.source.pieces.encode(text)[: place + 1]) - 1
        for place in range(len(rows))
    ]
    # the words of the generated text are those between spaces, except the full stop at the end
    first = rows[[place for place, word in enumerate(words) if word == 0]].mean(0)
    expected = float(first[[place for place, word in enumerate(words) if word == 1]].sum())
    assert found["weights"][0][1] == pytest.approx(expected, abs=0.0051)


def test_without_treebank_sentences_are_those_of_the_set(toy, tmp_path):
    found = traced(toy, tmp_path, "--set", "far")
    fitting = [line.split() for line in read_lines(toy.corpus / "far.source") if 6 <= len(line.split()) <= 14]
    assert found["maps"]
    assert all(one["queries"] in fitting for one in found["maps"])


def test_offsets_alone_keep_their_sign(toy, tmp_path):
    roles = [
        ("trained", "", "E", 1, 1, "positional", "+1", 0.95, 0),
        ("trained", "", "E", 1, 2, "positional", "0", 1, 0),
    ]
    found = traced(toy, tmp_path, "--set", "far", roles=roles)
    assert {one["target"] for one in found["maps"]} == {"+1", "0"}


def test_without_roles_there_are_no_maps(toy, tmp_path):
    assert traced(toy, tmp_path, "--set", "far", roles=[])["maps"] == []
