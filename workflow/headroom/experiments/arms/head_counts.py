"""Whether more heads are always better, with repulsion and without (An et al. 2020, section 4.2)."""

from dataclasses import dataclass

import pandas

from headroom.claims.verdict import Number, Reading, below
from headroom.core.statistics import estimate_mean
from headroom.experiments.arms.paired import common_runs, contrast, scores_by_seed
from headroom.study.arms import BASELINE, REPULSIVE, ArmDescription
from headroom.study.selection import last_epochs, main_metric, main_set, select_judged
from headroom.study.tables import StudyTables, arm_of


@dataclass(frozen=True)
class Sweep:
    """Arms that differ in nothing but their number of heads."""

    first: ArmDescription  # the one that the study names first; it represents the training method
    arms: dict[int, str]  # names of arms by the number of heads of a site, in rising order


def more_is_not_better(tables: StudyTables) -> list[Reading]:
    """Decide whether more heads are not always better, apart for every training method; all runs are judged at once."""
    return [one for sweep in sweeps(tables) if (one := read_sweep(tables, sweep))]


def sweeps(tables: StudyTables) -> list[Sweep]:
    """Return the ways to train, baseline or repulsive, that were tried with two numbers of heads or more."""
    numbers = heads_per_site(tables)
    scored = scores_by_seed(tables)
    found: dict[object, Sweep] = {}
    for arm in tables.described_arms:
        if arm.method in (BASELINE, *REPULSIVE) and arm.name in numbers and arm.name in scored:
            way = arm.method, arm.sites, arm.attention_dropout, arm.others
            sweep = found.setdefault(way, Sweep(arm, {}))
            sweep.arms.setdefault(numbers[arm.name], arm.name)
    return [Sweep(one.first, dict(sorted(one.arms.items()))) for one in found.values() if len(one.arms) > 1]


def heads_per_site(tables: StudyTables) -> dict[str, int]:
    """Return the number of heads that the largest site of every arm has: as scored, else as the arm is described."""
    said = {arm.name: arm.heads for arm in tables.described_arms if arm.heads}
    rows = last_epochs(tables.scores)
    if rows.empty:
        return said
    sites = rows.groupby([rows["run"].map(arm_of), "kind", "layer"])["head"].nunique()
    return said | {str(arm): int(number) for arm, number in sites.groupby(level=0).max().items()}


def by_number(tables: StudyTables) -> pandas.DataFrame:
    """Return the mean score over seeds by training method and number of heads: way, heads, arm, value, low, high."""
    scores = scores_by_seed(tables)
    return pandas.DataFrame(
        {"way": sweep.first.name, "heads": number, "arm": arm, **estimate_mean(scores[arm].to_numpy())._asdict()}
        for sweep in sweeps(tables)
        for number, arm in sweep.arms.items()
    )


def read_sweep(tables: StudyTables, sweep: Sweep) -> Reading | None:
    """Return the reading of a training method: the largest number of heads less the best of the others.

    The interval of the difference is corrected for the number of others. None if none of them shares a seed with the
    largest number.
    """
    *smaller, largest = sweep.arms
    scores = scores_by_seed(tables)
    paired = [number for number in smaller if contrast(scores, sweep.arms[largest], sweep.arms[number])]
    if not paired:
        return None
    best = max(paired, key=lambda number: float(scores[sweep.arms[number]].mean()))
    found = contrast(scores, sweep.arms[largest], sweep.arms[best], comparisons=len(paired))
    assert found is not None
    width, rows = sweep.first.width, select_judged(tables.evaluation)
    about = {"largest": _heads(largest, width), "best": _heads(best, width), "metric": main_metric(rows)}
    number = Number("largest_less_best", found, signed=True, about=about | {"set": main_set(rows)}, asked=below(0.0))
    runs = common_runs(tables, [sweep.arms[count] for count in (*paired, largest)])
    return Reading((number,), part=sweep.first.name, runs=runs)


def _heads(number: int, width: int | None) -> str:
    """Return a number of heads in words, with the width of each where that is known."""
    heads = "1 head" if number == 1 else f"{number} heads"
    return f"{heads} of {width // number} dimensions" if width else heads
