"""The order of labels: a model at chance is hardly ever refused, one with permuted labels nearly always."""

from itertools import permutations

import numpy
import pytest
from headroom.core.label_order import find_wrong_order

CORPORA = [(0.5, 0.5), (0.3, 0.7), (1 / 3, 1 / 3, 1 / 3), (0.2, 0.3, 0.5)]
"""Shares of the classes."""

PERMUTED = [order for classes in (2, 3) for order in permutations(range(classes)) if order != tuple(range(classes))]


def answer(gold, accuracy, classes, random):
    """Return answers of which this share is right."""
    wrong = (gold + random.integers(1, classes, len(gold))) % classes
    return numpy.where(random.random(len(gold)) < accuracy, gold, wrong)


@pytest.mark.parametrize("shares", CORPORA)
@pytest.mark.parametrize("examples", [20, 200])
def test_a_model_at_chance_is_hardly_ever_refused(shares, examples):
    """Whatever the shares of its answers are: those of the labels, equal ones, or reversed ones."""
    random, classes = numpy.random.default_rng(1), len(shares)
    for answers in (shares, [1 / classes] * classes, shares[::-1]):
        refused = sum(
            find_wrong_order(*(random.choice(classes, examples, p=one) for one in (shares, answers)), classes)
            is not None
            for _ in range(400)
        )
        assert refused <= 4


@pytest.mark.parametrize("order", PERMUTED)
def test_permuted_labels_are_found_with_their_order(order):
    random, classes = numpy.random.default_rng(2), len(order)
    found = []
    for _ in range(200):
        gold = random.integers(0, classes, 200)
        predicted = numpy.argsort(order)[answer(gold, 0.75, classes, random)]
        found.append(find_wrong_order(gold, predicted, classes))
    assert sum(one is not None and one.order == order for one in found) >= 198


@pytest.mark.parametrize("accuracy", [0.4, 0.6, 0.9])
@pytest.mark.parametrize("classes", [3, 5, 200])
def test_the_right_order_is_never_refused(accuracy, classes):
    random = numpy.random.default_rng(3)
    for _ in range(50):
        gold = random.integers(0, classes, 200)
        assert find_wrong_order(gold, answer(gold, accuracy, classes, random), classes) is None


def test_two_of_five_labels_that_are_exchanged_are_found_although_the_model_is_above_chance():
    random = numpy.random.default_rng(4)
    gold = random.integers(0, 5, 300)
    predicted = numpy.array([0, 1, 3, 2, 4])[answer(gold, 0.9, 5, random)]
    found = find_wrong_order(gold, predicted, 5)
    assert found.order == (0, 1, 3, 2, 4)
    assert found.accuracy > 0.45
    assert found.reordered > 0.8
