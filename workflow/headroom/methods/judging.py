"""Judging models on evaluation sets: every intervention once, each compared with the full model by example."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from headroom.core import significance
from headroom.core.bootstrap import Sample, paired_difference, tail_p
from headroom.core.errors import HeadroomError
from headroom.core.interventions import PLAIN, Intervention
from headroom.core.significance import benjamini_hochberg, holm
from headroom.engines.engine import EvaluationSet, Outcome, Statistics
from headroom.engines.gates import Replacements


class Judge:
    """A model on one set: every intervention is judged once, however many orders come to it.

    Args:
        model: The model.
        evaluation_set: The set.
        known: The statistics of interventions that were judged before.
        replacements: What stands in for removed heads, for interventions that need it.
    """

    def __init__(
        self,
        model: Any,
        evaluation_set: EvaluationSet,
        known: Mapping[Intervention, Statistics] | None = None,
        *,
        replacements: Replacements | None = None,
    ) -> None:
        self.model = model
        self.set = evaluation_set
        self.known = known or {}
        self.replacements = replacements
        self.outcome = cache(self._outcome)

    @property
    def full(self) -> Outcome:
        """The outcome of the plain model."""
        return self.outcome(PLAIN)

    def compared(self, intervention: Intervention) -> Iterator[tuple[dict[str, Any], float]]:
        """Yield, per metric, the columns of an intervention from `metric` to `p_unpaired`, and p without a floor."""
        full, other = self.full, self.outcome(intervention)
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

    def _outcome(self, intervention: Intervention) -> Outcome:
        if intervention in self.known:
            return self.set.outcome([], replace(self.full.sample, statistics=self._judged_before(intervention)))
        if not intervention:
            return self.set.judge(self.model)
        return self.set.judge_under(self.model, intervention, self.full, self.replacements)

    def _judged_before(self, intervention: Intervention) -> Statistics:
        known, here = self.known[intervention], self.full.sample.statistics
        if {name: array.shape for name, array in known.items()} != {name: array.shape for name, array in here.items()}:
            raise HeadroomError(
                f"what was judged before is of other examples or metrics than {self.set.name}: judge all shards again"
            )
        return known


def comparisons(judge: Judge, cases: Sequence[tuple[dict[str, Any], Intervention]]) -> list[dict[str, Any]]:
    """Compare interventions with the full model; corrections are over all of them, per metric.

    p is the paired bootstrap's. Sampled p-values have a floor that a correction over many heads lifts
    above any level, so p_holm and p_bh correct p-values from the bootstrap's standard error instead.

    Args:
        judge: The model on a set.
        cases: Interventions, each with the leading columns of its rows.

    Returns:
        A row per intervention and metric: the leading columns, those of a comparison, `signature`.
    """
    rows: list[dict[str, Any]] = []
    tails: list[float] = []
    for leading, intervention in cases:
        for columns, tail in judge.compared(intervention):
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
