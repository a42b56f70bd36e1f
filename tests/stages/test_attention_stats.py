"""The stage `attention_stats` on tiny models of both tasks."""

import pytest
import torch
from headroom.core.files import write_lines
from headroom.core.heads import Head, parse_profile
from headroom.data.trees import read_trees
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.experiments.attention_stats import stage as attention_stats
from headroom.experiments.attention_stats.table import ATTENTION_STATS, DISTANCES
from headroom.study.selection import rows_where
from models import toy_text, write_encoder
from stages.stage_arguments import looking_at

QUICK = ["--resamples", "20", "--frequent-tokens", "50"]


def treebank(toy):
    return ["--treebank", str(toy.corpus / "far.conllu"), "--relations", "nsubj", "obj"]


@pytest.fixture(scope="module")
def table(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("pointing") / "table.csv"
    given = [*looking_at(toy, toy.checkpoints[-1]), *treebank(toy), "--models", "trained", "untrained"]
    attention_stats.main([*given, *QUICK, "--output", str(path)])
    return ATTENTION_STATS.read(path)


def test_distances_of_related_words(toy, tmp_path):
    out = ["--output", str(tmp_path / "table.csv"), "--distances", str(tmp_path / "distances.csv")]
    attention_stats.main([*looking_at(toy, toy.checkpoints[-1]), *treebank(toy), *QUICK, *out])
    found = DISTANCES.read(tmp_path / "distances.csv")
    bank = read_trees(str(toy.corpus / "far.conllu"))
    assert set(found["signature"]) == {f"sentences:{len(bank)}|resamples:20"}
    objects = rows_where(found, relation="obj").set_index("position")
    offsets = [place - word.governor for one in bank for place, word in enumerate(one.words) if word.relation == "obj"]
    assert set(objects["count"]) == {len(offsets)}
    assert objects["value"].to_dict() == pytest.approx(
        {position: offsets.count(position) / len(offsets) for position in objects.index}, rel=1e-6
    )


def test_models_differ_and_say_so(table):
    columns = ["kind", "layer", "head"]
    trained, fresh = (
        rows_where(table, model=model, measure="confidence", half="all").set_index(columns)["value"]
        for model in ("trained", "untrained")
    )
    assert (trained != fresh).all()
    assert set(rows_where(table, model="untrained")["signature"].str.endswith("|weights:fresh,seed1")) == {True}
    assert not rows_where(table, model="trained")["signature"].str.contains("fresh").any()


def test_queries_are_those_of_the_treebank(table, toy):
    sentences = read_trees(toy.corpus / "far.conllu")
    for half, start in (("choose", 0), ("score", 1)):
        words = [word for sentence in sentences[start::2] for word in sentence.words]
        count = sum(word.relation == "nsubj" for word in words)
        found = rows_where(table, measure="relation", target="nsubj:to-governor", trees="gold", half=half)
        assert set(found["count"]) == {count}


def test_numbers_do_not_depend_on_batches(table, toy, tmp_path, monkeypatch):
    monkeypatch.setattr(attention_stats, "BATCH_EXAMPLES", 5)
    given = [*looking_at(toy, toy.checkpoints[-1]), *treebank(toy), *QUICK]
    attention_stats.main([*given, "--output", str(tmp_path / "again.csv")])
    again = ATTENTION_STATS.read(tmp_path / "again.csv")["value"].to_numpy()
    assert again == pytest.approx(rows_where(table, model="trained")["value"].to_numpy(), abs=1e-6)


def test_a_pruned_model_has_its_name_and_rows_of_heads_that_are_there(toy, tmp_path):
    model = TranslationModel.load(toy.checkpoints[-1], toy.data, "cpu")
    model.remove(parse_profile("E1:1 E1:2 E1:3 E1:4 E2:2 D1:1", model.sites))
    model.save(tmp_path / "epoch2.pt")
    given = [*looking_at(toy, tmp_path / "epoch2.pt"), *treebank(toy), *QUICK, "--name", "hard-concrete.E.0.01"]
    attention_stats.main([*given, "--output", str(tmp_path / "pruned.csv")])
    table = ATTENTION_STATS.read(tmp_path / "pruned.csv")
    assert set(table["model"]) == {"hard-concrete.E.0.01"}
    of_heads = table[table["measure"] != "mean-margin"]
    heads = {Head(*head) for head in of_heads[["kind", "layer", "head"]].itertuples(index=False, name=None)}
    assert heads == {
        head for site in model.sites for head in site.head_names() if str(head) not in "E1:1 E1:2 E1:3 E1:4 E2:2 D1:1"
    }


def test_without_treebank_and_training_text_the_rest_is_measured(toy, tmp_path):
    corpus = tmp_path / "corpus"
    for side in ("source", "target"):
        write_lines(corpus / f"check.{side}", (toy.corpus / f"check.{side}").read_text().splitlines()[:4])
    given = [*looking_at(toy, toy.checkpoints[-1]), *QUICK, "--corpus", str(corpus)]
    attention_stats.main([*given, "--output", str(tmp_path / "table.csv")])
    table = ATTENTION_STATS.read(tmp_path / "table.csv")
    assert set(table["measure"]) == {"confidence", "offset"}
    assert "examples:4" in table["signature"][0]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    write_encoder(place / "epoch3")
    text = toy_text(examples=12)
    lines = ["\t".join(row) for row in zip(text.first, text.second, text.labels)]
    for name in ("check", "train"):
        write_lines(place / "corpus" / f"{name}.tsv", ["sentence1\tsentence2\tlabel", *lines])
    rows = [
        "\t".join((str(number), form, form, "X", "_", "_", governor, relation, "_", "_"))
        for number, (form, governor, relation) in enumerate(
            (("the", "2", "det"), ("doggy", "3", "nsubj"), ("sees", "0", "root"), ("cats", "3", "obj")), 1
        )
    ]
    write_lines(place / "trees.conllu", [*rows, "", *rows, ""])
    return place


def test_classifiers_too(own, tmp_path):
    where = ["--engine", "classifier", "--checkpoint", str(own / "epoch3"), "--corpus", str(own / "corpus")]
    given = [*where, "--device", "cpu", "--treebank", str(own / "trees.conllu"), "--relations", "nsubj"]
    attention_stats.main([*given, *QUICK, "--frequent-tokens", "3", "--output", str(tmp_path / "table.csv")])
    table = ATTENTION_STATS.read(tmp_path / "table.csv")
    assert set(table["kind"]) == {"E", ""}
    assert set(table["measure"]) == {"confidence", "offset", "relation", "rare", "mean-margin"}
    assert set(table["epoch"]) == {3}
    assert set(rows_where(table, measure="relation", trees="gold")["count"]) == {1}
    model = ClassificationModel.load(own / "epoch3", "cpu", "eager")
    # by hand: "doggy" is split into letters; attention from it is the mean over these, and to it the sum
    expected = torch.zeros(2, 4)
    maps = {}
    batch = model.batches(type(toy_text())(["the doggy sees cats"], None, ["no"]), examples=1)[0]
    for live in model.live_sites:
        live.attention.register_forward_hook(lambda *seen, site=live.site: maps.update({site.layer: seen[2][1][0]}))
    with torch.inference_mode():
        model.logits(batch)
    pieces = model.tokenizer.convert_ids_to_tokens(batch.inputs["input_ids"][0])
    words, word = [], -1
    for piece in pieces[1:-1]:
        word += not piece.startswith("##")
        words.append(word)
    for layer, weights in maps.items():
        for head in range(4):
            inner = weights[head, 1:-1, 1:-1]
            asked = inner[[place for place, word in enumerate(words) if word == 1]].mean(0)
            sums = [asked[[place for place, word in enumerate(words) if word == which]].sum() for which in range(4)]
            expected[layer - 1, head] = float(max(range(4), key=lambda which: sums[which]) == 2)
    found = rows_where(table, measure="relation", target="nsubj:to-governor", trees="gold", half="choose")
    assert found["value"].tolist() == expected.flatten().tolist()
