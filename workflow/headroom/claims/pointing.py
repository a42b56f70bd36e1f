"""Positional, syntactic and rare-word heads, and whether models agree in them (Voita et al. 2019, section 5)."""

from itertools import combinations

import numpy
import pandas

from headroom.claims.evidence import each_run, estimate_in
from headroom.claims.relevance import over_uniform
from headroom.claims.roles import HEAD, SHUFFLED, TRAINED, UNTRAINED, best_heads, functions, held
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.study_tables import StudyTables, seed_of
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading, Verdict, above
from headroom.core.statistics import Estimate, counted_share

NEIGHBOURS = ("-1", "+1")


@each_run("attention_stats")
def positional(rows: pandas.DataFrame, *, share: float, confident: float) -> Reading | None:
    """Decide whether encoder heads point to a neighbouring position, and do so with confidence."""
    if rows_where(rows, measure="offset", model=TRAINED).empty:
        return None
    heads, control = positional_heads(rows, share), positional_heads(rows, share, UNTRAINED)
    numbers = [Number("heads", Estimate(float(len(heads))), "count")]
    if heads.empty:
        nearest = nearest_to_positional(rows)
        numbers.append(Number("nearest", nearest, "share"))
        return Reading(FAILS if nearest.high < share else Verdict(UNDECIDED, [(nearest, share)]), tuple(numbers))
    numbers.append(Number("least_confident", estimate_in(heads.sort_values("value"))))
    if len(control):
        numbers.append(Number("untrained", Estimate(float(len(control))), "count"))
        return Reading(UNDECIDED, tuple(numbers))
    sure = Estimate(*(float(heads[name].min()) for name in ("value", "low", "high")))
    return Reading(above(sure, confident), tuple(numbers))


def positional_heads(rows: pandas.DataFrame, share: float, model: str = TRAINED) -> pandas.DataFrame:
    """Return one run's encoder heads that point to a neighbour, with the interval of their confidence."""
    rows = rows_where(last_epochs(rows), model=model, kind="E", half="all")
    offsets = to_neighbours(rows)
    offsets = offsets[offsets["value"] >= share]
    confidence = rows_where(rows, measure="confidence")[[*HEAD, "value", "low", "high"]]
    return offsets[[*HEAD, "target", "value"]].merge(confidence, on=HEAD, suffixes=("_share", ""))


