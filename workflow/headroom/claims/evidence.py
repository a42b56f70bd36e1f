"""What rules rest on: the runs of the baseline, each judged alone, their main order, points of a curve.

A rule is a function from the tables of one task to readings. Its keyword arguments are the thresholds of the claim's
entry, where the rule in words names them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, get_args

import numpy
import pandas
from numpy import ndarray

from headroom.claims.verdict import NO_LIMITS, Condition, Number, Reading, Rule, Unit
from headroom.core import formatting
from headroom.core.curves import area, kept_along, mean_curve
from headroom.core.statistics import Estimate, interval
from headroom.settings.labelled import Metric
from headroom.study.arms import BASELINE
from headroom.study.selection import (
    examples_in,
    main_criterion,
    main_metric,
    measurable,
    rows_where,
    select_judged,
    with_scale,
)
from headroom.study.tables import StudyTables, arm_of
from headroom.study.task_info import TASKS, kind_of_metric


def by_run(frame: pandas.DataFrame, tables: StudyTables) -> Iterator[pandas.DataFrame]:
    """Yield the rows of each run of the baseline."""
    for _, rows in frame[frame["run"].map(arm_of) == find_baseline_arm(tables)].groupby("run"):
        yield pandas.DataFrame(rows)


def find_baseline_arm(tables: StudyTables) -> str:
    """Return the name of the first arm of ordinary training, or else of the first arm of the task."""
    arms = tables.described_arms
    return next((arm.name for arm in arms if arm.method == BASELINE), arms[0].name if arms else "")


def find_lack_of_skill(tables: StudyTables, run: str) -> str:
    """Return how little a run of the baseline scores if its interval does not lie above chance; "" if it does.

    What heads do in a model that may know nothing is no evidence on any claim. Chance is the best score of a constant
    answer. A run whose score was not measured with an interval is not refused.
    """
    rows = select_judged(rows_where(tables.evaluation, run=run))
    judged = (select_judged(rows_where(frame, run=run)) for frame in (tables.ablation, tables.pruning))
    chance = next((float(own["chance"].iloc[0]) for own in judged if len(own)), math.nan)
    if rows.empty or arm_of(run) != find_baseline_arm(tables) or not rows["low"].iloc[0] <= chance:
        return ""
    score = formatting.estimate(*estimate_in(rows))
    return f"{SKILL}: it scores {score}, a constant answer {formatting.number(chance)}"


SKILL = "a score whose interval lies above chance"
"""The precondition of all claims that other trainings or sentences could change."""


def iterate_scaled_runs(tables: StudyTables, name: str) -> Iterator[pandas.DataFrame]:
    """Yield the rows of each run of the baseline in a table, with `scale` where there are scores above chance."""
    for rows in by_run(tables.frame(name), tables):
        yield with_scale(rows) if "chance" in rows else rows


Read = Callable[..., Reading | Sequence[Reading] | None]
"""What reads one run: one reading, several of its parts, or none if it lacks what is asked."""


def as_rule(rule: Rule, read: Read) -> Rule:
    """Return a rule with the name and text of the function that it applies, which has the thresholds as keywords."""
    made = wraps(read)(rule)
    tables = Parameter("tables", Parameter.POSITIONAL_OR_KEYWORD, annotation=StudyTables)
    thresholds = [one for one in signature(read).parameters.values() if one.kind is one.KEYWORD_ONLY]
    made.__annotations__ = {"tables": StudyTables, "return": list[Reading]}
    made.__signature__ = Signature([tables, *thresholds])  # type: ignore[attr-defined]
    return made


def each_run(name: str, *others: str, shares: bool = False) -> Callable[[Read], Rule]:
    """Make a rule, which judges each run of the baseline, of a function that reads one.

    Args:
        name: The table with the rows that the function is given.
        others: Further tables whose rows of the run it is given.
        shares: Whether the rule uses shares of the score: a model that scores no more than chance is not comparable
            then.
    """

    def rule_of(read: Read) -> Rule:
        def rule(tables: StudyTables, **thresholds: Any) -> list[Reading]:
            found: list[Reading] = []
            for rows in iterate_scaled_runs(tables, name):
                run = str(rows["run"].iloc[0])
                more = (rows_where(tables.frame(other), run=run) for other in others)
                examples = examples_in(select_judged(rows)) if "metric" in rows else 0
                readings = (refuse_without_skill(rows) if shares else None) or read(rows, *more, **thresholds) or ()
                own = [readings] if isinstance(readings, Reading) else readings
                found += [replace(one, run=run, examples=examples) for one in own]
            return found

        return as_rule(rule, read)

    return rule_of


def each_order(name: str, *others: str) -> Callable[[Callable[..., Reading | None]], Rule]:
    """Do as `each_run` for a function that reads a run by one order: the first of `orders_in` decides.

    The last number of a reading is how many orders agree with it. Curves are shares of the score.
    """

    def rule_of(read: Callable[..., Reading | None]) -> Rule:
        @wraps(read)
        def by_all(rows: pandas.DataFrame, *more: pandas.DataFrame, **thresholds: Any) -> Reading | None:
            found = [one for order in orders_in(rows) if (one := read(rows, order, *more, **thresholds))]
            return with_agreement(found) if found else None

        return each_run(name, *others, shares=True)(by_all)

    return rule_of


def with_agreement(found: Sequence[Reading]) -> Reading:
    """Return the first of the readings by several criteria, with the number of those of the same verdict."""
    same = sum(one.verdict == found[0].verdict for one in found)
    limits = (1.0, float(len(found)))
    alike = Number("same_verdict", Estimate(float(same)), "count", about={"criteria": len(found)}, limits=limits)
    return replace(found[0], numbers=(*found[0].numbers, alike))


def counts_labels(rows: pandas.DataFrame) -> bool:
    """Return whether the main metric of rows is one of labels."""
    return main_metric(rows) in get_args(Metric)


def has_skill(rows: pandas.DataFrame) -> bool:
    """Return whether one run's full model scores enough above chance for shares of it."""
    rows = select_judged(rows)
    return rows.empty or bool(measurable(rows).any())


