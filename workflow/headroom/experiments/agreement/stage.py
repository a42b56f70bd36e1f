"""Compare lists of scores of the same heads: on several sets, in every epoch, by several criteria, by replacements.

Noise ceiling: no correlation of two noisy scores is expected above sqrt(r_1 r_2), with r the reliability of each. It is
estimated from scores on two halves of the examples, whose correlation r_half is that of half a set; of the whole set it
is 2 r_half / (1 + r_half) (Spearman-Brown). Criteria without scores on halves have none.

Effects by one replacement on the set that heads are chosen on are compared with those by another on the set that they
are judged on: the noise of the two is independent, which it is not on one set. So the correlation of a replacement with
itself on the two sets is the reliability of its ranks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from pydantic import Field

from headroom.core import ranks
from headroom.core.errors import HeadroomError
from headroom.core.heads import KINDS
from headroom.core.interventions import REPLACEMENTS
from headroom.core.statistics import SEED, harm
from headroom.core.table import signature
from headroom.experiments.ablation.declared import ABLATION
from headroom.experiments.agreement.criteria import Scored, read_criteria, values_of
from headroom.experiments.agreement.declared import AGREEMENT
from headroom.experiments.pruning.declared import MainSettings
from headroom.experiments.scores.declared import SCORES, SCORES_COMPARED, Rankings
from headroom.methods.criteria import REFERENCE
from headroom.settings.job import Files, RunJob

if TYPE_CHECKING:
    import pandas

Rows = Iterator[dict[str, Any]]

HEADS = ["kind", "layer", "head"]
CHOOSE = "choose"
NEAR_SETS = (CHOOSE, "check", "test")
LEFT_OUT = ("exact", "kl")
"""Metrics whose effects of single heads are too coarse to correlate, or are not about what is right."""
DROPPED = (0, 1, 2, 5, 10)
"""Numbers of omitted worst heads, to test whether the correlation depends on a few heads."""
OVERLAP_SIZES = (5, 10, 20)
OVERLAP_SHARES = (0.25, 0.5)
"""Sizes of the top lists of epochs, as shares of the heads of a kind."""


class Agreement(RunJob, Rankings):
    """Compare rankings of the heads of one run."""

    replaced: Files = Field([], description="ablation tables by other replacements")
    halves: Files = Field([], description="tables of effects on halves, of the stage ablation")
    compared: Files = Field(
        [], description="score tables of criteria that are compared with the ablation of single heads"
    )
    output: Path = Field(description="output table")
    pruning: MainSettings = MainSettings()


def run(job: Agreement) -> None:
    """Read the tables of one run and write how its rankings of heads agree."""
    named = {"study": job.study, "run": job.run}
    AGREEMENT.write(job.output, [named | row for row in compare_all(job)])


def compare_all(job: Agreement) -> Rows:
    """Yield every comparison that the tables allow: of sets, criteria and replacements only with an ablation."""
    if job.ablation:
        ablation = ABLATION.read_all(job.ablation)
        yield from compare_sets(ablation, source=str(job.ablation[0]))
        yield from compare_criteria(read_criteria(job, job.halves, job.pruning.main))
        yield from compare_replacements(ABLATION.read_all([*job.ablation, *job.replaced]))
    for path in job.scores:
        yield from compare_epochs(SCORES.read(path).query("half == 'all'"), source=str(path))
    if job.compared:
        yield from compare_with_reference(SCORES_COMPARED.read_all(job.compared))


def compare_sets(ablation: pandas.DataFrame, *, source: str) -> Rows:
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
            for kind, chosen in _by_kind(effects):
                about = {"between": "set", "a": first, "b": second, "kind": kind, "of": metric}
                about |= {"epoch": chosen["epoch"].iloc[0], "signature": _join_signatures(chosen)}
                yield from (_row(**about, **row) for row in _set_rows(chosen))


def set_pairs(sets: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs to compare: `test` with every far set, and `choose` with `test`."""
    far = [name for name in sets if name not in NEAR_SETS]
    pairs = [("test", name) for name in far] + [(CHOOSE, "test")]
    return [pair for pair in pairs if set(pair) <= set(sets)]


