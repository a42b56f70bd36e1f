"""Measure the agreement of single-head ablation effects between evaluation sets."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core import ranks
from headroom.core.command import add_run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.heads import KINDS
from headroom.core.statistics import SEED, Estimate, harm
from headroom.core.table import signature
from headroom.experiments.ablation.table import ABLATION
from headroom.experiments.agreement.table import AGREEMENT

if TYPE_CHECKING:
    import pandas

NEAR_SETS = ("choose", "check", "test")
LEFT_OUT = ("exact",)
"""Metrics whose effects of single heads are too coarse to correlate."""
DROPPED = (0, 1, 2, 5, 10)
"""Numbers of omitted worst heads, to test whether the correlation depends on a few heads."""
OVERLAP_SIZES = (5, 10, 20)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("agreement", __doc__)
    add_run(parser)
    parser.add_argument("--ablation", required=True, type=Path, help="ablation table of this run")
    parser.add_argument("--output", required=True, type=Path, help="agreement table to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read one ablation table and write its agreement table."""
    given = build_parser().parse_args(arguments)
    ablation = ABLATION.read(given.ablation)
    named = {"study": given.study, "run": given.run}
    rows = agreement_rows(ablation, source=str(given.ablation))
    AGREEMENT.write(given.output, [named | row for row in rows])


def agreement_rows(ablation: pandas.DataFrame, *, source: str) -> Iterator[dict[str, Any]]:
    """Yield the agreement of every pair of sets of an ablation table, for all kinds together and each kind separately.

    Raises:
        HeadroomError: If no two sets are comparable, or a head has an effect on one set only.
    """
    pairs = set_pairs(list(dict.fromkeys(ablation["set"])))
    if not pairs:
        raise HeadroomError(f"{source}: fewer than two comparable sets; ablate heads on `test` and on one other set")
    for metric in (name for name in dict.fromkeys(ablation["metric"]) if name not in LEFT_OUT):
        for first, second in pairs:
            effects = _effects(ablation, metric=metric, pair=(first, second), source=source)
            for kind in ("all", *(kind for kind in KINDS if kind in set(effects["kind"]))):
                chosen = effects if kind == "all" else effects[effects["kind"] == kind]
                named = {"kind": kind, "set_a": first, "set_b": second, "metric": metric}
                yield from (named | row for row in _kind_rows(chosen))


def set_pairs(sets: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs to compare: `test` with every far set, and `choose` with `test`."""
    far = [name for name in sets if name not in NEAR_SETS]
    pairs = [("test", name) for name in far] + [("choose", "test")]
    return [pair for pair in pairs if set(pair) <= set(sets)]


def _effects(ablation: pandas.DataFrame, *, metric: str, pair: tuple[str, str], source: str) -> pandas.DataFrame:
    """Return one row per head in table order, with `harm_a` and `harm_b`: its harm on either set."""
    rows = ablation[(ablation["metric"] == metric) & (ablation["epoch"] == ablation["epoch"].max())]
    rows = rows.assign(harm=harm(metric, rows["delta"].to_numpy()))
    first, second = (rows[rows["set"] == name] for name in pair)
    merged = first.merge(second, on=["epoch", "kind", "layer", "head"], how="outer", suffixes=("_a", "_b"))
    unpaired = merged[["harm_a", "harm_b"]].isna().any(axis=1)
    if unpaired.any():
        odd = merged[unpaired].iloc[0]
        name = f"{odd['kind']}{odd['layer']}:{odd['head']}"
        raise HeadroomError(
            f"{source}: head {name} has no {metric} effect on both {pair[0]} and {pair[1]}; ablate it again"
        )
    order = merged["kind"].map({kind: place for place, kind in enumerate(KINDS)})
    return merged.assign(order=order).sort_values(["order", "layer", "head"], kind="stable")


def _kind_rows(effects: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the statistics of one kind of heads, with and without the worst heads."""
    first, second = effects["harm_a"].to_numpy(), effects["harm_b"].to_numpy()
    heads = len(first)
    for dropped in (count for count in DROPPED if heads - count >= ranks.FEWEST_HEADS):
        kept = ranks.without_highest(first, dropped)
        for statistic in ("pearson", "spearman"):
            found = ranks.correlation(statistic, first[kept], second[kept])
            yield _row(effects, found, statistic=statistic, dropped=dropped, k="", chance=0.0)
    for k in (size for size in OVERLAP_SIZES if size < heads):
        chance = ranks.chance_overlap(heads, k)
        found = ranks.overlap(first, second, k)
        yield _row(effects, found, statistic="overlap", dropped=0, k=k, chance=chance)


def _row(effects: pandas.DataFrame, found: Estimate, **values: Any) -> dict[str, Any]:
    """Return a row; its signature is that of the first set, with differing parts of the second marked `b-`."""
    first = effects.iloc[0]
    made = signature(interval="bootstrap-heads", bs=ranks.RESAMPLES, seed=SEED, heads=len(effects))
    known = first["signature_a"].split("|")
    other = [f"b-{part}" for part in first["signature_b"].split("|") if part not in known]
    return {"epoch": first["epoch"], **values, **found._asdict(), "signature": "|".join([*known, *other, made])}
