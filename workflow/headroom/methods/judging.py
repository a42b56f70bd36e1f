"""Evaluation of models on sets: every intervention once, each compared with the full model by example.

A sweep over interventions can be split into shards: each job evaluates its share, and another merges them into the
table. Interventions are evaluated independently: a sweep in shards gives the table of a sweep in one job, byte for
byte.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path
from headroom.core.heads import format_profile, join_units
from headroom.core.interventions import PLAIN, Intervention, Shard
from headroom.core.progress import Steps
from headroom.core.statistics import (
    RIGHT_OR_WRONG,
    Sample,
    benjamini_hochberg,
    compute_unpaired_p,
    exchange_outputs,
    holm,
    interval,
    mcnemar_p,
    randomisation_p,
    sacrebleu_p,
    tail_p,
)
from headroom.methods.orders import Order, profiles
from headroom.models.engine import AGAIN, CALIBRATION, KL

if TYPE_CHECKING:
    from headroom.core.heads import Site
    from headroom.core.interventions import Repair, Replacement
    from headroom.core.resamples import Resamples
    from headroom.models.command import Sweep
    from headroom.models.engine import EvaluationSet, Outcome, Statistics
    from headroom.models.gates import Replacements
    from headroom.models.head_model import HeadModel


logger = logging.getLogger(__name__)


class Judge:
    """A model on one set: every intervention is evaluated once; `known` are statistics from earlier evaluations.

    Attributes:
        others: Other sets that the model is judged on by turns, which keep no states while it is judged on this one.
    """

    def __init__(
        self,
        model: HeadModel,
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
        self.steps: Steps | None = None
        self.others: Sequence[EvaluationSet] = ()

    @property
    def full(self) -> Outcome:
        """The outcome of the plain model."""
        return self.outcome(PLAIN)

    def compared(self, intervention: Intervention) -> Iterator[tuple[dict[str, Any], float]]:
        """Yield, per metric, the columns of an intervention from `set` to `p_unpaired`, and p without a lower bound."""
        full, other = self.full, self.outcome(intervention)
        for metric in (*self.set.metrics, *({KL} & full.scores.keys())):
            columns, tail = difference(self.set, metric, full, other)
            yield columns | _right_or_wrong(metric, full.sample, other.sample), tail

    def _outcome(self, intervention: Intervention) -> Outcome:
        if intervention in self.known:
            return self.set.outcome([], replace(self.full.sample, statistics=self._judged_before(intervention)))
        if not intervention:
            outcome = self.set.judge(self.model)
            warn_of_chance(self.set, outcome)
            return outcome
        for other in self.others:
            other.forget()
        outcome = self.set.judge_under(self.model, intervention, self.full, self.replacements)
        if self.steps:
            self.steps.step()
        return replace(outcome, answers=[])  # as many as there are tokens, of every intervention

    def _judged_before(self, intervention: Intervention) -> Statistics:
        known, here = self.known[intervention], self.full.sample.statistics
        if {name: array.shape for name, array in known.items()} != {name: array.shape for name, array in here.items()}:
            raise HeadroomError(
                f"{self.set.name}: the shards are of other examples or metrics; evaluate all shards again"
            )
        return known


def warn_of_chance(judged: EvaluationSet, full: Outcome) -> None:
    """Log that a model does not score more than chance on a set, by the interval of the main metric."""
    metric = judged.metrics[0]
    chance, (low, high) = judged.chance(metric), interval(full.resampled[metric])
    if low <= chance:
        logger.warning(
            "set %s: the model's %s is %.4g (%.4g to %.4g) and chance %.4g: not more, so effects of heads mean little",
            *(judged.name, metric, full.scores[metric], low, high, chance),
        )


def difference(judged: EvaluationSet, metric: str, full: Outcome, other: Outcome) -> tuple[dict[str, Any], float]:
    """Return the columns from `set` to `p_sacrebleu` of a model and the full model, and p without a lower bound.

    The interval is the paired bootstrap's, p is that of approximate randomisation: centred bootstraps reject too often.
    A divergence has no p: any change makes it positive.
    """
    value, before, after = other.scores[metric], full.resampled[metric], other.resampled[metric]
    delta = value - full.scores[metric]
    how = full.sample.metrics[metric]
    null = exchange_outputs(full.sample.statistics[metric], other.sample.statistics[metric], how, judged.exchanged)
    tests = (randomisation_p(null, delta), sacrebleu_p(before, after, delta), tail_p(null, delta))
    p, p_sacrebleu, tail = tests if metric != KL else [math.nan] * 3
    low, high = interval(after - before)
    columns = {
        "set": judged.name,
        "metric": metric,
        "value": value,
        "full": full.scores[metric],
        "chance": judged.chance(metric),
        "delta": delta,
        "low": low,
        "high": high,
        "p": p,
        "p_sacrebleu": p_sacrebleu,
    }
    return columns, tail


def comparisons(
    judge: Judge, cases: Sequence[tuple[dict[str, Any], Intervention]], resamples: Resamples | None = None
) -> list[dict[str, Any]]:
    """Compare interventions, each with the leading columns of its rows, with the full model: a row per metric.

    Sampled p-values have a lower bound, which a correction over many heads raises above any level; p_holm and p_bh
    therefore correct p-values from the standard error of exchanged differences, over all interventions, per metric.
    The scores of the main metric on the set's resamples are added to `resamples`.
    """
    rows: list[dict[str, Any]] = []
    tails: list[float] = []
    main = judge.set.metrics[0]
    again = count_again(judge, [intervention for _, intervention in cases])
    for leading, intervention in cases:
        for columns, tail in judge.compared(intervention):
            about = f"{judge.set.signature(columns['metric'])}{again}{name_substitute(intervention)}"
            rows.append({**leading, **columns, "signature": about})
            tails.append(tail)
            if resamples is not None:
                kept = (judge.outcome(intervention), judge.full) if columns["metric"] == main else ()
                resamples.add(*(outcome.resampled[main] for outcome in kept))
    for metric in dict.fromkeys(row["metric"] for row in rows):
        mine = [index for index, row in enumerate(rows) if row["metric"] == metric]
        uncorrected = [tails[index] for index in mine]
        for index, p_holm, p_bh in zip(mine, holm(uncorrected), benjamini_hochberg(uncorrected)):
            rows[index] |= {"p_holm": p_holm, "p_bh": p_bh}
    return rows


def curve(
    judge: Judge,
    order: Order,
    step: float,
    resamples: Resamples | None = None,
    *,
    replacement: Replacement = "zero",
    repair: Repair = "none",
) -> list[dict[str, Any]]:
    """Return the rows of one curve; corrections are over its steps, per metric.

    Args:
        judge: The model on a set.
        order: The removal order.
        step: The share of its units removed at each step.
        resamples: Takes the resampled scores of the rows, if they are wanted.
        replacement: What replaces the z of removed heads.
        repair: The repair of every model of the curve, instead of a replacement.
    """
    named = {name: value for name, value in vars(order).items() if name != "units"}
    named |= {"heads_total": len(join_units(order.units))}
    cases = []
    for gone in profiles(order, step):
        intervention = Intervention(gone, replacement=replacement, repair=repair)
        calibration = {CALIBRATION: judge.outcome(intervention).scores.get(CALIBRATION)}
        removed = {"heads_removed": len(gone), "removed": format_profile(gone)}
        cases.append((named | removed | calibration, intervention))
    return comparisons(judge, cases, resamples)


def name_substitute(intervention: Intervention) -> str:
    """Return the part of a signature on what replaces removed heads, e.g. `|replacement:mean`; empty for zero."""
    parts = {"replacement": intervention.replacement, "repair": intervention.repair}
    return "".join(f"|{name}:{value}" for name, value in parts.items() if value not in ("zero", "none"))


def count_again(judge: Judge, interventions: Iterable[Intervention]) -> str:
    """Return the part of a signature on answers that were also computed without reuse, e.g. `|again:480|different:0`.

    It is empty for engines whose results are the same bits with and without reuse.
    """
    found = [judge.outcome(one).sample.statistics for one in dict.fromkeys(interventions) if one]
    counts = [statistics[AGAIN].sum(axis=0) for statistics in found if AGAIN in statistics]
    if not counts:
        return ""
    again, different = numpy.sum(counts, axis=0)
    return f"|again:{again:.0f}|different:{different:.0f}"


def _right_or_wrong(metric: str, full: Sample, other: Sample) -> dict[str, float | str]:
    """Return the tests for metrics that are a share of correct answers; empty cells for others."""
    if metric not in RIGHT_OR_WRONG:
        return {"p_mcnemar": "", "p_unpaired": ""}
    before, after = (sample.statistics[metric][:, 0] for sample in (full, other))
    return {
        "p_mcnemar": mcnemar_p(before, after),
        "p_unpaired": compute_unpaired_p(before, after),
    }


Judged = Mapping[Intervention, Mapping[str, numpy.ndarray]]
"""By intervention, the statistics of each example of a set: {metric: (examples, k)}."""


def build_judges(
    model: HeadModel,
    sets: Sequence[EvaluationSet],
    job: Sweep,
    tried: Callable[[list[Site]], list[Intervention]],
    stage: str,
    replacements: Replacements | None = None,
) -> list[Judge]:
    """Return a judge per set, with the results of given shards; with `--shard` evaluate and write that share.

    `tried` returns the interventions, one per head, to evaluate on every set, from the sites of the model. `stage` is
    the name for the lines of progress. `replacements` is what they need.
    """
    known = read_shards(job.merge)
    judges = [Judge(model, judged, known.get(judged.name), replacements=replacements) for judged in sets]
    for judge in judges:
        judge.others = [judged for judged in sets if judged is not judge.set]
    share = job.share.share(tried(model.sites)) if job.share else tried(model.sites)
    follow(judges, share, stage, f"heads on {', '.join(judged.name for judged in sets)}")
    if job.share:
        shares = {judge.set.name: judge_share(judge, tried(model.sites), job.share) for judge in judges}
        write_shard(job.output, shares)
    return judges


def follow(judges: Sequence[Judge], interventions: Iterable[Intervention], stage: str, parts: str) -> None:
    """Log the progress of the evaluation of interventions on all sets together; see `Steps`."""
    distinct = {one for one in interventions if one}
    steps = Steps(stage, sum(len(distinct.difference(judge.known)) for judge in judges), parts)
    for judge in judges:
        judge.steps = steps


def judge_share(judge: Judge, interventions: Iterable[Intervention], shard: Shard) -> Judged:
    """Evaluate a shard's share of the interventions. The plain model, which every job needs, is not part of a shard."""
    return {one: judge.outcome(one).sample.statistics for one in shard.share(filter(None, interventions))}


