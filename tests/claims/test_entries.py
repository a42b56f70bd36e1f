"""Entries of claims: each has a rule that takes its thresholds, and mistakes name file and claim."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

import headroom.claims
import pytest
import yaml
from headroom.claims.entries import PLACE, Amount, all_claims, filled, read_papers, rule_of, threshold
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Reading
from headroom.core.curves import MARGINS
from headroom.core.errors import HeadroomError

HELPERS = {"headroom.claims.evidence", "headroom.claims.entries"}


def rules() -> set[str]:
    """Return the public functions of the room that decide: from tables and named thresholds to readings."""
    found = set()
    for module in pkgutil.iter_modules(headroom.claims.__path__, "headroom.claims."):
        if module.name in HELPERS or module.name.endswith("__main__"):
            continue
        for name, function in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
            own = function.__module__ == module.name and not name.startswith("_")
            if own and function.__annotations__.get("return") == list[Reading] and _asks_for_tables_alone(function):
                found.add(f"{module.name.rpartition('.')[2]}.{name}")
    return found


def _asks_for_tables_alone(function: Callable[..., object]) -> bool:
    """Return whether all arguments except the tables are thresholds: a function with others is only a part of rules."""
    given = inspect.signature(function).parameters.values()
    return [one.name for one in given if one.kind is not one.KEYWORD_ONLY] == ["tables"]


def test_every_entry_has_a_rule_and_every_rule_an_entry() -> None:
    assert {claim.decide for claim in all_claims().values()} == rules()


@pytest.mark.parametrize("claim", all_claims().values(), ids=lambda claim: claim.id)
def test_rules_take_the_thresholds_of_their_claims(claim) -> None:
    assert next(iter(rule_of(claim).__annotations__.values())) is StudyTables
    assert "{" not in claim.rule_text.replace("{}", "")
    for task in claim.paper:
        assert all(isinstance(value, float) for value in claim.thresholds_of(task).values())


def test_claims_are_in_the_order_of_papers_and_numbers() -> None:
    assert [paper.claims[0].id for paper in read_papers()] == ["M1", "V1", "R1", "B1", "C1"]
    for paper in read_papers():
        letter = paper.claims[0].id[0]
        assert [claim.id for claim in paper.claims] == [f"{letter}{place + 1}" for place in range(len(paper.claims))]


def test_text_and_rule_have_the_same_threshold(tmp_path: Path) -> None:
    assert "below 0.05" in all_claims()["M1"].rule_text
    text = (PLACE / "michel.yaml").read_text().replace("level: 0.05", "level: 0.01", 1)
    (tmp_path / "michel.yaml").write_text(text)
    (paper,) = read_papers(tmp_path)
    assert paper.claims[0].thresholds_of("translation")["level"] == 0.01
    assert "below 0.01" in paper.claims[0].rule_text


def test_thresholds_may_be_those_of_a_task_or_of_its_kind() -> None:
    asked = {task: threshold("M15", "asked", task) for task in ("translation", "sst2", "cola", "entailment")}
    assert asked == {"translation": 0.2, "sst2": 0.6, "cola": 0.5, "entailment": 0.5}


def test_the_noticeable_loss_is_written_once() -> None:
    files = {"M": "michel", "V": "voita"}
    for claim in ("M1", "M3", "M4", "M7", "M15", "V7", "V10"):
        assert all_claims()[claim].thresholds["margin"] == MARGINS
        written = yaml.safe_load((PLACE / f"{files[claim[0]]}.yaml").read_text())
        assert written["claims"][claim]["thresholds"]["margin"] == "noticeable"
    assert "a loss of more than 2 % (classification: 3 %)" in all_claims()["M7"].rule_text
    assert threshold("M7", "margin", "sst2") == MARGINS["classification"]


def test_numbers_in_texts() -> None:
    values = {"half": 0.5, "few": 0.001, "batch": 16.0, "by_task": {"sst2": 0.6}, "arm": "svgd"}
    text = "{half:%}, {few:%}, {batch}, {half}, {by_task[sst2]:%}, {arm}: {}"
    assert filled(text, values) == "50 %, 0.1 %, 16, 0.5, 60 %, svgd: {}"
    assert f"{Amount(1.05)}" == "1.05"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentence": None}, r"an\.yaml, claim R1: sentence: "),
        ({"thresholds": {"most": "half"}}, r"an\.yaml, claim R1: thresholds: most"),
        ({"decided": "x"}, r"an\.yaml, claim R1: decided: "),
        ({"decide": "missing"}, r"an\.yaml, claim R1: decide: "),
    ],
)
def test_a_faulty_entry_is_named(change: dict[str, object], message: str, tmp_path: Path) -> None:
    content = yaml.safe_load((PLACE / "an.yaml").read_text())
    content["claims"]["R1"] |= change
    (tmp_path / "an.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(HeadroomError, match=message):
        read_papers(tmp_path)


def test_two_claims_of_one_number_are_named(tmp_path: Path) -> None:
    for name in ("an", "other"):
        (tmp_path / f"{name}.yaml").write_text((PLACE / "an.yaml").read_text())
    with pytest.raises(HeadroomError, match=re.escape("other.yaml, claim R1: ")):
        read_papers(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"decide": "pruning.nothing"},
            r"claim M7: decide: pruning\.nothing: no such function; write it",
        ),
        ({"decide": "missing.prunable"}, r"claim M7: decide: missing\.prunable: no such function"),
        ({"thresholds": {"asked": 0.2}}, r"claim M7: .*its thresholds should be asked, margin"),
    ],
)
def test_a_claim_without_a_fitting_rule_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(HeadroomError, match=message):
        rule_of(all_claims()["M7"].model_copy(update=change))
