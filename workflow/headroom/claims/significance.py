"""Which heads each test finds changed: the paper's unpaired t-test, randomisation, McNemar's; and corrections.

The paper tests BERT's accuracies with a t-test at p < 0.01 without a correction. Two models that answer the same
examples, and mostly in the same way, differ by far less than two independent samples would: a paired test has more
power. Many tests at once find some differences by chance: a correction limits their number.
"""

from dataclasses import dataclass

import numpy
import pandas

from headroom.claims.selection import last_epochs, main_metric, main_set, rows_where
from headroom.core.statistics import RIGHT_OR_WRONG, benjamini_hochberg, holm

SCREENING = 0.01
"""The paper's level, uncorrected."""

CORRECTIONS = ("none", "Benjamini-Hochberg", "Holm")


@dataclass(frozen=True)
class Test:
    """A test: its name in a table, the words for it in a sentence, and the column with its p."""

    __test__ = False  # not for pytest

    name: str
    words: str
    column: str


TESTS = (
    Test("unpaired t-test (the paper’s)", "the paper’s unpaired t-test", "p_unpaired"),
    Test("approximate randomisation", "approximate randomisation", "p"),
    Test("McNemar’s exact test", "McNemar’s exact test", "p_mcnemar"),
)


def right_or_wrong(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the last epoch's rows of the metric that counts right answers, on the set that runs are judged on.

    The main metric is taken if it is one of those; without any the frame is empty.
    """
    rows = last_epochs(rows)
    rows = rows[rows["metric"].isin(RIGHT_OR_WRONG) & rows["p_mcnemar"].notna()]
    rows = rows_where(rows, metric=main_metric(rows))
    return rows_where(rows, set=main_set(rows)) if len(rows) else rows


def changed(
    rows: pandas.DataFrame, column: str, correction: str = "none", *, level: float = SCREENING, part: bool = False
) -> numpy.ndarray:
    """Return which rows a test calls changed, (rows,).

    Args:
        rows: One run's rows of one set and metric.
        column: The column with the test's p.
        correction: One of `CORRECTIONS`, over these rows.
        level: Below this p a row counts as changed.
        part: Whether these are only some of the rows of their table, so that `p_holm` and `p_bh`, which have no
            floor, are not about them.
    """
    ready = {("p", "Holm"): "p_holm", ("p", "Benjamini-Hochberg"): "p_bh"}
    values = rows[column].to_numpy(dtype=float)
    if correction != "none" and not part and (column, correction) in ready:
        values = rows[ready[column, correction]].to_numpy(dtype=float)
    elif correction != "none" and len(values):
        values = numpy.array({"Holm": holm, "Benjamini-Hochberg": benjamini_hochberg}[correction](values.tolist()))
    result: numpy.ndarray = values < level
    return result
