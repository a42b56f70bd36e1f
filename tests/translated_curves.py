"""Simulated translations: sentence statistics of BLEU of models that lose quality along a curve."""

import numpy
from numpy import ndarray


def translated_curve(random: numpy.random.Generator, qualities: ndarray, examples: int) -> ndarray:
    """Return BLEU statistics (points, examples, 10); quality falls along the curve, a sentence's luck stays."""
    lengths, luck = random.integers(6, 20, examples), random.beta(6, 3, examples)
    totals = lengths[:, None] - numpy.arange(4)
    orders = numpy.arange(1, 5)
    systems = [random.binomial(totals, numpy.minimum(luck * own, 1)[:, None] ** orders) for own in qualities]
    both = numpy.stack([lengths, lengths], axis=1)
    return numpy.stack([numpy.concatenate([both, matches, totals], axis=1) for matches in systems]).astype(float)


def quality_of(shares: ndarray) -> ndarray:
    """Return the qualities of models that keep these shares of their BLEU.

    Matches of n words in order have a chance of quality to the n-th power, BLEU is the geometric mean over n = 1 to 4:
    it goes with the quality to the power 2.5.
    """
    result: ndarray = numpy.maximum(shares, 1e-6) ** 0.4
    return result
