import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.load import load_study

CATALOGUE = {"corpus": {"source": "catalogue"}}


def test_trees_are_those_of_the_grammar_where_the_text_is_and_none_elsewhere():
    study = load_study({"translation": CATALOGUE, "classification": {"own": {}, "sst2": CATALOGUE}})
    found = {name: task.treebank.source for name, task in study.tasks.items()}
    assert found == {"translation": "none", "own": "generated", "sst2": "none"}
    assert load_study({"translation": {}}).tasks["translation"].treebank.source == "generated"


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (
            {"translation": {**CATALOGUE, "treebank": {"source": "generated"}}},
            r"translation\.treebank\.source: text that is not generated",
        ),
        ({"classification": {"x": {**CATALOGUE, "treebank": {"source": "generated"}}}}, r"classification\.x\.treebank"),
        ({"translation": {"treebank": {"source": "trees"}}}, r"translation\.treebank: .*'trees'"),
        ({"translation": {"treebank": {"source": "files"}}}, r"translation\.treebank\.path: "),
        (
            {"translation": {"treebank": {"source": "catalogue", "treebank": "ptb"}}},
            r"translation\.treebank\.treebank: ",
        ),
        ({"translation": {"attention_stats": {"relations": []}}}, r"translation\.attention_stats\.relations"),
        (
            {"translation": {"attention_stats": {"relations": ["obj", "obj"]}}},
            r"translation\.attention_stats\.relations: ",
        ),
        ({"translation": {"attention_stats": {"relations": ["DOBJ"]}}}, r"translation\.attention_stats\.relations\.0"),
    ],
)
def test_what_does_not_fit_is_named_with_its_key(tasks, message):
    with pytest.raises(HeadroomError, match=message):
        load_study(tasks)
