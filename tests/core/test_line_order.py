"""Lines that belong together: a model at chance is hardly ever said to have shifted text, a shift is found."""

import numpy
import pytest
from headroom.core.line_order import compare_neighbours


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


def test_equal_losses_say_nothing():
    found = compare_neighbours(numpy.ones(50), numpy.ones(50))
    assert (found.pairs, found.is_shifted, found.is_known) == (0, False, False)
