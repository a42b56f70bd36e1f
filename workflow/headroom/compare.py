"""What does an arm change? Metrics, pruning curves and head diversity of every arm against the first."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pandas
from scipy import stats

from headroom.ground.bootstrap import LOWER_IS_BETTER
from headroom.ground.command import run, stage_parser
from headroom.ground.errors import HeadroomError
from headroom.ground.tables import number, read_table, signature, write_table

COLUMNS = (
    "study", "statistic", "set", "metric", "arm", "baseline",
    "value", "low", "high", "p", "seeds", "signature",
)  # fmt: skip
EVALUATION_COLUMNS = ("run", "epoch", "set", "metric", "value", "low", "high", "signature")
CURVE_COLUMNS = (
    "run", "epoch", "scope", "order", "normalised", "ranking", "draw", "heads_removed", "heads_total",
    "set", "metric", "value", "full", "signature",
)  # fmt: skip
DIVERSITY_COLUMNS = ("run", "epoch", "measure", "value", "signature")

MAIN_ORDER = "gradient-example"
"""The order, raw and fixed, whose curve area has no suffix in its name."""


@dataclass(frozen=True)
class Replicates:
    """One quantity in every run: (seeds,) values by arm, indexed by seed, and how they were measured."""

    statistic: str
    difference: str
    set: str
    metric: str
    by_arm: dict[str, "pandas.Series[Any]"]
    signature: str
    within_run: dict[str, tuple[float, float]]


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("headroom.compare", "Compare arms, paired over seeds, with the first arm.")
    parser.add_argument("--study", required=True, help="name of the study, a column of the table")
    parser.add_argument("--arms", required=True, nargs="+", help="arms in order; the first is the reference")
    for table in ("evaluation", "curves", "diversity"):
        parser.add_argument(f"--{table}", nargs="+", type=Path, default=[], help=f"{table} tables of all runs")
    parser.add_argument("--output", required=True, type=Path, help="repulsion table to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the tables of all runs and write the table that compares arms."""
    given = build_parser().parse_args(arguments)
    quantities = [
        *evaluation_quantities(_read(given.evaluation, EVALUATION_COLUMNS, given.arms)),
        *curve_quantities(_read(given.curves, CURVE_COLUMNS, given.arms)),
        *diversity_quantities(_read(given.diversity, DIVERSITY_COLUMNS, given.arms)),
    ]
    rows = [{"study": given.study} | row for found in quantities for row in comparison_rows(found, given.arms)]
    write_table(given.output, rows, COLUMNS)


def evaluation_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield every metric on every evaluation set, at the last epoch."""
    for (name, metric), rows in _groups(_last_epoch(table), "set", "metric"):
        within = {
            arm: (float(group["low"].iloc[0]), float(group["high"].iloc[0]))
            for (arm,), group in _groups(rows, "arm")
            if len(group) == 1
        }
        yield Replicates("metric_mean", "metric_difference", name, metric, _by_arm(rows), _signature(rows), within)


def curve_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield the area under every curve over all kinds of heads, draws averaged within a run.

    Left out are metrics of which less is better: a share of the full model's loss has no ceiling.
    """
    rows = _last_epoch(table)
    rows = rows[(rows["scope"] == "all") & ~rows["metric"].isin(LOWER_IS_BETTER)]
    curves = ("order", "normalised", "ranking", "set", "metric")
    for (order, normalised, ranking, name, metric), curve in _groups(rows, *curves):
        draws = [
            {"arm": arm, "seed": int(seed), "value": curve_area(draw)}
            for (arm, seed, _), draw in _groups(curve, "arm", "seed", "draw")
        ]
        means = _mean_by_seed(pandas.DataFrame(draws))
        suffix = _curve_suffix(order, normalised, ranking)
        names = f"curve_area{suffix}", f"curve_area_difference{suffix}"
        yield Replicates(*names, name, metric, _by_arm(means), _signature(curve), {})


def diversity_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield every measure of head diversity at the last epoch, averaged over sites."""
    for (measure,), sites in _groups(_last_epoch(table), "measure"):
        names = f"diversity_mean_{measure}", f"diversity_difference_{measure}"
        yield Replicates(*names, "", "", _by_arm(_mean_by_seed(sites)), _signature(sites), {})


def curve_area(curve: pandas.DataFrame) -> float:
    """Return the area under one curve: the metric as a share of the full model's, over the share removed.

    A model that loses nothing until all heads are gone has area 1; one whose metric falls in a straight
    line to zero has 0.5. The area is divided by the share of heads that the curve reaches.
    """
    points = curve.sort_values("heads_removed")
    removed = (points["heads_removed"] / points["heads_total"]).to_numpy()  # (points,)
    kept = (points["value"] / points["full"]).to_numpy()  # (points,)
    if removed[0] > 0:
        removed, kept = numpy.r_[0.0, removed], numpy.r_[1.0, kept]
    if removed[-1] == 0:
        return float("nan")
    return float(numpy.trapezoid(kept, removed) / removed[-1])


def comparison_rows(found: Replicates, arms: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the mean of every arm, then its mean difference from the first arm, paired over seeds."""
    baseline = arms[0]
    for arm in (arm for arm in arms if arm in found.by_arm):
        values = found.by_arm[arm]
        yield _row(found, found.statistic, arm, "", values, within=found.within_run.get(arm))
    for arm in (arm for arm in arms[1:] if arm in found.by_arm and baseline in found.by_arm):
        paired = (found.by_arm[arm] - found.by_arm[baseline]).dropna()
        if len(paired):
            yield _row(found, found.difference, arm, baseline, paired, within=None)


