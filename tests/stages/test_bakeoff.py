"""The comparison of criteria on a tiny run: scores with their cost, curves by order, and the summary."""

import pytest
import torch
from headroom.core.heads import all_heads, join_units, parse_profile
from headroom.experiments.bakeoff import stage as bakeoff
from headroom.experiments.bakeoff.table import BAKEOFF
from headroom.experiments.pruning import stage as pruning
from headroom.experiments.pruning.table import PRUNING_COMPARED
from headroom.experiments.scores import stage as scores_stage
from headroom.experiments.scores.table import SCORES_COMPARED, SCORES_COSTS
from headroom.methods.criteria import REFERENCE
from headroom.methods.orders import by_head, least_important_first, top_first
from scipy.stats import spearmanr, ttest_1samp
from stages.stage_arguments import QUICK, looking_at
from tables import write_rows

SIZES = ["--examples", "6"]
CURVES = [
    *("--step", "0.5", "--random-draws", "2", "--judge-on", "far", "--score-on", "check", "--normalisations"),
    *("--main", REFERENCE, "--rescored", "gradient-example", "--repairs", "mean-bias"),
]
FAMILIES = ("gradient_shared", "activation", "weights", "loss_ablation")
ORDERS = ("gradient-example", "output-norm", REFERENCE, "random", "top-first", "bottom-first", "reverse")


@pytest.fixture(scope="module")
def place(toy, lively_checkpoint, tmp_path_factory):
    """Return a directory with the tables of one run."""
    place = tmp_path_factory.mktemp("bakeoff")
    model = looking_at(toy, lively_checkpoint, several=True)
    for family in FAMILIES:
        outputs = ["--output", str(place / f"scores.{family}.csv"), "--costs", str(place / f"costs.{family}.csv")]
        scores_stage.main([*model, *SIZES, "--set", "check", "--family", family, *outputs])
    known = ["--scores", *(str(place / f"scores.{family}.csv") for family in FAMILIES)]
    for order in ORDERS:
        given = [*model, *QUICK, *SIZES, *CURVES, "--orders", order, *known]
        pruning.main([*given, "--output", str(place / f"curves.{order}.csv")])
    return place


@pytest.fixture(scope="module")
def scores(place):
    return SCORES_COMPARED.read_all([place / f"scores.{family}.csv" for family in FAMILIES])


@pytest.fixture(scope="module")
def costs(place):
    return SCORES_COSTS.read_all([place / f"costs.{family}.csv" for family in FAMILIES]).set_index("criterion")


@pytest.fixture(scope="module")
def summary(place):
    curves = [str(place / f"curves.{order}.csv") for order in ORDERS]
    found = [[str(place / f"{name}.{family}.csv") for family in FAMILIES] for name in ("scores", "costs")]
    given = [
        "--study",
        "toy",
        "--task",
        "translation",
        "--curves",
        *curves,
        "--scores",
        *found[0],
        "--costs",
        *found[1],
    ]
    bakeoff.main([*given, "--output", str(place / "bakeoff.csv")])
    return BAKEOFF.read(place / "bakeoff.csv")


def of(scores, criterion, half="all"):
    mine = scores[(scores["criterion"] == criterion) & (scores["half"] == half)]
    return by_head(mine, mine["value"])


def test_one_pass_feeds_all_gradient_criteria(costs):
    shared = costs[costs["family"] == "gradient_shared"]
    assert {"gradient-token", "gradient-example", "gradient-signed", "fisher-block"} <= set(shared.index)
    assert shared["forward"].unique().tolist() == [1]
    assert shared["backward"].max() <= 1
    assert shared["seconds"].nunique() == 1


def test_the_reference_is_the_loss_without_each_head(scores, lively, texts):
    sources, references = (own[:6] for own in texts)
    batches = lively.batches(sources, references, sentences=4)

    def loss(*removed):
        with torch.inference_mode(), lively.gates.masked(removed):
            return sum(float(lively.losses(batch)[0].sum()) for batch in batches) / 6

    found = of(scores, REFERENCE)
    for head in all_heads(lively.sites)[::5]:
        assert found[head] == pytest.approx(loss(head) - loss(), abs=1e-4)


def test_curves_follow_the_scores(place, scores, lively):
    units = lively.units()
    expected = {
        "gradient-example": least_important_first(of(scores, "gradient-example"), units),
        "output-norm": least_important_first(of(scores, "output-norm"), units),
        "reverse": least_important_first(of(scores, REFERENCE), units)[::-1],
        "top-first": top_first(units),
        "bottom-first": top_first(units)[::-1],
    }
    for order, first in expected.items():
        rows = PRUNING_COMPARED.read(place / f"curves.{order}.csv")
        half = rows[(rows["heads_removed"] == 12) & (rows["ranking"] == "fixed")]
        assert {parse_profile(text, lively.sites) for text in half["removed"]} == {join_units(first[:12])}