def to_neighbours(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of how often a head points to the piece before or after."""
    offsets = rows_where(rows, measure="offset")
    return offsets[offsets["target"].isin(NEIGHBOURS)]


def nearest_to_positional(rows: pandas.DataFrame) -> Estimate:
    """Return the largest share of pieces from which one run's encoder head points to a neighbour.

    Its interval is exact for a count (Clopper and Pearson), the highest of all heads above; without counts there is
    none.
    """
    offsets = to_neighbours(rows_where(last_epochs(rows), model=TRAINED, kind="E", half="all"))
    found = [counted_share(value, count) for value, count in zip(offsets["value"], offsets["count"])]
    best = max(found, default=Estimate(0.0, 0.0, 0.0))
    return best._replace(high=max((one.high for one in found), default=best.high))


@each_run("attention_stats")
def syntactic(rows: pandas.DataFrame, *, most: float, margin: float) -> Reading | None:
    """Decide whether most syntactic relations have a head that finds the related word."""
    gold = rows_where(rows, trees="gold")
    best, untrained = (best_heads(rows_where(gold, model=model)) for model in (TRAINED, UNTRAINED))
    if best.empty:
        return None
    shuffled = best_heads(rows_where(rows, model=TRAINED, trees=SHUFFLED))
    control = pandas.concat([untrained, shuffled], ignore_index=True)
    share = syntactic_share(best, control, margin)
    numbers = [Number("relations", share, "share"), _points("mean_margin", float(best["margin"].mean()))]
    if len(control):
        numbers.append(_points("largest_of_controls", float(control["margin"].max())))
    return Reading(above(share, most), tuple(numbers))


def _points(name: str, share: float) -> Number:
    """Return a margin in points."""
    return Number(name, Estimate(100 * share), signed=True)


def syntactic_share(best: pandas.DataFrame, control: pandas.DataFrame, margin: float) -> Estimate:
    """Return the share of relations and directions whose best head beats the most frequent position by a margin.

    The bounds use the ends of the margins' intervals. A relation that the control significantly passes does not count.
    """
    passed = set(control[control["low"] > margin]["target"])
    real = ~best["target"].isin(passed)
    return Estimate(*(float((real & (best[name] > margin)).mean()) for name in ("margin", "low", "high")))


@each_run("attention_stats", "relevance")
def rare_words(rows: pandas.DataFrame, relevance: pandas.DataFrame, *, rare: float) -> Reading | None:
    """Decide whether exactly one head of the first encoder layer, its most relevant, points to rare words."""
    heads = rare_heads(rows)
    if heads.empty:
        return None
    relevance = over_uniform(relevance)
    best, found = heads.iloc[0], estimate_in(heads)
    rank = rank_of(int(best["head"]), relevance)
    amount = Estimate(float((heads["value"] > rare).sum()))
    numbers = [Number("best", found, "share"), Number("heads", amount, "count")]
    if rank == rank:
        numbers.append(Number("rank", Estimate(rank), "count"))
    ahead = surely_ahead(int(best["head"]), relevance)
    return Reading(_rare_verdict(heads, rank, ahead, rare), tuple(numbers))


def rare_heads(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return how often each head of one run's first encoder layer points to one of the two rarest words."""
    rows = rows_where(last_epochs(rows), model=TRAINED, kind="E", measure="rare", half="all", target="two-rarest")
    rows = rows[rows["layer"] == 1]
    bounds = {name: rows["baseline"] + rows[name] for name in ("low", "high")}
    return rows.assign(**bounds).sort_values("value", ascending=False, kind="stable")


def surely_ahead(head: int, relevance: pandas.DataFrame) -> int:
    """Return how many heads of the first encoder layer are more relevant than one by intervals that do not overlap."""
    first = rows_where(relevance, kind="E", layer=1)
    own = rows_where(first, head=head)["high"]
    return int((first["low"] > own.iloc[0]).sum()) if len(own) else 0


def rank_of(head: int, relevance: pandas.DataFrame) -> float:
    """Return the rank of a head of the first encoder layer by relevance, 1 for the highest; NaN without any."""
    first = rows_where(relevance, kind="E", layer=1)
    own = rows_where(first, head=head)["value"]
    return float((first["value"] > own.iloc[0]).sum() + 1) if len(own) else float("nan")


def _rare_verdict(heads: pandas.DataFrame, rank: float, ahead: int, rare: float) -> str:
    surely, possibly = int((heads["low"] > rare).sum()), int((heads["high"] > rare).sum())
    if possibly == 0 or surely > 1 or (surely == 1 and ahead):
        return FAILS
    return HOLDS if surely == possibly == 1 and not rank > 1 else UNDECIDED


def models_agree(tables: StudyTables, *, alike: float) -> list[Reading]:
    """Decide whether models agree in the functions of their heads; all runs are judged at once.

    Models that start from one pretrained encoder have its functions: whether they agree is not decided.
    """
    found = functions_of_runs(tables)
    if not found or any(arm.pretrained for arm in tables.described_arms):
        return []
    held_by_all = set.intersection(*found.values())
    amount = Number("in_every_model", Estimate(float(len(held_by_all))), "count")
    pairs, seeds = likeness(found), len({seed_of(run) for run in found})
    if not pairs:
        return [Reading(UNDECIDED, (Number("models", Estimate(float(len(found))), "count"), amount), seeds=seeds)]
    common = Estimate(float(numpy.mean(pairs)), min(pairs), max(pairs))
    numbers = (Number("common", common, "share", about={"models": len(found)}), amount)
    verdict = str(above(common, alike))  # a range of pairs, not an interval: more seeds do not narrow it
    return [Reading(verdict, numbers, seeds=seeds)]


def functions_of_runs(tables: StudyTables) -> dict[str, set[str]]:
    """Return the functions held in every run that was examined, in the order of runs."""
    examined = {*tables.attention_stats["run"], *tables.roles["run"]}
    return {run: functions(held(rows_where(tables.roles, run=run))) for run in tables.runs if run in examined}


def likeness(found: dict[str, set[str]]) -> list[float]:
    """Return, for each pair of runs of which one has a function, common functions over all functions (Jaccard)."""
    pairs = [(first, second) for first, second in combinations(found.values(), 2) if first | second]
    return [len(first & second) / len(first | second) for first, second in pairs]
