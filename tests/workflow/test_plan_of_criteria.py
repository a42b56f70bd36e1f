"""What rules ask about criteria: the tables that give orders, the main criterion, and mistakes in their names."""

import json

import pytest
from headroom.plan import Plan
from headroom.settings.study import load_study

RUN = "translation.baseline.seed1"


def plan(criteria, main="gradient-example", **sections):
    pruning = {"criteria": criteria, "main": main}
    return Plan(load_study({"study": "s", "translation": {"pruning": pruning, **sections}}))


def test_orders_beside_the_scores_come_with_their_tables():
    assert set(plan(["gradient-example"]).order_tables(RUN)) == {"ablation"}
    found = plan(["gradient-example", "gates", "confidence"]).order_tables(RUN)
    ways = ("hard-concrete.all", "exact.all")
    assert found["gates"] == [f"<results>/s/gates/{RUN}.{way}.csv" for way in ways]
    assert found["attention_stats"] == [f"<results>/s/attention_stats/{RUN}.csv"]
    assert set(found) == {"ablation", "gates", "attention_stats"}


def test_the_main_criterion_goes_to_whatever_rests_on_it():
    chosen = plan(["gradient-token"], main="gradient-token")
    assert json.loads(chosen.main_settings(RUN, "timing"))["pruning"] == {"main": "gradient-token"}
    assert json.loads(chosen.main_curve_settings(RUN))["pruning"]["main"] == "gradient-token"
    assert json.loads(chosen.gate_settings(RUN, "controls"))["pruning"] == {"main": "gradient-token"}
    assert "pruning" not in json.loads(chosen.gate_settings(RUN, "exact.all"))
    assert chosen.mains() == "--main translation gradient-token"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (plan(["gradient-example", "relevance", "gates"]), []),
        (plan(["grad"]), ["translation.pruning.criteria: there is no criterion 'grad'", "translation.pruning.main: "]),
        (plan(["gradient-token"]), ["translation.pruning.main: 'gradient-example' is not among pruning.criteria"]),
        (
            plan(["gradient-example", "gates"], gates={"ways": []}),
            ["pruning.criteria of translation: there is no gates"],
        ),
    ],
)
def test_mistakes_are_told_before_any_work(made, told):
    found = made.wrong_criteria()
    assert len(found) == len(told)
    assert all(line.startswith(f"configuration, key {start}") for line, start in zip(found, told))
