import re
from collections import Counter
from itertools import islice

import pytest
from headroom.data.grammar.pairs import LABELS, PAIR_DOMAINS, PairMaker, build_text
from headroom.data.providers.generated_pairs import generate_pair_sets
from headroom.settings.labelled import GeneratedPairs
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from small_worlds import World, is_true

SMALL = GeneratedPairs(seed=3, train=1500, valid=201, test=600, far=300)


@pytest.fixture(scope="module")
def sets():
    return generate_pair_sets(SMALL)


def test_labels_are_balanced(sets):
    for name in ("train", "test", "far"):
        assert set(Counter(sets[name].labels).values()) == {len(sets[name]) // 3}
    both = Counter(sets["choose"].labels + sets["check"].labels)
    assert both == dict.fromkeys(LABELS, 67)


def test_no_premise_occurs_twice_anywhere(sets):
    premises = [line for pairs in sets.values() for line in pairs.first]
    assert len(set(premises)) == len(premises)
    assert all(first != second for pairs in sets.values() for first, second in pairs.inputs)


def test_more_training_pairs_leave_the_evaluation_sets_alone_and_another_seed_changes_all():
    few = GeneratedPairs(seed=3, train=60, valid=21, test=30, far=30)
    changes = ({}, {"train": 90}, {"seed": 4})
    sets, larger, other = (generate_pair_sets(few.model_copy(update=change)) for change in changes)
    for name in ("choose", "check", "test", "far"):
        assert larger[name] == sets[name]
        assert len({*other[name].first} & {*sets[name].first}) < 0.2 * len(sets[name])
    assert larger["train"].taken(range(60)).inputs == sets["train"].inputs


@pytest.mark.parametrize("side", ["first", "second"])
def test_one_sentence_alone_tells_little_of_the_label(sets, side):
    vectorizer = CountVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\w+")
    known = vectorizer.fit_transform(getattr(sets["train"], side))
    guesser = LogisticRegression(C=0.1, max_iter=300).fit(known, sets["train"].labels)
    for name in ("test", "far"):
        new = vectorizer.transform(getattr(sets[name], side))
        assert guesser.score(new, sets[name].labels) <= 0.45


def test_words_in_common_do_not_tell_the_label(sets):
    """Of the hypotheses with only words of their premise, at most two thirds have the same label."""
    contained = Counter()
    for (premise, hypothesis), label in zip(sets["train"].inputs, sets["train"].labels, strict=True):
        contained[label] += words(hypothesis) <= words(premise)
    assert all(contained[label] > 40 for label in LABELS)
    assert contained["entailment"] < 0.85 * sum(contained.values())
    assert contained["entailment"] < 0.95 * len(sets["train"]) / 3


@pytest.mark.parametrize("topic", ["near", "far"])
def test_labels_are_true_in_small_worlds(topic):
    """Where the premise is true, the hypothesis is always, never, or now and then, as the label says."""
    neutral, reported = Counter(), 0
    for pair in islice(PairMaker(domain=PAIR_DOMAINS[topic], seed="worlds").pairs(), 45):
        worlds = [World((pair.premise, pair.hypothesis), number) for number in range(20)]
        values = {is_true(pair.hypothesis, world) for world in worlds if is_true(pair.premise, world)}
        reported += bool(values)
        if pair.label == "neutral":
            neutral.update(values)
        else:
            assert values <= {pair.label == "entailment"}, f"{build_text(pair.premise)} | {build_text(pair.hypothesis)}"
    assert reported >= 15
    assert min(neutral[True], neutral[False]) >= 4


def words(line):
    return set(re.findall(r"\w+", line.lower()))
