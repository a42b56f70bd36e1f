"""Entries of claims: each has a rule that takes its thresholds, and mistakes name file and claim."""

from pathlib import Path

import pytest
import yaml
from headroom.claims.answer import read_answer
from headroom.claims.entries import PLACE, all_claims, find_function, read_papers, rule_of, threshold
from headroom.core.errors import HeadroomError
from headroom.study.tables import StudyTables
from headroom.study.task_info import TASKS


@pytest.mark.parametrize("claim", all_claims().values(), ids=lambda claim: claim.id)
def test_rules_take_the_thresholds_of_their_claims(claim) -> None:
    assert next(iter(rule_of(claim).__annotations__.values())) is StudyTables
    assert "{" not in claim.rule_text.replace("{}", "")
    for kind in claim.tasks or TASKS:
        assert all(isinstance(value, float) for value in claim.thresholds_of("mine", kind).values())
        assert claim.paper_of("mine", kind)


@pytest.mark.parametrize("entry", [one for entries in read_answer().values() for one in entries], ids=str)
def test_an_entry_of_the_answer_is_a_number_of_a_claim_or_a_function(entry) -> None:
    if entry.compute:
        assert callable(find_function(entry.compute, "the answer"))
    else:
        assert (entry.number or entry.name) in all_claims()[entry.claim].numbers
        assert entry.threshold in {"", *all_claims()[entry.claim].thresholds}


def test_thresholds_may_be_those_of_a_task_or_of_its_kind() -> None:
    tasks = {"opus": "translation", "sst2": "classification", "cola": "classification", "mine": "classification"}
    asked = {task: threshold("M15", "asked", task, kind) for task, kind in {**tasks, "wikitext": "language"}.items()}
    assert asked == {"opus": 0.2, "sst2": 0.6, "cola": 0.5, "mine": 0.5, "wikitext": 0.2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentence": None}, r"an\.yaml, claim R1: sentence: "),
        ({"thresholds": {"most": "half"}}, r"an\.yaml, claim R1: thresholds: most"),
        ({"decide": "missing"}, r"an\.yaml, claim R1: decide: "),
    ],
)
def test_a_faulty_entry_is_named(change: dict[str, object], message: str, tmp_path: Path) -> None:
    content = yaml.safe_load((PLACE / "an.yaml").read_text())
    content["claims"]["R1"] |= change
    (tmp_path / "an.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(HeadroomError, match=message):
        read_papers(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decide": "missing.prunable"}, r"claim M7: decide: missing\.prunable: no such function"),
        ({"thresholds": {"asked": 0.2}}, r"claim M7: .*its thresholds should be asked, margin"),
    ],
)
def test_a_claim_without_a_fitting_rule_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(HeadroomError, match=message):
        rule_of(all_claims()["M7"].model_copy(update=change))
