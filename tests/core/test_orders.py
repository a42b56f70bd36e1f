"""The order of labels and of lines: a model at chance is hardly ever stopped, wrong order nearly always."""

from itertools import permutations, product

import numpy
import pytest
from headroom.core.order_checks import compare_neighbours, find_wrong_order

PERMUTED = [order for classes in (2, 3) for order in permutations(range(classes)) if order != tuple(range(classes))]


def answer(gold, accuracy, classes, random):
    """Return answers of which this share is right."""
    wrong = (gold + random.integers(1, classes, len(gold))) % classes
    return numpy.where(random.random(len(gold)) < accuracy, gold, wrong)


@pytest.mark.parametrize("examples", [20, 200])
def test_a_model_at_chance_is_hardly_ever_refused(examples):
    """Whatever the shares of its answers are: those of the labels, equal ones, or reversed ones."""
    random = numpy.random.default_rng(1)
    for shares in ((0.5, 0.5), (0.3, 0.7), (1 / 3, 1 / 3, 1 / 3), (0.2, 0.3, 0.5)):
        for answers in (shares, [1 / len(shares)] * len(shares), shares[::-1]):
            drawn = [(random.choice(len(shares), examples, p=one) for one in (shares, answers)) for _ in range(400)]
            refused = sum(find_wrong_order(*both, len(shares)) is not None for both in drawn)
            assert refused <= 4, (shares, answers)


def test_permuted_labels_are_found_with_their_order():
    for order in PERMUTED:
        random, classes = numpy.random.default_rng(2), len(order)
        found = []
        for _ in range(200):
            gold = random.integers(0, classes, 200)
            predicted = numpy.argsort(order)[answer(gold, 0.75, classes, random)]
            found.append(find_wrong_order(gold, predicted, classes))
        assert sum(one is not None and one.order == order for one in found) >= 198, order


def test_the_right_order_is_never_refused():
    random = numpy.random.default_rng(3)
    for accuracy, classes in product([0.4, 0.6, 0.9], [3, 5, 200]):
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


def losses(own, other, random, *, pairs=50, noise=1.0):
    """Return the summed losses of pairs of lines with kept and exchanged translations.

    A loss has a part of the source, one of the translation, a mean for whether they belong together, and noise.
    """
    source, target = 20 * random.random((pairs, 2)), 20 * random.random((pairs, 2))
    kept = source + target + own + noise * random.standard_normal((pairs, 2))
    exchanged = source + target[:, ::-1] + other + noise * random.standard_normal((pairs, 2))
    return kept.sum(1), exchanged.sum(1)


@pytest.mark.parametrize("pairs", [10, 50])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_model_at_chance_is_stopped_in_at_most_one_of_100_runs(pairs, noise):
    """With two sets, as when a model is imported; without noise both sums are equal up to rounding."""
    random = numpy.random.default_rng(1)
    stopped = [
        any(compare_neighbours(*losses(5, 5, random, pairs=pairs, noise=noise)).is_shifted for _ in "vt")
        for _ in range(2000)
    ]
    assert numpy.mean(stopped) <= 0.01


def test_lines_that_belong_together_or_to_a_neighbour_are_told_apart():
    random = numpy.random.default_rng(2)
    for _ in range(100):
        together, shifted = (compare_neighbours(*losses(*means, random, noise=0.5)) for means in ((4, 6), (6, 5)))
        assert (together.is_shifted, together.is_known) == (False, True)
        assert (shifted.is_shifted, shifted.is_known) == (True, False)
    equal = compare_neighbours(numpy.ones(50), numpy.ones(50))
    assert (equal.pairs, equal.is_shifted, equal.is_known) == (0, False, False)
