"""Released translation models are refused for text that is shifted by a line, before any other job."""

import random

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.preparation import released
from headroom.settings.answers import DecodingSettings
from models import load_translator, write_translator

WORDS = ["the", "old", "red", "house", "a", "small", "dog", "sees", "many", "birds", "near", "that", "tree", "one"]
LINES = 80


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_translator(tmp_path_factory.mktemp("released") / "bart", "bart")


@pytest.fixture(scope="module")
def pairs(model):
    """Sources, and what the model itself makes of them: with random weights, too, it expects them there."""
    draw = random.Random(1)
    sources = [" ".join(draw.choices(WORDS, k=draw.randint(3, 7))) for _ in range(LINES)]
    translator = load_translator(model)
    batches = translator.batches(sources, sentences=8)
    pieces = translator.translate_pieces(batches, DecodingSettings(length_factor=0.5, length_offset=6))
    return sources, translator.texts(pieces)


def imported(model, sources, targets, place, *flags):
    """Import the model with a corpus of which every second line of `valid` chooses, and the other ones check."""
    for name, lines in {"choose": slice(0, None, 2), "check": slice(1, None, 2), "test": slice(None)}.items():
        write_lines(place / f"corpus/{name}.source", sources[lines])
        write_lines(place / f"corpus/{name}.target", targets[lines])
    given = ["--engine", "seq2seq", "--path", str(model), "--corpus", str(place / "corpus")]
    released.main([*given, "--checkpoint", str(place / "run/epoch1"), *flags])
    return (place / "run/epoch1/config.json").is_file()


def test_own_lines_are_imported_without_a_word(model, pairs, tmp_path, caplog):
    assert imported(model, *pairs, tmp_path)
    assert "neighbouring" not in caplog.text


@pytest.mark.parametrize("lines", [1, -1])
def test_text_that_is_shifted_by_a_line_is_refused(model, pairs, lines, tmp_path):
    sources, targets = pairs
    shifted = targets[lines:] + targets[:lines]
    with pytest.raises(HeadroomError, match=r"of \d+ pairs of neighbouring lines of valid \d+ have likelier") as raised:
        imported(model, sources, shifted, tmp_path)
    assert str(raised.value).count("\n") == 1
    assert not (tmp_path / "run").exists()
    assert imported(model, sources, shifted, tmp_path, "--below-chance", "true")


def test_text_in_another_order_is_warned_of(model, pairs, tmp_path, caplog):
    sources, targets = pairs
    assert imported(model, sources, targets[7:] + targets[:7], tmp_path)
    assert "about as many as by chance" in caplog.text
