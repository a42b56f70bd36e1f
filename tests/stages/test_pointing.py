"""What heads attend to on tiny models: measures, relevance, roles by rules on hand-made rows, and maps."""

import json
import logging

import pandas
import pytest
import torch
from headroom.core.files import read_lines, write_lines
from headroom.core.heads import Head, all_heads, parse_profile
from headroom.data.labelled import LabelledText, read_labelled
from headroom.data.trees import read_trees
from headroom.experiments.attention_maps import stage as attention_maps_stage
from headroom.experiments.attention_stats import relevance
from headroom.experiments.attention_stats import stage as attention_stats
from headroom.experiments.attention_stats.declared import ATTENTION_STATS, RELEVANCE
from headroom.experiments.roles import stage as roles
from headroom.experiments.roles.declared import ROLES
from headroom.experiments.roles.stage import exceeds, find_roles
from headroom.methods import propagation
from headroom.methods.propagation import AlphaBetaRule, EpsilonRule
from headroom.methods.relevance import estimates, relevances
from headroom.models.classifier.model import ClassificationModel
from headroom.models.find_sites import attention_maps
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.study.selection import rows_where
from stages.stage_arguments import classifying, looking_at
from study import run_stage
from tables import write_rows

QUICK = ["--resamples", "20", "--frequent-tokens", "50"]


def treebank(toy):
    return ["--treebank", str(toy.corpus / "far.conllu"), "--relations", "nsubj", "obj"]