def refuse_without_skill(rows: pandas.DataFrame) -> Reading | None:
    """Return the reading of a run whose score is too small for shares of it; None if it is not."""
    if has_skill(rows):
        return None
    rows = select_judged(rows)
    above, metric = float(rows["scale"].iloc[0]), main_metric(rows)
    name = "below_chance" if above < 0 and TASKS[kind_of_metric(metric)].above_chance else "above_chance"
    return Reading((Number(name, Estimate(abs(above)), about={"metric": metric}),), barrier=NO_SKILL)


NO_SKILL = "a score far enough above chance for shares of it"
"""The precondition of rules that use shares of the score."""


PAPERS_OWN = ("gradient-token", "layer")
"""The order of Michel et al. 2019: the gradient per token, as in their code, over the norm of the site's heads."""

CONTROLS = ("random", "reverse", "ablation")
"""Orders that are not criteria of importance."""


class Curve(NamedTuple):
    """What is kept of the score along the removal of heads."""

    removed: ndarray  # (points,) shares of the heads in scope that are removed, rising
    # (1 + samples, points) shares of the full score above chance; the first row is measured, the others are on
    # resamples of the examples, the same ones for all curves on one set
    kept: ndarray
    heads: float  # how many heads are in scope

    def at(self, share: float) -> ndarray | None:
        """Return (1 + samples,) what is kept at the point nearest to a share; None if none is within 0.1."""
        distance = numpy.abs(self.removed - share)
        return self.kept[:, int(distance.argmin())] if distance.min() <= 0.1 else None

    @property
    def area(self) -> ndarray:
        """The area under the curve and on every resample, (1 + samples,)."""
        return area(self.removed, self.kept)


def estimate(found: ndarray) -> Estimate:
    """Return a number with its interval from (1 + samples,) values, the measured one first."""
    return Estimate(float(found[0]), *interval(found[1:]))


def number(
    name: str,
    found: ndarray,
    unit: Unit = "share",
    *,
    signed: bool = False,
    chosen: Mapping[str, str] | None = None,
    asked: Condition | None = None,
    limits: tuple[float, float] = NO_LIMITS,
    **about: str | float,
) -> Number:
    """Return a number of a rule from (1 + samples,) values, the measured one first."""
    return Number(
        name,
        estimate(found),
        unit,
        signed=signed,
        about=about,
        chosen=chosen or {},
        asked=asked,
        limits=limits,
        resampled=found[1:],
    )


def main_curve(frame: pandas.DataFrame) -> Curve | None:
    """Return one run's curve by the order that claims are judged by: the first of `orders_in`; None without any."""
    orders = orders_in(rows_where(select_judged(frame), scope="all", ranking="fixed"))
    return curve_by(frame, orders[0]) if orders else None


def orders_in(rows: pandas.DataFrame) -> list[tuple[str, str]]:
    """Return the orders by a criterion that curves were run by, each with its normalisation.

    The paper's own comes first, then the main criterion of the configuration, raw, then the others as they come.
    """
    named = rows_where(rows, ranking="fixed")[["order", "normalised"]].drop_duplicates()
    names = [(str(name), str(way)) for name, way in named.itertuples(index=False) if name not in CONTROLS]
    first = [key for key in (PAPERS_OWN, (main_criterion(rows), "raw")) if key in names]
    gradients = [key for key in names if key[0].startswith("gradient")]
    return list(dict.fromkeys([*first, *gradients, *names]))


def curve_by(frame: pandas.DataFrame, order: tuple[str, str], scope: str = "all") -> Curve | None:
    """Return one run's curve by an order and its normalisation, the mean of its draws; None if it was not run.

    Raises:
        MissingResamplesError: If the table has no file of resamples.
    """
    name, normalised = order
    return build_curve(
        rows_where(select_judged(frame), scope=scope, ranking="fixed", order=name, normalised=normalised)
    )


def build_curve(rows: pandas.DataFrame) -> Curve | None:
    """Return the curve of one run's rows of one order, the mean of its draws; None without rows.

    Raises:
        MissingResamplesError: If the table has no file of resamples.
    """
    if rows.empty:
        return None
    return Curve(*mean_curve(rows), float(rows["heads_total"].iloc[0]))


def compute_kept(row: "pandas.Series[Any]") -> ndarray:
    """Return the share of the score that one row's model keeps, and the same on every resample, (1 + samples,).

    Raises:
        MissingResamplesError: If the row has none.
    """
    return kept_along(row.to_frame().T)[:, 0]


def estimate_in(rows: pandas.DataFrame, *columns: str) -> Estimate:
    """Return the first row's number with its interval, from `value`, `low`, `high` or other columns."""
    value, low, high = rows[list(columns or ("value", "low", "high"))].to_numpy(dtype=float)[0]
    return Estimate(float(value), float(low), float(high))
