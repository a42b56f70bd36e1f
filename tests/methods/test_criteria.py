"""Criteria: found in their folder without heavy imports, read from the tables of their experiments."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.experiments.ablation.table import ABLATION
from headroom.experiments.attention_stats.table import ATTENTION_STATS, RELEVANCE
from headroom.experiments.gates.table import GATES
from headroom.experiments.scores.table import SCORES_COMPARED
from headroom.methods.criteria import (
    check,
    check_compared,
    criterion,
    criterion_scores,
)
from tables import write_rows

LEAD = {"study": "s", "run": "r", "epoch": 3, "kind": "E", "layer": 1, "signature": "n:9"}
FITTED = {"scope": "all", "setting": 1}
HEADS = [Head("E", 1, number) for number in (1, 2)]


def table(path, of, rows):
    rows = [LEAD | {"head": head} | row for row in rows for head in (1, 2)]
    numbered = [{"value": float(place)} | row if "value" in of.names else row for place, row in enumerate(rows)]
    return write_rows(of, path, numbered)


@pytest.mark.parametrize(
    ("named", "main", "reported"),
    [
        (["gradient-example", "relevance", "gates-exact"], "gradient-example", []),
        (["gradient-example", "grad"], "gradient-example", ["criteria: unknown criterion 'grad'; use ablation, "]),
        (["gradient-token"], "gradient-example", ["main: 'gradient-example' is not in pruning.criteria; add it"]),
        (["relevance"], "relevance", ["main: 'relevance' is not scored at every epoch; use gradient-token, "]),
        (["gradient-example", "obs"], "gradient-example", ["criteria: 'obs' is only computed to be compared; name it"]),
        (["x", "y"], "z", ["criteria: unknown criterion 'x'", "criteria: unknown criterion 'y'", "main: "]),
    ],
)
def test_mistakes_in_settings_are_told_with_their_keys(named, main, reported):
    found = check("t", named, main)
    assert len(found) == len(reported)
    assert all(line.startswith(f"configuration: t.pruning.{start}") for line, start in zip(found, reported))


@pytest.mark.parametrize(
    ("compared", "rescored", "reported"),
    [
        (["gradient-example", "obs", "confidence"], ["obs"], []),
        (["obs", "grad"], [], ["criteria: unknown criterion 'grad'; use those of docs/criteria.md"]),
        (["ablation", "gates"], [], ["criteria: 'ablation' needs every seed", "criteria: 'gates' needs gates"]),
        (["confidence"], ["confidence"], ["rescored: 'confidence' cannot be scored again; leave it out"]),
    ],
)
def test_mistakes_in_comparisons_name_their_keys(compared, rescored, reported):
    found = check_compared("t", compared, rescored, {"ablation": "needs every seed", "gates": "needs gates"})
    assert len(found) == len(reported)
    assert all(line.startswith(f"configuration: t.bakeoff.{start}") for line, start in zip(found, reported))


def test_an_unknown_criterion_is_told_with_those_there_are():
    with pytest.raises(HeadroomError, match="criterion 'none': unknown; use one of output-norm, channel-variance"):
        criterion("none")


class TestReading:
    @pytest.mark.parametrize(
        ("name", "of", "rows"),
        [
            (
                "relevance",
                RELEVANCE,
                [{"measure": "signed", "half": "all"}, {"measure": "relevance", "half": "choose"}],
            ),
            (
                "confidence",
                ATTENTION_STATS,
                [
                    {"model": "untrained", "measure": "confidence", "half": "all"},
                    {"model": "trained", "measure": "offset", "half": "all"},
                ],
            ),
        ],
    )
    def test_of_all_rows_those_of_the_criterion(self, tmp_path, name, of, rows):
        own = {"relevance": {"measure": "relevance"}, "confidence": {"model": "trained", "measure": "confidence"}}
        path = table(tmp_path / "a.csv", of, [*rows, own[name] | {"half": "all"}])
        assert criterion_scores(name, [path], epoch=3) == dict(zip(HEADS, (4.0, 5.0)))

    def test_equal_effects_are_ordered_by_the_loss(self, tmp_path):
        effects = {1: (-2.0, 0.5), 2: (-2.0, 0.1), 3: (0.0, 0.3), 4: (-2.0, 0.1)}  # accuracy, loss
        rows = [
            LEAD | {"head": head, "set": "choose", "metric": metric, "delta": delta}
            for head, deltas in effects.items()
            for metric, delta in zip(("accuracy", "loss"), deltas)
        ]
        found = criterion_scores("ablation", [write_rows(ABLATION, tmp_path / "a.csv", rows)], epoch=3)
        assert [found[Head("E", 1, head)] for head in effects] == [(2.0, 0.5), (2.0, 0.1), (0.0, 0.3), (2.0, 0.1)]

    def test_what_ablation_costs_of_the_first_metric_on_the_set_that_chooses(self, tmp_path):
        rows = [
            {"set": name, "metric": metric, "delta": -len(name + metric)}
            for name in ("choose", "test")
            for metric in ("bleu", "chrf4")
        ]
        path = table(tmp_path / "ablation.csv", ABLATION, rows)
        assert set(criterion_scores("ablation", [path], epoch=3).values()) == {len("choosebleu")}
        assert set(criterion_scores("ablation", [path], epoch=3, chosen_on="test").values()) == {len("testbleu")}

    def test_survival_is_read_from_the_method_s_own_table(self, tmp_path):
        paths = [
            table(tmp_path / f"{method}.csv", GATES, [FITTED | {"method": method, "kept": kept}])
            for method, kept in (("hard-concrete", 0), ("exact", 1))
        ]
        assert set(criterion_scores("gates", paths, epoch=3).values()) == {0.0}
        assert set(criterion_scores("gates-exact", paths, epoch=3).values()) == {1.0}
        with pytest.raises(HeadroomError, match="no scores by gates-exact-straight-through at epoch 3"):
            criterion_scores("gates-exact-straight-through", paths, epoch=3)

    def test_another_epoch_is_refused(self, tmp_path):
        path = table(tmp_path / "relevance.csv", RELEVANCE, [{"measure": "relevance", "half": "all"}])
        with pytest.raises(HeadroomError, match=r"relevance\.csv: no scores by relevance at epoch 2"):
            criterion_scores("relevance", [path], epoch=2)

    def test_a_missing_table_is_asked_for(self):
        with pytest.raises(HeadroomError, match="criterion confidence: its scores are missing; give --attention-stats"):
            criterion_scores("confidence", [], epoch=1)

    def test_compared_scores_are_read_with_their_halves(self, tmp_path):
        rows = [{"criterion": name, "half": half} for name in ("obs", "wanda") for half in ("all", "choose", "score")]
        path = table(tmp_path / "compared.csv", SCORES_COMPARED, rows)
        assert list(criterion("wanda").read(path)["half"]) == ["all", "all", "choose", "choose", "score", "score"]
        assert criterion_scores("wanda", [path], epoch=3) == dict(zip(HEADS, (6.0, 7.0)))
