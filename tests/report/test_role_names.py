"""Names and letters of roles."""

import pytest
from headroom.report.role_names import PAPER_RELATIONS, legend, letter, letters, target_name, target_words


@pytest.mark.parametrize(
    ("target", "name", "written"),
    [
        ("-1", "−1", "−1"),
        ("+1", "+1", "+1"),
        ("0", "0", "0"),
        ("nsubj:to-dependent", "verb → subject", "s"),
        ("nsubj:to-governor", "subject → verb", "S"),
        ("dobj:to-dependent", "verb → object", "o"),
        ("amod:to-governor", "adjective → noun", "A"),
        ("advmod:to-dependent", "verb → adverb", "d"),
        ("nmod:to-governor", "nmod → governor", "X"),
        ("rarest", "rarest word", "r"),
        ("two-rarest", "one of the two rarest words", "r"),
    ],
)
def test_targets_have_names_and_letters(target: str, name: str, written: str) -> None:
    assert (target_name(target), letter(target)) == (name, written)


def test_all_roles_of_a_head_stand_together_positions_first() -> None:
    assert letters(["rarest", "obj:to-governor", "two-rarest", "-1"]) == "−1 O r"
    assert letters([]) == ""


def test_a_position_is_called_that_in_a_sentence() -> None:
    assert [target_words(target) for target in ("+1", "rarest")] == ["position +1", "rarest word"]


def test_the_legend_explains_the_letters_there_are() -> None:
    assert legend(["rarest", "obj:to-dependent", "nsubj:to-governor"])
    assert legend(["-1"]).startswith("a number such as −1")
    assert legend([]) == ""


def test_letters_of_the_papers_relations_are_all_different() -> None:
    assert len({letter(target) for target in PAPER_RELATIONS}) == len(PAPER_RELATIONS) == 8