def mean_interval(values: numpy.ndarray) -> tuple[float, float, float]:
    """Return the 95 % t-interval of the mean of (n,) values and the p of the mean being zero.

    NaN for fewer than two values; equal values have an interval of no width.
    """
    if len(values) < 2:
        return float("nan"), float("nan"), float("nan")
    mean = float(values.mean())
    error = float(values.std(ddof=1) / numpy.sqrt(len(values)))
    if error == 0:
        return mean, mean, 1.0 if mean == 0 else 0.0
    width = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return mean - width, mean + width, float(2 * stats.t.sf(abs(mean) / error, len(values) - 1))


def _row(
    found: Replicates,
    statistic: str,
    arm: str,
    baseline: str,
    values: "pandas.Series[Any]",
    *,
    within: tuple[float, float] | None,
) -> dict[str, Any]:
    low, high, p = mean_interval(values.to_numpy(dtype=numpy.float64))
    source = "t-seeds" if len(values) > 1 else "none"
    if within is not None and len(values) == 1:
        (low, high), source = within, "bootstrap-sentences"
    return {
        "statistic": statistic,
        "set": found.set,
        "metric": found.metric,
        "arm": arm,
        "baseline": baseline,
        "value": float(values.mean()),
        "low": low,
        "high": high,
        "p": p if baseline else float("nan"),
        "seeds": " ".join(str(seed) for seed in sorted(values.index)),
        "signature": f"{found.signature}|{signature(interval=source)}",
    }


def _read(paths: Sequence[Path], columns: Sequence[str], arms: Sequence[str]) -> pandas.DataFrame:
    """Read tables of many runs into one, with columns `arm` and `seed` and numbers as numbers."""
    frames = [_with_arm(read_table(path, columns), path, arms) for path in paths]
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return pandas.DataFrame(columns=[*columns, "arm", "seed"])
    table = pandas.concat(filled, ignore_index=True)
    numeric = [name for name in ("value", "low", "high", "full") if name in columns]
    return table.assign(**{name: number(table, name) for name in numeric})


def _with_arm(frame: pandas.DataFrame, path: Path, arms: Sequence[str]) -> pandas.DataFrame:
    """Add the arm and the seed that a run's name `<task>.<arm>.seed<k>` tells."""
    parts = frame["run"].astype(str).str.extract(r"^[^.]+\.(?P<arm>[^.]+)\.seed(?P<seed>\d+)$")
    bad = ~parts["arm"].isin(list(arms))
    if bad.any():
        raise HeadroomError(
            f"{path}: run '{frame['run'][bad].iloc[0]}' is of none of the arms {', '.join(arms)}"
            " (a run is named <task>.<arm>.seed<number>)"
        )
    return frame.assign(arm=parts["arm"], seed=parts["seed"].astype(int))


def _last_epoch(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of each run's last epoch."""
    return table[table["epoch"] == table.groupby("run")["epoch"].transform("max")]


def _groups(rows: pandas.DataFrame, *columns: str) -> Iterator[tuple[tuple[str, ...], pandas.DataFrame]]:
    """Yield the values of the columns, as text, and the rows that have them, in order of appearance."""
    for values, group in rows.groupby(list(columns), sort=False, dropna=False):
        yield tuple(str(value) for value in values), group


def _mean_by_seed(rows: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.DataFrame(rows.groupby(["arm", "seed"])["value"].mean().reset_index())


def _by_arm(rows: pandas.DataFrame) -> dict[str, "pandas.Series[Any]"]:
    return {str(arm): group.set_index("seed")["value"] for arm, group in rows.groupby("arm")}


def _curve_suffix(order: str, normalised: str, ranking: str) -> str:
    """Name a curve by what differs from the main one: "" or e.g. `_gradient-token.layer.rescored`."""
    variants = [part for part in (normalised, ranking) if part not in ("", "raw", "fixed")]
    return "" if order == MAIN_ORDER and not variants else "_" + ".".join([order, *variants])


def _signature(rows: pandas.DataFrame) -> str:
    return str(rows["signature"].iloc[0])


if __name__ == "__main__":
    run(main)
