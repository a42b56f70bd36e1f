"""The stage `pruning` on a tiny run: every order, its controls, and their points."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import all_heads, join_units, parse_profile, single_units
from headroom.engines.translation_scores import METRICS
from headroom.experiments.ablation import stage as ablation_stage
from headroom.experiments.ablation.table import ABLATION
from headroom.experiments.attention_stats.table import RELEVANCE
from headroom.experiments.pruning import stage as pruning
from headroom.experiments.pruning.table import PRUNING
from headroom.experiments.scores import stage as scores_stage
from headroom.methods.orders import by_head, least_important_first, read_scores
from stages.stage_arguments import QUICK, looking_at
from tables import write_rows

FEW = ["--step", "0.5", "--scopes", "all", "D", "--random-draws", "2", "--batch-examples", "4"]
SETS = ["--score-on", "check", "--judge-on", "far"]


@pytest.fixture(scope="module")
def inputs(toy, lively_checkpoint, tmp_path_factory):
    """Scores of two epochs, of which the second is the lively one, and its ablation."""
    place = tmp_path_factory.mktemp("tables")
    checkpoints = looking_at(toy, toy.checkpoints[0], lively_checkpoint, several=True)
    scoring = ["--set", "check", "--examples", "6", "--batch-examples", "4"]
    scores_stage.main([*checkpoints, *scoring, "--output", str(place / "scores.csv")])
    ablation = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "check"]
    ablation_stage.main([*ablation, "--output", str(place / "ablation.csv")])
    return place


def arguments(toy, inputs, output, *checkpoints):
    given = [*looking_at(toy, *checkpoints, several=True), *QUICK, *FEW, *SETS]
    return [*given, "--scores", str(inputs / "scores.csv"), "--examples", "6", "--output", str(output)]


@pytest.fixture(scope="module")
def curves(toy, inputs, lively_checkpoint, tmp_path_factory):
    output = tmp_path_factory.mktemp("curves") / "curves.csv"
    criteria = ["gradient-example", "gradient-token"]
    given = arguments(toy, inputs, output, lively_checkpoint)
    orders = ["--orders", *criteria, "ablation", "random", "reverse", "--rescored", *criteria]
    pruning.main([*given, *orders, "--ablation", str(inputs / "ablation.csv")])
    return PRUNING.read(output)


def test_curves_start_at_the_full_model_and_end_alike(curves):
    start = curves[curves["heads_removed"] == 0]
    assert (start["delta"] == 0).all()
    assert (start["p"] == 1).all()
    end = curves[curves["heads_removed"] == curves["heads_total"]]
    assert (end.groupby(["scope", "metric"])["value"].nunique() == 1).all()


def test_orders_follow_their_tables(curves, inputs, lively):
    def removed(order, count=12, **named):
        mine = curves[(curves["scope"] == "all") & (curves["order"] == order) & (curves["heads_removed"] == count)]
        for column, value in named.items():
            mine = mine[mine[column] == value]
        return parse_profile(mine["removed"].iloc[0], lively.sites)

    heads = all_heads(lively.sites)
    scores = read_scores(str(inputs / "scores.csv"), epoch=2, criterion="gradient-example")
    units = single_units(heads)
    order = [head for (head,) in least_important_first(scores, units)]
    assert removed("gradient-example", normalised="raw", ranking="fixed") == set(order[:12])
    assert removed("reverse") == set(order[12:])
    effects = ABLATION.read(inputs / "ablation.csv")
    bleu, loss = (effects[effects["metric"] == metric] for metric in ("bleu", "loss"))
    rises = by_head(loss, loss["delta"])  # by which heads of equal BLEU are ordered
    costs = {head: (cost, rises[head]) for head, cost in by_head(bleu, -bleu["delta"]).items()}
    assert removed("ablation") == join_units(least_important_first(costs, units)[:12])
    assert removed("random", draw=0) != removed("random", draw=1)


def test_one_order_at_every_epoch(toy, inputs, lively_checkpoint, tmp_path):
    given = arguments(toy, inputs, tmp_path / "dynamics.csv", toy.checkpoints[0], lively_checkpoint)
    pruning.main([*given, "--orders", "gradient-example", "--normalisations", "raw", "--scopes", "all"])
    table = PRUNING.read(tmp_path / "dynamics.csv")
    assert set(table["order"]) == {"gradient-example"}
    assert len(table) == 2 * 3 * len(METRICS)
    assert set(table["epoch"]) == {1, 2}


def test_any_criterion_is_an_order_and_the_main_one_is_chosen(toy, inputs, lively, lively_checkpoint, tmp_path):
    heads = all_heads(lively.sites)
    about = {"study": "s", "run": "r", "epoch": 2, "measure": "relevance", "half": "all", "signature": "n:9"}
    rows = [about | vars(head) | {"value": (7 * place) % 24} for place, head in enumerate(heads)]
    relevance = write_rows(RELEVANCE, tmp_path / "relevance.csv", rows)
    given = arguments(toy, inputs, tmp_path / "curves.csv", lively_checkpoint)
    chosen = ["--main", "gradient-token", "--criteria", "gradient-token", "relevance", "--normalisations", "raw"]
    pruning.main([*given, *chosen, "--scopes", "all", "--random-draws", "1", "--relevance", str(relevance)])
    table = PRUNING.read(tmp_path / "curves.csv")
    assert list(dict.fromkeys(table["order"])) == ["gradient-token", "relevance", "random", "reverse"]
    half = table[(table["heads_removed"] == 12) & (table["ranking"] == "fixed")]
    removed = {order: parse_profile(text, lively.sites) for order, text in zip(half["order"], half["removed"])}
    least = sorted(heads, key=lambda head: (7 * heads.index(head)) % 24)
    assert removed["relevance"] == set(least[:12])
    assert removed["gradient-token"] | removed["reverse"] == set(heads)


def test_a_criterion_without_its_table_is_refused(toy, inputs, lively_checkpoint, tmp_path):
    given = arguments(toy, inputs, tmp_path / "curves.csv", lively_checkpoint)
    with pytest.raises(HeadroomError, match="criterion confidence: its scores are missing; give --attention-stats"):
        pruning.main([*given, "--criteria", "confidence"])
