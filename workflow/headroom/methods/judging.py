"""Judging models on evaluation sets: every profile once, each compared with the full model, example by example."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from headroom.core import significance
from headroom.core.bootstrap import Sample, paired_difference, tail_p
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.core.significance import benjamini_hochberg, holm
from headroom.engines.judged import EvaluationSet, Outcome, Statistics


class Judge:
    """A model on one set: every profile is judged once, however many orders come to it.

    Args:
        model: The model.
        evaluation_set: The set.
        known: The statistics of profiles that were judged before.
    """

    def __init__(
        self, model: Any, evaluation_set: EvaluationSet, known: Mapping[frozenset[Head], Statistics] | None = None
    ) -> None:
        self.model = model
        self.set = evaluation_set
        self.known = known or {}
        self.outcome = cache(self._outcome)

    @property
    def full(self) -> Outcome:
        """The outcome without any head removed."""
        return self.outcome(frozenset())

    def compared(self, removed: frozenset[Head]) -> Iterator[tuple[dict[str, Any], float]]:
        """Yield, per metric, the columns of a profile from `metric` to `p_unpaired`, and p without a floor."""
        full, other = self.full, self.outcome(removed)
        for metric in self.set.metrics:
            value = other.scores[metric]
            difference = value - full.scores[metric]
            before, after = full.resampled[metric], other.resampled[metric]
            compared = paired_difference(before, after, difference)
            columns = {
                "set": self.set.name,
                "metric": metric,
                "value": value,
                "full": full.scores[metric],
                **compared._asdict(),
                **_right_or_wrong(metric, full.sample, other.sample),
            }
            yield columns, tail_p(before, after, difference)

    def _outcome(self, removed: frozenset[Head]) -> Outcome:
        if removed in self.known:
            return self.set.outcome([], replace(self.full.sample, statistics=self._judged_before(removed)))
        return self.set.judge_without(self.model, removed, self.full) if removed else self.set.judge(self.model)

    def _judged_before(self, removed: frozenset[Head]) -> Statistics:
        known, here = self.known[removed], self.full.sample.statistics
        if {name: array.shape for name, array in known.items()} != {name: array.shape for name, array in here.items()}:
            raise HeadroomError(
                f"what was judged before is of other examples or metrics than {self.set.name}: judge all shards again"
            )
        return known


def comparisons(judge: Judge, profiles: Sequence[tuple[dict[str, Any], frozenset[Head]]]) -> list[dict[str, Any]]:
    """Compare profiles with the full model; corrections are over the profiles, per metric.

    p is the paired bootstrap's. Sampled p-values have a floor that a correction over many heads lifts
    above any level, so p_holm and p_bh correct p-values from the bootstrap's standard error instead.

    Args:
        judge: The model on a set.
        profiles: The leading columns of each profile's rows, and the profile.

    Returns:
        A row per profile and metric: the leading columns, those of a comparison, `signature`.
    """
    rows: list[dict[str, Any]] = []
    tails: list[float] = []
    for leading, removed in profiles:
        for columns, tail in judge.compared(removed):
            rows.append({**leading, **columns, "signature": judge.set.signature(columns["metric"])})
            tails.append(tail)
    for metric in judge.set.metrics:
        mine = [index for index, row in enumerate(rows) if row["metric"] == metric]
        uncorrected = [tails[index] for index in mine]
        for index, p_holm, p_bh in zip(mine, holm(uncorrected), benjamini_hochberg(uncorrected)):
            rows[index] |= {"p_holm": p_holm, "p_bh": p_bh}
    return rows


def _right_or_wrong(metric: str, full: Sample, other: Sample) -> dict[str, float | str]:
    """Return the tests for metrics that are a share of right answers; empty cells for others."""
    if metric not in significance.METRICS:
        return {"p_mcnemar": "", "p_unpaired": ""}
    before, after = (sample.statistics[metric][:, 0] for sample in (full, other))
    return {
        "p_mcnemar": significance.mcnemar_p(before, after),
        "p_unpaired": significance.unpaired_p(before, after),
    }
