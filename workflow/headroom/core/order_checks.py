"""Guards against text in another order than the model's: labels, and lines of parallel text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy import ndarray

LEVEL = 0.002
"""Level of each of the two tests: a model at chance is called wrongly ordered in less than 1 of 100 sets."""


@dataclass(frozen=True)
class WrongOrder:
    """A classifier that is worse than chance, or better with its labels in another order.

    Attributes:
        examples: The number of examples.
        accuracy: The share of right answers.
        chance: That of the best constant answer.
        order: By output, the class that it stands for in the best order; the given order if none is better.
        reordered: The share of right answers in that order.
    """

    examples: int
    accuracy: float
    chance: float
    order: tuple[int, ...]
    reordered: float

    def describe(self, labels: Sequence[str]) -> str:
        """Return what was found in a phrase; `labels` are the names of the classes."""
        found = f"{self.accuracy:.1%} of {self.examples} examples are right, chance is {self.chance:.0%}; "
        if self.order == tuple(range(len(labels))):
            return f"{found}no other order of the labels is better"
        return f"{found}the order {', '.join(labels[place] for place in self.order)} would give {self.reordered:.0%}"


def find_wrong_order(gold: ndarray, predicted: ndarray, classes: int, *, level: float = LEVEL) -> WrongOrder | None:
    """Return what is wrong with the order of labels; None if nothing is, or too little is known.

    An order is wrong if fewer answers are right than if the model knew nothing and gave its answers at random; or if
    more are right than that in another order, more than in the given one by a sign test over examples (corrected for
    the number of orders), and every output that stands for another class there and was given is right more often.

    Args:
        gold: The class of each example, (examples,).
        predicted: The output that is largest, (examples,).
        classes: The number of classes.
        level: The level of each test.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.stats import binomtest

    counts = numpy.zeros((classes, classes))  # (gold, predicted)
    numpy.add.at(counts, (gold, predicted), 1.0)
    _, order = linear_sum_assignment(-counts.T)  # by output, its class
    right = float(numpy.trace(counts))
    changed = counts.T[numpy.arange(classes), order]
    shares = right / len(gold), float(counts.sum(1).max()) / len(gold)
    found = WrongOrder(len(gold), *shares, tuple(order.tolist()), float(changed.sum()) / len(gold))
    if _standardise(counts, range(classes), above=False) < -_quantile(level):
        return found
    moved = order != numpy.arange(classes)
    if not moved.any() or not (changed > counts.diagonal())[moved & (counts.sum(0) > 0)].all():
        return None
    better, worse = int(changed[moved].sum()), int(counts.diagonal()[moved].sum())
    each = level * math.exp(-math.lgamma(classes + 1))  # of all orders
    if binomtest(better, better + worse, alternative="greater").pvalue >= each:
        return None
    return found if _standardise(counts, order, above=True) > _quantile(each) else None


def _standardise(counts: ndarray, order: object, *, above: bool) -> float:
    """Return how far right answers are from those of a model that knows nothing, in standard deviations.

    Such a model gives the same answers to examples at random: the number of right ones is a permutation statistic,
    with the mean and variance of Hoeffding 1951. Towards that mean half an answer is a correction for continuity.

    Args:
        counts: Examples by class and output, (classes, classes).
        order: By output, the class that it stands for.
        above: Whether more right answers are asked for, else fewer.
    """
    ordered = counts[numpy.asarray(order)]  # rows in the order of outputs
    size, rows, columns = ordered.sum(), ordered.sum(1), ordered.sum(0)
    same = numpy.eye(len(ordered))
    centred = same - (columns / size)[:, None] - (rows / size)[None, :] + (rows @ columns) / size**2
    variance = (rows[:, None] * columns[None, :] * centred**2).sum() / max(size - 1, 1)
    distance = numpy.trace(ordered) - rows @ columns / size + (-0.5 if above else 0.5)
    return float(distance / math.sqrt(variance)) if variance > 0 else 0.0


def _quantile(level: float) -> float:
    from scipy.special import ndtri

    return -float(ndtri(level))


LINE_LEVEL = 0.005
"""Level of the test for exchanged lines: at chance one of two sets is called shifted in at most 1 % of runs."""

ALIGNED = 0.05
"""Level of the test for lines that belong together."""


@dataclass(frozen=True)
class LineOrder:
    """How many pairs of neighbouring lines have likelier translations if these are exchanged.

    Attributes:
        pairs: The number of pairs, without those in which both are equally likely.
        exchanged: Those of them that are likelier exchanged.
    """

    pairs: int
    exchanged: int

    @property
    def is_shifted(self) -> bool:
        """Whether more are likelier exchanged than would be by chance."""
        return _chance_of(self.exchanged, self.pairs) < LINE_LEVEL

    @property
    def is_known(self) -> bool:
        """Whether more are likelier as they are than would be by chance."""
        return _chance_of(self.pairs - self.exchanged, self.pairs) < ALIGNED


def compare_neighbours(kept: ndarray, exchanged: ndarray) -> LineOrder:
    """Return how often the translations of two neighbouring lines are likelier exchanged.

    What a loss owes to the source alone, or to the translation alone, is in both sums and cancels.

    Args:
        kept: The summed losses of both lines of each pair, with their own translations, (pairs,).
        exchanged: The same with each other's.
    """
    return LineOrder(int((kept != exchanged).sum()), int((exchanged < kept).sum()))


def _chance_of(successes: int, trials: int) -> float:
    """Return the probability of at least so many successes of an even chance."""
    from scipy.stats import binomtest

    return float(binomtest(successes, trials, alternative="greater").pvalue) if trials else 1.0
