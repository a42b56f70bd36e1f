"""The keep stage on a tiny run: one head per site, chosen on one set and judged on another."""

import pytest
from headroom.core import tables
from headroom.core.heads import Head, Site
from headroom.engines.translation.metrics import METRICS
from headroom.stages import keep_one
from stages.stage_arguments import QUICK, looking_at


@pytest.fixture(scope="module")
def table(toy, lively_checkpoint, tmp_path_factory):
    output = tmp_path_factory.mktemp("keep") / "keep.csv"
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "check", "far"]
    keep_one.main([*given, "--output", str(output)])
    return tables.KEEP_ONE.read(output)


def test_all_heads_on_every_set(table):
    assert len(table) == 2 * 24 * len(METRICS)
    assert set(table["chosen_on"]) <= {"", "check", "far", "check far"}


@pytest.mark.parametrize("name", ["check", "far"])
def test_the_chosen_head_has_the_highest_bleu_of_its_site(table, name):
    rows = table[table["set"] == name]
    chosen = rows["chosen_on"].str.split().map(lambda names: name in names)
    assert chosen.sum() == 6 * len(METRICS)
    for (_, _), site in rows.assign(chosen=chosen).groupby(["kind", "layer"]):
        bleu, loss = (site[site["metric"] == metric].set_index("head") for metric in ("bleu", "loss"))
        (best,) = bleu.index[bleu["chosen"]]
        assert bleu["value"][best] == bleu["value"].max()
        tied = bleu.index[bleu["value"] == bleu["value"].max()]
        assert loss["value"][best] == loss["value"][tied].min()


def test_who_was_chosen_is_told_in_the_rows_of_every_set(table):
    named = table.groupby(["kind", "layer", "head"])["chosen_on"].nunique()
    assert (named == 1).all()


def test_all_but_one():
    sites = [Site("E", 1, 3), Site("A", 1, 2)]
    assert keep_one.all_but(Head("E", 1, 2), sites[0]).removed == {Head("E", 1, 1), Head("E", 1, 3)}
    assert keep_one.all_but(Head("A", 1, 1), sites[1]).removed == {Head("A", 1, 2)}