def compare_criteria(found: Sequence[Scored]) -> Rows:
    """Yield the agreement of every pair of criteria over all heads and the heads of each kind."""
    heads = sorted(found[0].scores)
    for kind in dict.fromkeys(["all", *(head.kind for head in heads)]):
        chosen = [head for head in heads if kind in ("all", head.kind)]
        for first, second in itertools.combinations(found, 2):
            if len(chosen) >= ranks.FEWEST_HEADS:
                lists = (values_of(one.scores, chosen) for one in (first, second))
                ceiling = math.sqrt(first.reliability(chosen) * second.reliability(chosen))
                parts = [
                    (mark, part) for mark, one in (("a", first), ("b", second)) for part in one.signature.split("|")
                ]
                marked = "|".join([*(f"{mark}-{part}" for mark, part in parts), _resampled()])
                about = {"between": "criterion", "a": first.name, "b": second.name, "kind": kind, "signature": marked}
                yield _row(**about, **_correlate("spearman", *lists), epoch=first.place[1], ceiling=ceiling)


def compare_with_reference(scores: pandas.DataFrame) -> Rows:
    """Yield the agreement of every criterion with the ablation of single heads by loss on the same examples."""
    halves = {
        (str(criterion), str(half)): rows.sort_values(HEADS)["value"].to_numpy(dtype=float)
        for (criterion, half), rows in scores.groupby(["criterion", "half"], sort=False)
    }

    def reliability(criterion: str) -> float:
        known = (criterion, "choose") in halves
        return ranks.reliability(*(halves[criterion, half] for half in ("choose", "score"))) if known else math.nan

    made = f"{scores['signature'].iloc[0]}|bs:{ranks.RESAMPLES}|seed:{SEED}"
    for criterion in dict.fromkeys(name for name, _ in halves if name != REFERENCE):
        about = {"between": "criterion", "a": criterion, "b": REFERENCE, "epoch": scores["epoch"].iloc[0]}
        found = _correlate("spearman", halves[criterion, "all"], halves[REFERENCE, "all"])
        ceiling = math.sqrt(reliability(criterion) * reliability(REFERENCE))
        yield _row(**about, **found, kind="all", ceiling=ceiling, signature=made)


def compare_replacements(ablation: pandas.DataFrame) -> Rows:
    """Yield the agreement of every pair of replacements; none if there is one replacement, or one set."""
    rows = ablation[ablation["epoch"] == ablation["epoch"].max()]
    rows = rows[rows["metric"] == rows["metric"].iloc[0]]
    test = next(name for name in ("test", "check", *rows["set"]) if name in set(rows["set"]))
    wide = rows.pivot_table(index=HEADS, columns=["replacement", "set"], values="delta").dropna()
    kinds = [kind for kind in REPLACEMENTS if kind in set(rows["replacement"])]
    if len(kinds) < 2 or test == CHOOSE or any((kind, name) not in wide for kind in kinds for name in (CHOOSE, test)):
        return

    def between(first: str, second: str) -> dict[str, Any]:
        sides = (wide[first, CHOOSE], wide[second, test])
        return _correlate("spearman", *(side.to_numpy(dtype=float) for side in sides))

    reliability = {kind: max(0.0, between(kind, kind)["value"]) for kind in kinds}
    about = {"between": "replacement", "kind": "all", "of": rows["metric"].iloc[0], "epoch": rows["epoch"].iloc[0]}
    for first, second in itertools.combinations(kinds, 2):
        found, ceiling = between(first, second), float(numpy.sqrt(reliability[first] * reliability[second]))
        if not math.isnan(found["value"]):
            marked = f"{rows['signature'].iloc[0]}|{_resampled()}"
            yield _row(**about, **found, a=first, b=second, ceiling=ceiling, signature=marked)


def compare_epochs(scores: pandas.DataFrame, *, source: str) -> Rows:
    """Yield the agreement of every epoch before the last with the last, for every criterion and kind.

    Raises:
        HeadroomError: If there are no scores, or epochs differ in their heads.
    """
    if scores.empty:
        raise HeadroomError(f"{source}: no scores; score at least one epoch")
    for (criterion, normalised), rows in scores.groupby(["criterion", "normalised"], sort=False):
        for kind, chosen in _by_kind(rows):
            table = _by_epoch(chosen, f"{source}, criterion {criterion}")
            last = max(table.columns)
            about = {"between": "epoch", "b": f"{last:g}", "kind": kind, "of": criterion, "normalised": normalised}
            about["signature"] = f"{rows['signature'].iloc[0]}|{signature(last_epoch=f'{last:g}')}|{_resampled()}"
            for epoch in sorted(table.columns)[:-1]:
                lists = table[epoch].to_numpy(), table[last].to_numpy()
                found = [_correlate(statistic, *lists) for statistic in ("spearman", "kendall")]
                found += [_overlap(*lists, k) for k in overlap_sizes(len(table))]
                yield from (_row(**about, **row, epoch=epoch, a=f"{epoch:g}") for row in found)


