"""Characters that control a terminal, a page or the order of text are replaced by visible placeholders."""

import pytest
from headroom.core.errors import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a\u2400b"),
        ("\x1b[2J", "\u241b[2J"),
        ("a\r\n\tb", "a\u240d\n\tb"),
        ("\x7f", "\u2421"),
        ("\x9b31m", "\ufffd31m"),
        ("a\u0085b", "a\ufffdb"),
        ("\u202egnp.exe\u202c", "\ufffdgnp.exe\ufffd"),
        ("\u2066\u2069", "\ufffd\ufffd"),
        ("\ud800\udfff", "\ufffd\ufffd"),
        ("\ufffe\uffff", "\ufffd\ufffd"),
    ],
    ids=ascii,
)
def test_control_characters_become_signs(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text", ["größer 東京 עברית 👩‍🔬", "\u2028\u00a0\u200d\u200f", "\U0010ffff", "<b>&amp;", ""], ids=ascii
)
def test_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    visible(text).encode("utf-8")
