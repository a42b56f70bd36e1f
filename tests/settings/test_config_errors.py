"""Error messages on configurations, in addition to those of the models."""

from typing import Any

import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.study import load_study

TASK = "classification.corpus"  # a task may be named as a section is


def wrong(configuration: Any) -> str:
    with pytest.raises(HeadroomError) as caught:
        load_study(configuration)
    return str(caught.value)


def labelled(task: str, **sections: Any) -> dict[str, Any]:
    return {"classification": {task: sections}}


class TestKey:
    def test_is_without_the_form_of_its_section(self) -> None:
        files = {"source": "files"}
        assert f"key {TASK}.corpus.valid: field required" in wrong(labelled("corpus", corpus=files))
        arms = {"arms": {"method": "svgd", "alpha": "x"}}
        assert "key classification.arms.arms.arms.alpha: " in wrong(labelled("arms", arms=arms))
        assert "key translation.encoder: no such key" in wrong({"translation": {"encoder": {"source": "new"}}})

    @pytest.mark.parametrize(
        ("key", "shown"), [("a\nb", r"a\nb"), ("\x1b[31m", r"\x1b[31m"), ("", '""'), ("x" * 5000, "x" * 60)]
    )
    def test_is_fit_for_a_terminal(self, key: str, shown: str) -> None:
        assert wrong({key: 1}) == f"configuration, key {shown}: no such key; see docs/configuration.md for all keys"

    @pytest.mark.parametrize("key", [1, None, True, False, 0.5])
    def test_is_text(self, key: Any) -> None:
        message = f"{key}: not text; write the key in quotes (found: {key!r})"
        assert wrong({key: 1}) == f"configuration, key {message}"
        assert wrong({"classification": {key: {}}}) == f"configuration, key classification.{message}"

    def test_is_told_once_where_several_sections_are_checked(self) -> None:
        found = wrong(
            {"translation": {"model": {"width": 16, "heads": 2}, "arms": {"x": {"method": "svgd", "heads": 3}}}}
        )
        assert found == "configuration, key translation.arms.x.heads: 3 does not divide the width 16; give a divisor"


@pytest.mark.parametrize("name", ["translation", "-x", "a b", "x" * 61, "²/³"])
def test_names_that_files_or_rules_have_or_cannot_have(name: str) -> None:
    assert f"'{name}' cannot name a classification task" in wrong(labelled(name))


def test_numbers_are_finite() -> None:
    assert "input should be a finite number (found: inf)" in wrong(
        {"translation": {"training": {"learning_rate": 1e999}}}
    )


def test_values_whose_files_would_have_one_name() -> None:
    gates = {"penalties": [0.1234567, 0.12345671], "ways": []}
    assert "key translation.gates: penalties: a value is given twice" in wrong({"translation": {"gates": gates}})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty text"),
        ("a\tb", "control character"),
        ("\x00", "control character"),
        ("{run}", "a brace"),
        ("-x", "starts with a hyphen"),
    ],
)
def test_texts_that_no_path_or_command_can_have(text: str, reason: str) -> None:
    corpus = {"source": "hub", "dataset": "mine", "far": {"sea": text}}
    found = wrong(labelled("mine", corpus=corpus))
    assert found.startswith("configuration, key classification.mine.corpus.far.sea: ")
    assert reason in found


@pytest.mark.parametrize("value", [{"source": "\ud800"}, "\ud800", {"\ud800": 1}, ["\ud800"]])
def test_half_a_character(value: Any) -> None:
    assert wrong({"translation": {"corpus": value}}).startswith("configuration, key translation.corpus")


def test_a_long_value_is_cut() -> None:
    assert len(wrong({"translation": {"corpus": {"source": "x" * 5000}}})) < 300


def test_all_mistakes_are_named_in_one_run_a_line_each() -> None:
    message = wrong(
        {
            "seeds": [1, 1],
            "translation": {
                "modle": {},
                "training": {"epochs": "many"},
                "treebank": {"source": "files"},
                "arms": {"a": {"method": "nope"}},
            },
            "classification": {"rte": {"ablation": {"far_sets": ["moon"]}, "pruning": {"step": 2}}},
        }
    )
    named = [
        line.removeprefix("configuration").lstrip(":,").removeprefix(" key ").split(":")[0].strip()
        for line in message.split("\n")
    ]
    assert sorted(named) == [
        "classification.rte.ablation.far_sets",
        "classification.rte.pruning.step",
        "seeds",
        "translation.arms.a.method",
        "translation.modle",
        "translation.training.epochs",
        "translation.treebank.path",
    ]