def overlap_sizes(heads: int) -> list[int]:
    """Return the sizes of the top lists for a number of heads: a quarter and a half, at least 1."""
    return sorted({max(1, round(share * heads)) for share in OVERLAP_SHARES})


def _row(**cells: Any) -> dict[str, Any]:
    return {"of": "", "normalised": "", "dropped": 0, "k": "", "chance": 0.0, "ceiling": math.nan} | cells


def _correlate(statistic: str, first: numpy.ndarray, second: numpy.ndarray) -> dict[str, Any]:
    return {"statistic": statistic, "heads": len(first), **ranks.correlation(statistic, first, second)._asdict()}


def _overlap(first: numpy.ndarray, second: numpy.ndarray, k: int) -> dict[str, Any]:
    chance, found = ranks.chance_overlap(len(first), k), ranks.overlap(first, second, k)
    return {"statistic": "overlap", "k": k, "chance": chance, "heads": len(first), **found._asdict()}


def _resampled() -> str:
    return signature(interval="bootstrap-heads", bs=ranks.RESAMPLES, seed=SEED)


def _by_kind(rows: pandas.DataFrame) -> Iterator[tuple[str, pandas.DataFrame]]:
    """Yield the rows of all heads, and of those of each kind."""
    yield "all", rows
    yield from ((kind, rows[rows["kind"] == kind]) for kind in KINDS if kind in set(rows["kind"]))


def _in_order(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows with the place of their kind in table order, `order`."""
    return rows.assign(order=rows["kind"].map({kind: place for place, kind in enumerate(KINDS)}))


def _effects(ablation: pandas.DataFrame, *, metric: str, pair: tuple[str, str], source: str) -> pandas.DataFrame:
    """Return one row per head in table order, with `harm_a` and `harm_b`: its harm on either set."""
    rows = ablation[(ablation["metric"] == metric) & (ablation["epoch"] == ablation["epoch"].max())]
    rows = rows.assign(harm=harm(metric, rows["delta"].to_numpy()))
    first, second = (rows[rows["set"] == name] for name in pair)
    merged = first.merge(second, on=["epoch", *HEADS], how="outer", suffixes=("_a", "_b"))
    unpaired = merged[["harm_a", "harm_b"]].isna().any(axis=1)
    if unpaired.any():
        odd = merged[unpaired].iloc[0]
        name = f"{odd['kind']}{odd['layer']}:{odd['head']}"
        raise HeadroomError(
            f"{source}: head {name} has no {metric} effect on both {pair[0]} and {pair[1]}; ablate it again"
        )
    return _in_order(merged).sort_values(["order", "layer", "head"], kind="stable")


def _set_rows(effects: pandas.DataFrame) -> Rows:
    """Yield the statistics of one kind of heads on two sets, with and without the worst heads."""
    first, second = effects["harm_a"].to_numpy(), effects["harm_b"].to_numpy()
    heads = len(first)
    for dropped in (count for count in DROPPED if heads - count >= ranks.FEWEST_HEADS):
        kept = ranks.without_highest(first, dropped)
        for statistic in ("pearson", "spearman"):
            yield _correlate(statistic, first[kept], second[kept]) | {"dropped": dropped, "heads": heads}
    yield from (_overlap(first, second, k) for k in OVERLAP_SIZES if k < heads)


def _join_signatures(effects: pandas.DataFrame) -> str:
    """Return the signature of the first set, with differing parts of the second marked `b-`."""
    known, other = (str(effects[f"signature_{side}"].iloc[0]).split("|") for side in "ab")
    return "|".join([*known, *(f"b-{part}" for part in other if part not in known), _resampled()])


def _by_epoch(rows: pandas.DataFrame, source: str) -> pandas.DataFrame:
    """Return scores as (heads, epochs), both in table order."""
    table = _in_order(rows).pivot(index=["order", "layer", "head"], columns="epoch", values="value")
    if table.isna().any(axis=None):
        epoch = table.columns[table.isna().any()][0]
        raise HeadroomError(f"{source}: epoch {epoch:g} has no score for some heads; score it again")
    return table.sort_index()
