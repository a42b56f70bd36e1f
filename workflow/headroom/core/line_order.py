"""Whether the lines of parallel text belong together, decided from the losses of a translation model.

Of two neighbouring lines the translations are kept or exchanged. A model that ignores the source, or knows nothing of
the languages, prefers either by chance; one whose texts are aligned prefers them kept. If it prefers them exchanged,
the translation of a sentence is in the line before or after.
"""

from dataclasses import dataclass

from numpy import ndarray

LEVEL = 0.005
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
        return _chance_of(self.exchanged, self.pairs) < LEVEL

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
