"""The keep stage on a tiny run: one head per site, chosen on one set and judged on another."""

import pytest
from headroom import keep
from headroom.ground.heads import Head, Site
from headroom.ground.tables import read_table
from headroom.methods.evaluation import METRICS
from stages.stage_arguments import QUICK, looking_at


@pytest.fixture(scope="module")
def table(toy, lively_checkpoint, tmp_path_factory):
    output = tmp_path_factory.mktemp("keep") / "keep.csv"
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--choose-on", "check", "--judge-on", "far"]
    keep.main([*given, "--output", str(output)])
    return read_table(output)


def test_all_heads_on_one_set_and_the_chosen_on_the_other(table):
    assert list(table.columns) == list(keep.COLUMNS)
    assert len(table) == (24 + 6) * len(METRICS)
    assert len(table[table["set"] == "check"]) == 24 * len(METRICS)
    judged = table[table["set"] == "far"]
    assert judged["chosen"].all()
    places = {(kind, layer) for kind, layer in zip(judged["kind"], judged["layer"])}
    assert places == {(kind, layer) for kind in "EAD" for layer in (1, 2)}
    chosen = table[(table["set"] == "check") & table["chosen"]]
    columns = ["kind", "layer", "head", "metric"]
    assert chosen[columns].values.tolist() == judged[columns].values.tolist()


def test_the_chosen_head_has_the_highest_bleu_of_its_site(table):
    rows = table[(table["set"] == "check")]
    for (_, _), site in rows.groupby(["kind", "layer"]):
        bleu, loss = (site[site["metric"] == metric].set_index("head") for metric in ("bleu", "loss"))
        (best,) = bleu.index[bleu["chosen"]]
        assert bleu["value"][best] == bleu["value"].max()
        tied = bleu.index[bleu["value"] == bleu["value"].max()]
        assert loss["value"][best] == loss["value"][tied].min()


def test_all_but_one():
    sites = [Site("E", 1, 3), Site("A", 1, 2)]
    assert keep.all_but(Head("E", 1, 2), sites) == {Head("E", 1, 1), Head("E", 1, 3)}
    assert keep.all_but(Head("A", 1, 1), sites) == {Head("A", 1, 2)}