@pytest.fixture(scope="module")
def table(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("pointing") / "table.csv"
    given = [*looking_at(toy, toy.checkpoints[-1]), *treebank(toy), "--models", "trained", "untrained"]
    run_stage(attention_stats, [*given, *QUICK, "--output", str(path)])
    return ATTENTION_STATS.read(path)


def test_models_differ_and_say_so(table):
    columns = ["kind", "layer", "head"]
    trained, fresh = (
        rows_where(table, model=model, measure="confidence", half="all").set_index(columns)["value"]
        for model in ("trained", "untrained")
    )
    assert (trained != fresh).all()
    assert set(rows_where(table, model="untrained")["signature"].str.endswith("|weights:fresh,seed1")) == {True}
    assert not rows_where(table, model="trained")["signature"].str.contains("fresh").any()


def test_numbers_do_not_depend_on_batches(table, toy, tmp_path, monkeypatch):
    monkeypatch.setattr(attention_stats, "BATCH_EXAMPLES", 5)
    given = [*looking_at(toy, toy.checkpoints[-1]), *treebank(toy), *QUICK]
    run_stage(attention_stats, [*given, "--output", str(tmp_path / "again.csv")])
    again = ATTENTION_STATS.read(tmp_path / "again.csv")["value"].to_numpy()
    assert again == pytest.approx(rows_where(table, model="trained")["value"].to_numpy(), abs=1e-6)


def test_a_pruned_model_has_its_name_and_rows_of_heads_that_are_there(toy, tmp_path):
    model = Seq2SeqModel.load(toy.checkpoints[-1], "cpu")
    model.remove(parse_profile("E1:1 E1:2 E1:3 E1:4 E2:2 D1:1", model.sites))
    model.save(tmp_path / "epoch2")
    given = [*looking_at(toy, tmp_path / "epoch2"), *treebank(toy), *QUICK, "--name", "hard-concrete.E.0.01"]
    run_stage(attention_stats, [*given, "--output", str(tmp_path / "pruned.csv")])
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
    run_stage(attention_stats, [*given, "--output", str(tmp_path / "table.csv")])
    table = ATTENTION_STATS.read(tmp_path / "table.csv")
    assert set(table["measure"]) == {"confidence", "offset"}
    assert "examples:4" in table["signature"][0]


def test_a_classifier(own, tmp_path):
    words = (("the", "2", "det"), ("doggy", "3", "nsubj"), ("sees", "0", "root"), ("cats", "3", "obj"))
    rows = [
        "\t".join((str(number), form, form, "X", "_", "_", governor, relation, "_", "_"))
        for number, (form, governor, relation) in enumerate(words, 1)
    ]
    write_lines(tmp_path / "trees.conllu", [*rows, "", *rows, ""])
    given = [*classifying(own / "corpus", own / "epoch3"), *QUICK, "--frequent-tokens", "3"]
    trees = ["--treebank", str(tmp_path / "trees.conllu"), "--relations", "nsubj"]
    run_stage(attention_stats, [*given, *trees, "--output", str(tmp_path / "table.csv")])
    table = ATTENTION_STATS.read(tmp_path / "table.csv")
    assert set(table["kind"]) == {"E", ""}
    assert set(table["measure"]) == {"confidence", "offset", "relation", "rare", "mean-margin"}
    assert set(table["epoch"]) == {3}
    assert set(rows_where(table, measure="relation", trees="gold")["count"]) == {1}
    model = ClassificationModel.load(own / "epoch3", "cpu", "eager")
    # by hand: "doggy" is split into letters; attention from it is the mean over these, and to it the sum
    expected = torch.zeros(2, 4)
    maps = {}
    batch = model.batches(LabelledText(["the doggy sees cats"], None, ["neutral"]), examples=1)[0]
    for live in model.live_sites:
        live.attention.register_forward_hook(lambda *seen, site=live.site: maps.update({site.layer: seen[2][1][0]}))
    with torch.inference_mode():
        model.logits(batch)
    tokens = model.tokenizer.convert_ids_to_tokens(batch.inputs["input_ids"][0])
    words, word = [], -1
    for token in tokens[1:-1]:
        word += not token.startswith("##")
        words.append(word)
    for layer, weights in maps.items():
        for head in range(4):
            inner = weights[head, 1:-1, 1:-1]
            asked = inner[[place for place, word in enumerate(words) if word == 1]].mean(0)
            sums = [asked[[place for place, word in enumerate(words) if word == which]].sum() for which in range(4)]
            expected[layer - 1, head] = float(max(range(4), key=lambda which: sums[which]) == 2)
    found = rows_where(table, measure="relation", target="nsubj:to-governor", trees="gold", half="choose")
    assert found["value"].tolist() == expected.flatten().tolist()


def explained(toy, output):
    run_stage(relevance, [*looking_at(toy, toy.checkpoints[-1]), "--output", str(output), "--examples", "7"])
    return RELEVANCE.read(output)


def test_relevance_is_conserved_or_the_leak_is_told(toy, tmp_path, caplog, monkeypatch):
    with caplog.at_level(logging.WARNING):
        table = explained(toy, tmp_path / "relevance.csv")
        assert not caplog.records
        monkeypatch.setattr(propagation, "EPSILON", 10.0)
        explained(toy, tmp_path / "leaking.csv")
    assert "relevance is not conserved" in caplog.text
    (row,) = table[table["measure"] == "conservation-error"].to_dict("records")
    assert 0 < float(row["value"]) < 1e-3
    assert (row["kind"], row["half"]) == ("", "all")
    assert pandas.isna(row["layer"])
    assert pandas.isna(row["head"])


ALPHA_BETA = ["--rule", "alpha-beta", "--alpha", "2"]


@pytest.mark.parametrize(("flags", "rule"), [([], EpsilonRule(1e-6)), (ALPHA_BETA, AlphaBetaRule(2, 1e-6))])
def test_relevance_of_a_classifier_by_the_rule_that_is_set(own, tmp_path, flags, rule):
    given = [*classifying(own / "corpus", own / "epoch3"), *flags]
    run_stage(relevance, [*given, "--output", str(tmp_path / "relevance.csv")])
    table = RELEVANCE.read(tmp_path / "relevance.csv")
    assert len(table) == 8 * 2 * 3 + 1
    text = read_labelled(own / "corpus/check.tsv", None)
    model = ClassificationModel.load(own / "epoch3", "cpu")
    found = relevances(model, model.batches(text, examples=len(text)), rule=rule)
    for measure, half, count in (("relevance", "all", 8), ("signed", "score", 4)):
        expected = estimates(found, measure, half)
        rows = table[(table["measure"] == measure) & (table["half"] == half)]
        assert set(rows["count"]) == {count}
        values = [expected[head].value for head in all_heads(model.sites)]
        assert rows["value"].tolist() == pytest.approx(values, rel=1e-3, abs=1e-5)


def row(**values):
    given = dict.fromkeys(ATTENTION_STATS.names, "")
    return {
        **given, "study": "s", "run": "r", "epoch": 2, "model": "trained", "kind": "E", "layer": 1, "head": 1,
        "baseline": float("nan"), "low": float("nan"), "high": float("nan"), "count": 100, **values,
    }  # fmt: skip


def offset(target, value, **values):
    return row(measure="offset", target=target, half="all", value=value, **values)


def relation(half, value, *, baseline=0.4, low=0.05, **values):
    given = {"measure": "relation", "target": "obj:to-governor", "trees": "gold", **values}
    return row(half=half, value=value, baseline=baseline, low=low, high=0.3, **given)


def rare(value, *, low=0.1, target="two-rarest", **values):
    return row(measure="rare", target=target, half="all", value=value, baseline=0.2, low=low, high=0.5, **values)


def held(*rows):
    found = find_roles(pandas.DataFrame(list(rows)))
    return [(one.role, one.row["head"], one.row["target"], one.best) for one in found]


def test_roles_of_several_tables(tmp_path):
    paths = []
    for model in ("trained", "hard-concrete.E.0.01"):
        rows = [offset("+1", 0.95), offset("+1", 0.85, head=2)]
        for trees, value in (("gold", 0.6), ("shuffled", 0.42)):
            rows += [relation(half, value, head=2, trees=trees) for half in ("choose", "score")]
        rows = [one | {"model": model, "signature": "set:check"} for one in rows]
        paths.append(str(write_rows(ATTENTION_STATS, tmp_path / f"{model}.csv", rows)))
    run_stage(roles, ["--pointing", *paths, "--output", str(tmp_path / "roles.csv")])
    table = ROLES.read(tmp_path / "roles.csv")
    shown = table[["model", "trees", "head", "role", "target", "value", "baseline", "best"]].fillna(-1).values.tolist()
    assert shown == [
        ["trained", "", 1, "positional", "+1", 0.95, -1, 0],
        ["trained", "gold", 2, "syntactic", "obj:to-governor", 0.6, 0.4, 1],
        ["hard-concrete.E.0.01", "", 1, "positional", "+1", 0.95, -1, 0],
        ["hard-concrete.E.0.01", "gold", 2, "syntactic", "obj:to-governor", 0.6, 0.4, 1],
    ]


def test_positional_from_the_share_on():
    rows = [offset("-1", 0.9), offset("+1", 0.8999, head=2), offset("0", 0.95, kind="D", head=3)]
    assert held(*rows) == [("positional", 1, "-1", 0), ("positional", 3, "0", 0)]


def test_syntactic_on_both_halves():
    assert held(relation("choose", 0.5), relation("score", 0.5)) == [("syntactic", 1, "obj:to-governor", 1)]
    assert held(relation("choose", 0.499), relation("score", 0.5)) == []
    assert held(relation("choose", 0.5), relation("score", 0.499)) == []
    assert held(relation("choose", 0.5), relation("score", 0.5, low=-0.01)) == [], "a few lucky sentences"
    assert held(relation("score", 0.9)) == []


def test_the_best_head_is_best_on_the_half_that_chooses():
    rows = [
        relation("choose", 0.6), relation("score", 0.9),
        relation("choose", 0.7, head=2), relation("score", 0.55, head=2),
        relation("choose", 0.45, head=3), relation("score", 0.95, head=3),
    ]  # fmt: skip
    assert held(*rows) == [("syntactic", 1, "obj:to-governor", 0), ("syntactic", 2, "obj:to-governor", 1)]


def test_models_and_trees_are_judged_each_alone():
    rows = [
        relation("choose", 0.6), relation("score", 0.6),
        relation("choose", 0.7, head=2, trees="shuffled"), relation("score", 0.7, head=2, trees="shuffled"),
        relation("choose", 0.8, head=3, model="untrained"), relation("score", 0.8, head=3, model="untrained"),
    ]  # fmt: skip
    assert {(head, best) for _, head, _, best in held(*rows)} == {(1, 1), (2, 1), (3, 1)}


def test_a_margin_is_of_points():
    shares = [(0.52, 0.46), (0.57, 0.46), (0.8, 0.7), (0.01, 0.0)]
    rows = pandas.DataFrame([relation("score", value, baseline=baseline) for value, baseline in shares])
    assert exceeds(rows).tolist() == [False, True, True, False]


def test_rare_words_in_the_first_layer_and_beyond_chance():
    assert held(rare(0.5)) == [("rare", 1, "two-rarest", 0)]
    assert held(rare(0.49)) == []
    assert held(rare(0.6, low=-0.01)) == []
    assert held(rare(0.6, layer=2)) == []
    assert held(rare(0.6, target="rarest")) == []


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
    run_stage(attention_maps_stage, [*given, "--output", str(tmp_path / "maps.json"), *more])
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
def test_weights_are_those_of_the_model(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(attention_maps_stage, "SENTENCES", 1)
    found = traced(toy, tmp_path, "--treebank", str(toy.corpus / "far.conllu"))["maps"][1]
    text = next(one for one in read_trees(toy.corpus / "far.conllu") if 6 <= len(one.words) <= 14).text
    model, maps = Seq2SeqModel.load(toy.checkpoints[-1], "cpu", "eager"), {}
    (batch,) = model.batches([text], sentences=1)
    with attention_maps(model.live_sites[:1], lambda site, weights: maps.update({str(site): weights})):
        model.encode_sources(batch)
    rows = maps["E1"][0, 2, :-1, :-1]
    words = [
        sum(token.startswith("▁") for token in model.tokenizer.tokenize(text)[: place + 1]) - 1
        for place in range(len(rows))
    ]
    # the words of the generated text are those between spaces, except the full stop at the end
    first = rows[[place for place, word in enumerate(words) if word == 0]].mean(0)
    expected = float(first[[place for place, word in enumerate(words) if word == 1]].sum())
    assert found["weights"][0][1] == pytest.approx(expected, abs=0.0051)


def test_sentences_of_a_set_and_signs_of_offsets(toy, tmp_path):
    held = [("trained", "", "E", 1, head, "positional", target, 0.95, 0) for head, target in ((1, "+1"), (2, "0"))]
    found = traced(toy, tmp_path, "--set", "far", roles=held)
    fitting = [line.split() for line in read_lines(toy.corpus / "far.source") if 6 <= len(line.split()) <= 14]
    assert {one["target"] for one in found["maps"]} == {"+1", "0"}
    assert all(one["queries"] in fitting for one in found["maps"])
    assert traced(toy, tmp_path, "--set", "far", roles=[])["maps"] == []
