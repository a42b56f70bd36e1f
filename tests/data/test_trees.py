"""Dependency trees: places of words in the text, and those of the generated language come back."""

from headroom.core.files import write_lines
from headroom.data.providers.generated import generate_sets
from headroom.data.trees import Word, plain_sentence, read_trees, relations_in
from headroom.settings.parallel import GeneratedCorpus


def row(number, form, governor, relation, misc="_"):
    return "\t".join([str(number), form, form, "X", "_", "_", str(governor), relation, "_", misc])


ENGLISH = [
    "# sent_id = one",
    "# text = I don't sleep\u00a0.",
    row(1, "I", 4, "nsubj"),
    row("2-3", "don't", "_", "_"),
    row(2, "do", 4, "aux"),
    row(3, "n't", 4, "advmod"),
    row(4, "sleep", 0, "root", "SpaceAfter=No"),
    row("4.1", "sleeping", "_", "_"),
    row(5, ".", 4, "punct"),
]
GERMAN = [
    row("1-2", "Zum", "_", "_"),
    row(1, "zu", 3, "case"),
    row(2, "dem", 3, "det"),
    row(3, "Haus", 0, "root", "SpaceAfter=No"),
    row(4, "!", 3, "punct"),
]


def written(path, *sentences):
    path.write_text("".join("\n".join(lines) + "\n\n" for lines in sentences), encoding="utf-8")
    return path


def test_words_of_a_multiword_token_share_its_span_and_empty_nodes_have_none(tmp_path):
    (sentence,) = read_trees(written(tmp_path / "a.conllu", ENGLISH))
    assert sentence.text == "I don't sleep\u00a0."
    assert sentence.words == (
        Word("I", 0, 1, 3, "nsubj"),
        Word("do", 2, 7, 3, "aux"),
        Word("n't", 2, 7, 3, "advmod"),
        Word("sleep", 8, 13, None, "root"),
        Word(".", 14, 15, 3, "punct"),
    )


def test_text_is_made_of_the_forms_where_the_file_has_none(tmp_path):
    (sentence,) = read_trees(written(tmp_path / "a.conllu", GERMAN))
    assert sentence.text == "Zum Haus!"
    assert [(word.form, word.start, word.end) for word in sentence.words] == [
        ("zu", 0, 3), ("dem", 0, 3), ("Haus", 4, 8), ("!", 8, 9),
    ]  # fmt: skip
    assert relations_in([sentence]) == ["case", "det", "punct"]


def test_words_of_plain_text_are_what_white_space_separates():
    sentence = plain_sentence("a bb  a.")
    assert [(word.form, word.start, word.end) for word in sentence.words] == [("a", 0, 1), ("bb", 2, 4), ("a.", 6, 8)]
    assert {word.governor for word in sentence.words} == {None}
    assert relations_in([sentence]) == []


def test_generated_trees_come_back(tmp_path):
    """Of the far set, the richest one."""
    pair = generate_sets(GeneratedCorpus(train=1, valid=2, test=1, far=400))["far"]
    write_lines(tmp_path / "far.conllu", pair.beside("far")["far.conllu"])
    read = read_trees(tmp_path / "far.conllu")
    assert [sentence.text for sentence in read] == pair.source
    for sentence, tokens in zip(read, pair.trees, strict=True):
        assert [word.relation for word in sentence.words] == [token.relation for token in tokens]
        governors = [None if token.governor is None else tokens.index(token.governor) for token in tokens]
        assert [word.governor for word in sentence.words] == governors
        assert [sentence.text[word.start : word.end] for word in sentence.words] == [token.form for token in tokens]
