"""Counts of examples that occur again, and of characters that hint at damage."""

import json

import pytest
from headroom.data.examination import count_repeated, find_odd
from headroom.data.labelled import LabelledText
from headroom.data.parallel import ParallelText
from headroom.preparation import acquire

LINES = [f"Sentence number {number} is here." for number in range(1000)]
TRAIN = LINES[:300]
TEST = [
    *TRAIN[:30],
    *(f"{line.upper()}  " for line in TRAIN[30:60]),
    *(line[:-1] for line in TRAIN[60:90]),
    *LINES[400:570],
    *[LINES[600]] * 40,
]
FOUND = [
    {"set": "test", "also_in": "test", "exact": 39, "normalised": 39, "widening": 2.49},  # sqrt((260 + 40²) / 300)
    {"set": "test", "also_in": "train", "exact": 30, "normalised": 90},
]


def write(kind, path, lines):
    """Write lines as text of a kind, and return the setting that names it."""
    if kind == "labelled":
        path.write_text("\n".join(["sentence\tlabel", *(f"{line}\t{n % 2}" for n, line in enumerate(lines))]))
        return str(path)
    path.write_text("\n".join(lines))
    return {"source": str(path), "target": str(path)} if kind == "parallel" else str(path)


@pytest.mark.parametrize("kind", ["parallel", "labelled", "documents"])
def test_examples_of_another_set_and_of_the_same_are_counted_in_every_kind_of_text(tmp_path, caplog, kind):
    sets = {"train": TRAIN, "valid": LINES[700:760], "test": TEST}
    corpus = {"source": "files", **{name: write(kind, tmp_path / name, lines) for name, lines in sets.items()}}
    if kind == "labelled":
        corpus["labels"] = ["0", "1"]
    flags = ["--kind", kind, "--output", str(tmp_path / "corpus"), "--settings", json.dumps({"corpus": corpus})]
    acquire.main(flags)
    assert json.loads((tmp_path / "corpus/corpus.json").read_text())["repeated"] == FOUND
    said = "90 of 300 examples of test are in train too (60 of them with another case, spaces or punctuation)"
    assert said in caplog.text


def test_examples_with_two_labels_are_counted(tmp_path, caplog):
    lines = [*LINES[:20], *(line.upper() for line in LINES[:3]), LINES[1]]
    labels = ["0"] * 20 + ["1", "1", "0", "0"]
    rows = [f"{line}\t{label}" for line, label in zip(lines, labels, strict=True)]
    (tmp_path / "test.tsv").write_text("\n".join(["sentence\tlabel", *rows]))
    valid = write("labelled", tmp_path / "valid.tsv", LINES[500:540])
    corpus = {"source": "files", "valid": valid, "test": str(tmp_path / "test.tsv"), "labels": ["0", "1"]}
    flags = ["--kind", "labelled", "--output", str(tmp_path / "corpus"), "--settings", json.dumps({"corpus": corpus})]
    acquire.main(flags)
    assert json.loads((tmp_path / "corpus/corpus.json").read_text())["disagreeing"] == {"test": 5}
    assert "5 of 24 examples of test are in it with another label too" in caplog.text


def test_pairs_of_sentences_are_equal_if_both_are():
    text = LabelledText(["a", "A", "a"], ["b", "b.", "c"], ["0", "0", "1"])
    assert count_repeated({"test": text.inputs}) == [
        {"set": "test", "also_in": "test", "exact": 0, "normalised": 1, "widening": 1.291}
    ]
    assert count_repeated({"test": ParallelText(["a", "b"], ["c", "c"]).inputs}) == []


@pytest.mark.parametrize(
    "text",
    ["K\u00e4se \u00fcber \u00d6l", "caf\u00e9 \u00c0 la", "it\u2019s \u201cfine\u201d\u2026", "\u00df"],
    ids=ascii,
)
def test_text_of_another_encoding_is_found(text):
    for encoding in ("latin-1", "cp1252"):
        wrong = text.encode().decode(encoding, "replace")
        assert [1] in find_odd([text, wrong]).values()


@pytest.mark.parametrize(
    "text", ["IRM\u00c3\u2019", "\u00abIRM\u00c3\u00bb", "N\u00c3O \u00c2 \u00e2ge", "100 \u20ac \u2122"], ids=ascii
)
def test_text_with_rare_letters_is_not(text):
    assert find_odd([text]) == {}
