import pytest
from headroom.data.providers.generated import generate_sets
from headroom.settings.parallel import GeneratedCorpus

SMALL = GeneratedCorpus(seed=3, train=1500, valid=201, test=150, far=150)


@pytest.fixture(scope="module")
def sets():
    return generate_sets(SMALL)


def test_no_source_sentence_occurs_twice_anywhere(sets):
    sentences = [line for pair in sets.values() for line in pair.source]
    assert len(set(sentences)) == len(sentences)


def test_more_training_pairs_leave_the_evaluation_sets_alone():
    few = GeneratedCorpus(seed=3, train=100, valid=21, test=30, far=30)
    sets, larger = generate_sets(few), generate_sets(few.model_copy(update={"train": 150}))
    for name in ("choose", "check", "test", "far"):
        assert (larger[name].source, larger[name].target) == (sets[name].source, sets[name].target)
    assert larger["train"].source[:100] == sets["train"].source


def test_far_domain_is_longer_with_other_words_and_constructions(sets):
    def share(name, relation):
        tokens = [token for tree in sets[name].trees for token in tree]
        return sum(token.relation == relation for token in tokens) / len(sets[name].trees)

    def words(name):
        return [t.lemma for tree in sets[name].trees for t in tree if t.universal in ("NOUN", "VERB", "ADJ")]

    lengths = {name: sum(map(len, sets[name].trees)) / len(sets[name].trees) for name in ("train", "far")}
    assert lengths["far"] > 1.2 * lengths["train"]
    for relation in ("acl:relcl", "ccomp", "conj", "amod"):
        assert share("far", relation) > 1.3 * share("train", relation)
    often_near = {word for word in words("test") if words("test").count(word) > 5}
    rare_in_far = [word for word in often_near if words("far").count(word) < words("test").count(word) / 2]
    assert len(rare_in_far) > 10
    unseen = set(words("far")) - set(words("train"))
    assert len(unseen) < 0.05 * len(set(words("far"))), f"words of the far domain occur in training: {unseen}"
