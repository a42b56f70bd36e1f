"""Corrections for many comparisons, and the exact test for paired right-or-wrong answers."""

from collections.abc import Sequence

from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm (1979), in the order given.

    The smallest of m is multiplied by m, the next by m - 1, ...; never below an earlier one, at most 1.
    A value below 0.05 keeps the chance of even one false alarm among all m below 5 %.
    """
    return _corrected(p_values, "holm")


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Benjamini and Hochberg (1995), in the order given.

    Among all comparisons with a value below 0.05, at most 5 % are expected to be false alarms.
    """
    return _corrected(p_values, "fdr_bh")


def mcnemar(*, only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test.

    Args:
        only_first: Number of items that only the first system has right.
        only_second: Number of items that only the second system has right.
    """
    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0


def _corrected(p_values: Sequence[float], method: str) -> list[float]:
    if not len(p_values):
        return []
    return [float(value) for value in multipletests(p_values, method=method)[1]]