def test_only_named_criteria_are_scored_again(place):
    ways = {order: PRUNING_COMPARED.read(place / f"curves.{order}.csv")["ranking"].unique() for order in ORDERS}
    assert sorted(ways.pop("gradient-example")) == ["fixed", "rescored"]
    assert all(list(own) == ["fixed"] for own in ways.values())


KEPT = {"output-norm": (0.8, 0.7), "random": (0.5, 0.3), "top-first": (0.6, 0.65)}
"""By order, the share of the score that two runs keep with half of the heads removed."""


@pytest.fixture
def made(tmp_path, place):
    """Return the summary of hand-made curves of two runs: (0, 1), (1/2, kept), (1, 0), the middle with an interval."""
    rows = [
        {
            "study": "toy", "run": f"translation.baseline.seed{seed}", "epoch": 2, "scope": "all", "order": order,
            "ranking": "fixed", "repair": repair, "draw": 0, "heads_removed": removed, "heads_total": 4, "full": 40.0,
            "value": 40.0 * share, "low": 40.0 * share - 2, "high": 40.0 * share + 2, "set": "test", "metric": "bleu",
            "chance": 0.0, "signature": "made",
        }
        for order, kept in KEPT.items()
        for seed, middle in enumerate(kept, start=1)
        for repair, gain in (("none", 0.0), ("obs", 0.1))
        for removed, share in ((0, 1.0), (2, middle + gain), (4, 0.0))
    ]  # fmt: skip
    path = write_rows(PRUNING_COMPARED, tmp_path / "pruning_compared" / "all.csv", rows)
    known = [[str(place / f"{name}.{family}.csv") for family in FAMILIES] for name in ("scores", "costs")]
    given = ["--study", "toy", "--task", "translation", "--curves", str(path), "--scores", *known[0]]
    bakeoff.main([*given, "--costs", *known[1], "--output", str(tmp_path / "bakeoff.csv")])
    return BAKEOFF.read(tmp_path / "bakeoff.csv")


def test_areas_of_runs_and_their_means(made):
    for order, kept in KEPT.items():
        for repair, gain in (("none", 0.0), ("obs", 0.1)):
            named = {"order": order, "repair": repair}
            areas = [0.25 + 0.5 * (middle + gain) for middle in kept]  # trapezia
            for seed, area in enumerate(areas, start=1):
                row = one(made, **named, statistic="area", run=f"translation.baseline.seed{seed}")
                assert row["value"] == pytest.approx(area)
                # points of one curve vary together; the last one has the same interval as the middle one
                assert (row["high"] - row["low"]) / 2 == pytest.approx((0.5 + 0.25) * 2 / 40, rel=0.02)
            assert one(made, **named, statistic="area", run="")["value"] == pytest.approx(sum(areas) / 2)
            half = one(made, **named, statistic="kept_50", run="")
            assert half["value"] == pytest.approx(sum(kept) / 2 + gain)
            quarter = one(made, **named, statistic="kept_25", run="")
            assert quarter["value"] == pytest.approx((1 + sum(kept) / 2 + gain) / 2)  # straight between points


def test_differences_from_controls_are_tested_over_runs(made):
    row = one(made, order="output-norm", repair="none", statistic="over_random", run="")
    gains = [0.5 * (ours - theirs) for ours, theirs in zip(KEPT["output-norm"], KEPT["random"])]
    assert row["value"] == pytest.approx(sum(gains) / 2)
    assert row["low"] < row["value"] < row["high"]
    tested = made[(made["statistic"] == "over_random") & (made["run"] == "")]
    assert len(tested) == 2 * len(KEPT) - 1  # the control itself has none
    uncorrected = ttest_1samp(gains, 0).pvalue
    assert row["p"] >= uncorrected
    top = one(made, order="output-norm", repair="none", statistic="over_top_first", run="")
    gains = [0.5 * (ours - theirs) for ours, theirs in zip(KEPT["output-norm"], KEPT["top-first"])]
    assert top["value"] == pytest.approx(sum(gains) / 2)


def test_correlations_with_the_reference(summary, scores):
    heads = sorted(of(scores, REFERENCE))
    for criterion in ("gradient-example", "output-norm"):
        row = one(summary, order=criterion, statistic="correlation", run="translation.baseline.seed1")
        assert one(summary, order=criterion, statistic="correlation", run="")["value"] == row["value"]
        columns = [[of(scores, name)[head] for head in heads] for name in (criterion, REFERENCE)]
        assert row["value"] == pytest.approx(spearmanr(*columns).statistic)
        halves = {name: [of(scores, name, half) for half in ("choose", "score")] for name in (criterion, REFERENCE)}
        own = [spearmanr(*([half[head] for head in heads] for half in both)).statistic for both in halves.values()]
        reliable = [max(0, 2 * r / (1 + r)) for r in own]
        ceiling = one(summary, order=criterion, statistic="ceiling", run="")["value"]
        assert ceiling == pytest.approx((reliable[0] * reliable[1]) ** 0.5)


def one(table, **named):
    for column, value in named.items():
        table = table[table[column] == value]
    assert len(table) == 1, named
    return table.iloc[0]