def write_shard(path: Path | str, judged: Mapping[str, Judged]) -> None:
    """Write the results of a shard, by the name of the judge (a set or an epoch), as `.npz`, atomically."""
    arrays = {}
    for name, mine in judged.items():
        arrays[f"{name}/interventions"] = numpy.array([str(intervention) for intervention in mine], dtype=str)
        for metric in next(iter(mine.values()), ()):
            arrays[f"{name}/{metric}"] = numpy.stack([statistics[metric] for statistics in mine.values()])
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        numpy.savez(stream, **arrays)  # type: ignore[arg-type]


def read_shards(paths: Sequence[Path | str]) -> Mapping[str, Judged]:
    """Read the results of all shards, by the name of the judge.

    Raises:
        HeadroomError: If a file was not written by `write_shard`.
    """
    known: dict[str, dict[Intervention, Statistics]] = {}
    for path in paths:
        arrays = _arrays(path)
        for key in (key for key in arrays if key.endswith("/interventions")):
            name = key.removesuffix("/interventions")
            own = {other: arrays[other] for other in arrays if other.startswith(f"{name}/") and other != key}
            for row, written in enumerate(arrays[key]):
                statistics = {other.removeprefix(f"{name}/"): stored[row] for other, stored in own.items()}
                known.setdefault(name, {})[Intervention.parse(str(written))] = statistics
    return known


def _arrays(path: Path | str) -> dict[str, numpy.ndarray]:
    try:
        with numpy.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, EOFError, ValueError, BadZipFile) as error:
        raise HeadroomError(f"{path}: cannot read the shard; delete it and rerun its job") from error
