"""Whether more heads are always better, with repulsion and without (An et al. 2020, section 4.2)."""

from dataclasses import dataclass

import pandas

from headroom.claims.arms import BASELINE, REPULSIVE, ArmDescription
from headroom.claims.evidence import judged
from headroom.claims.paired import common_seeds, difference_of, scores_by_seed
from headroom.claims.selection import last_epochs, main_metric, main_set
from headroom.claims.study_tables import StudyTables, arm_of
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading
from headroom.core.statistics import Estimate, mean_of


@dataclass(frozen=True)
class Sweep:
    """Arms that differ in nothing but their number of heads."""

    first: ArmDescription  # the one that the study names first; it represents the training method
    arms: dict[int, str]  # names of arms by the number of heads of a site, in rising order


def more_is_not_better(tables: StudyTables) -> list[Reading]:
    """Decide whether more heads are not always better; all runs are judged at once."""
    read = {tuple(sweep.arms.values()): read_sweep(tables, sweep) for sweep in sweeps(tables)}
    found = {arms: one for arms, one in read.items() if one is not None}
    if not found:
        return []
    verdicts, numbers = zip(*found.values())
    seen = {verdict for verdict in verdicts if verdict != UNDECIDED}
    seeds = min(common_seeds(tables, arms) for arms in found)
    return [Reading(seen.pop() if len(seen) == 1 else UNDECIDED, tuple(numbers), seeds=seeds)]


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
        {"way": sweep.first.name, "heads": number, "arm": arm, **mean_of(scores[arm].to_numpy())._asdict()}
        for sweep in sweeps(tables)
        for number, arm in sweep.arms.items()
    )


def read_sweep(tables: StudyTables, sweep: Sweep) -> tuple[str, Number] | None:
    """Return the verdict of a training method, and the difference of the largest number from the best of the others.

    The interval of the difference is corrected for the number of others. None if none of them shares a seed with the
    largest number.
    """
    *smaller, largest = sweep.arms
    means = {number: float(scores_by_seed(tables)[arm].mean()) for number, arm in sweep.arms.items()}
    less = {
        number: (
            difference_of(tables, sweep.arms[largest], sweep.arms[number], comparisons=len(smaller)),
            difference_of(tables, sweep.arms[largest], sweep.arms[number]),
        )
        for number in smaller
    }
    known = {number: (wide, plain) for number, (wide, plain) in less.items() if wide and plain}
    if not known:
        return None
    best = max(known, key=lambda number: means[number])
    wide = known[best][0]
    rows = judged(tables.evaluation)
    about: dict[str, str | float] = {"arm": sweep.first.name, "largest": largest, "best": best}
    about |= {"metric": main_metric(rows), "set": main_set(rows)}
    verdict = _verdict(wide, [plain for _, plain in known.values()])
    return verdict, Number("largest_less_best", wide, signed=True, about=about)


def _verdict(best: Estimate, others: list[Estimate]) -> str:
    if best.high < 0:
        return HOLDS
    return FAILS if all(one.low > 0 for one in others) else UNDECIDED
