import pandas
from headroom.core.heads import Head, Site
from headroom.data.trees import ParsedSentence, Word
from headroom.methods.traces import entry, nearest_to_roles, word_maps
from planted import batch_of, tree

FIVE = tree(("a", None, "root"), ("b", 0, "x"), ("c", 0, "x"))


def test_maps_are_between_words_and_written_to_two_decimals():
    site = Site("E", 1, 2)
    heads = {site: [lambda _, query: query - 1, lambda _, query: query]}
    maps = word_maps([batch_of([FIVE, FIVE], heads, positions=[1, 0])], [FIVE, FIVE], {site: site.head_names()})
    assert set(maps) == {(head, place) for head in site.head_names() for place in (0, 1)}
    found = entry((Head("E", 1, 1), "positional", "-1"), 2, FIVE, maps[Head("E", 1, 1), 1])
    assert found["weights"] == [[0.0, 0.0, 0.0], [0.7, 0.0, 0.0], [0.0, 0.7, 0.0]]
    assert (found["head"], found["queries"], found["sentence"]) == ("E1:1", ["a", "b", "c"], 2)


def test_a_multiword_token_is_shown_once_as_it_is_written():
    words = (Word("do", 0, 5, 2, "aux"), Word("n't", 0, 5, 2, "advmod"), Word("go", 6, 8, None, "root"))
    found = entry((Head("E", 1, 1), "", "-1"), 1, ParsedSentence("don't go", words), [])
    assert found["queries"] == found["keys"] == ["don't", "go"]


def test_without_trees_the_most_positional_head_is_shown_alone():
    columns = ["model", "kind", "layer", "head", "measure", "target", "trees", "half", "value"]
    offset = ["trained", "E", 1, 2, "offset", "-1", "", "all", 0.4]
    confidence = ["trained", "E", 1, 2, "confidence", "", "", "choose", 0.3]
    pointing = pandas.DataFrame([offset, confidence], columns=columns)
    assert nearest_to_roles(pointing) == [(Head("E", 1, 2), "", "-1")]
