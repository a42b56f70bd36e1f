"""Positional, syntactic and rare-word heads, and whether models agree in them (Voita et al. 2019, section 5)."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy
import pandas

from headroom.claims.evidence import each_run, estimate_in
from headroom.claims.verdict import Condition, Number, Reading, above, below, exactly
from headroom.core.statistics import Estimate, estimate_share, jackknife
from headroom.experiments.roles.claims import HEAD, SHUFFLED, TRAINED, UNTRAINED, best_heads, functions, select_held
from headroom.study.selection import examined_kind, last_epochs, main_metric, rows_where
from headroom.study.tables import StudyTables, task_of

NEIGHBOURS = ("-1", "+1")

ENDS = ("value", "low", "high")


@each_run("attention_stats")
def positional(rows: pandas.DataFrame, *, share: float, confident: float) -> Reading | None:
    """Decide whether some encoder head points to a neighbouring position, and does so with confidence."""
    heads, control = to_neighbours(rows), to_neighbours(rows, UNTRAINED)
    if heads.empty:
        return None
    numbers = [_amount("heads", heads, share, confident, above(0.5))]
    if len(control):
        numbers.append(_amount("untrained", control, share, confident, below(0.5)))
    numbers += [
        _amount("of_any_confidence", heads, share, 0.0),
        Number("nearest", estimate_in(heads, *(f"{end}_share" for end in ENDS)), "share", limits=(0.0, 1.0)),
        Number("confidence", estimate_in(heads), limits=(0.0, 1.0)),
    ]
    return Reading(tuple(numbers))


def to_neighbours(rows: pandas.DataFrame, model: str = TRAINED) -> pandas.DataFrame:
    """Return how often every encoder head of one run points to the token before or the one after.

    The larger of the two shares counts: `value_share`, `low_share` and `high_share`, exact for a count (Clopper and
    Pearson). The other columns are of the head's confidence. The head with the largest share comes first.
    """
    rows = rows_where(last_epochs(rows), model=model, kind="E", half="all")
    offsets = rows_where(rows, measure="offset")
    offsets = offsets[offsets["target"].isin(NEIGHBOURS)].sort_values("value", ascending=False, kind="stable")
    offsets = offsets.drop_duplicates(HEAD)
    exact = [estimate_share(value, count) for value, count in zip(offsets["value"], offsets["count"])]
    shares = pandas.DataFrame(exact, columns=list(ENDS), index=offsets.index)
    confidence = rows_where(rows, measure="confidence")[[*HEAD, *ENDS]]
    return offsets[HEAD].join(shares).merge(confidence, on=HEAD, suffixes=("_share", ""))


def _amount(
    name: str, heads: pandas.DataFrame, share: float, confident: float, asked: Condition | None = None
) -> Number:
    """Return how many heads point to a neighbour with confidence, with how many surely and possibly do."""
    counts = (((heads[f"{end}_share"] >= share) & (heads[end] > confident)).sum() for end in ENDS)
    found = Estimate(*map(float, counts))
    return Number(name, found, "count", asked=asked, limits=(0.0, math.inf), ends="bounds")


@each_run("attention_stats")
def syntactic(rows: pandas.DataFrame, *, margin: float) -> Reading | None:
    """Decide whether heads find syntactically related words more often than the most frequent position does."""
    found = mean_margin(rows, TRAINED)
    if found is None:
        return None
    untrained, shuffled = mean_margin(rows, UNTRAINED), mean_margin(rows, TRAINED, SHUFFLED)
    best = best_heads(rows_where(rows, model=TRAINED, trees="gold"))
    numbers = [_points("margin", found, above(0.0))]
    if untrained:
        numbers.append(_points("beyond_untrained", found.less(untrained), above(0.0)))
    numbers.append(Number("relations", syntactic_share(best, margin), "share", limits=(0.0, 1.0), ends="bounds"))
    if shuffled:
        numbers.append(_points("shuffled", shuffled))
    return Reading(tuple(numbers))


def _points(name: str, share: Estimate, asked: Condition | None = None) -> Number:
    return Number(name, share.times(100), signed=True, asked=asked)


def mean_margin(rows: pandas.DataFrame, model: str, trees: str = "gold") -> Estimate | None:
    """Return the mean margin of a model over relations and directions; None where none was measured.

    Its interval is that of one bootstrap for all relations. Tables that were written before have no such row: there
    the ends are the means of the margins' ends, which is not too narrow however the errors depend on each other.
    """
    rows = rows_where(last_epochs(rows), model=model, trees=trees)
    joint = rows_where(rows, measure="mean-margin")
    if len(joint):
        return estimate_in(joint)
    best = best_heads(rows)
    return Estimate(*(float(best[name].mean()) for name in ("margin", "low", "high"))) if len(best) else None


def syntactic_share(best: pandas.DataFrame, margin: float) -> Estimate:
    """Return the share of relations whose head has a margin, with the shares that surely and possibly do."""
    least = margin - 1e-9  # tolerance for the rounding of decimal fractions
    return Estimate(*(float((best[name] >= least).mean()) for name in ("margin", "low", "high")))


@each_run("attention_stats", "relevance")
def rare_words(rows: pandas.DataFrame, relevance: pandas.DataFrame, *, excess: float) -> Reading | None:
    """Decide whether a head of the first encoder layer points to rare words more often than chance does."""
    heads, untrained = rare_heads(rows), rare_heads(rows, UNTRAINED)
    if heads.empty:
        return None
    found = _beyond_chance(heads)
    numbers = [_points("excess", found, above(excess))]
    if len(untrained):
        numbers.append(_points("beyond_untrained", found.less(_beyond_chance(untrained)), above(0.0)))
    numbers.append(Number("best", estimate_in(heads), "share"))
    rank = compute_rank(int(heads["head"].iloc[0]), over_uniform(relevance))
    if rank == rank:
        numbers.append(Number("rank", Estimate(rank), "count"))
    return Reading(tuple(numbers))


def rare_heads(rows: pandas.DataFrame, model: str = TRAINED) -> pandas.DataFrame:
    """Return how often each head of one run's first layer points to one of the two rarest words.

    It is that of the encoder; of the decoder if there is no encoder.
    """
    rows = rows_where(last_epochs(rows), model=model, measure="rare", half="all", target="two-rarest", layer=1)
    rows = rows_where(rows, kind=examined_kind(rows["kind"]))
    bounds = {name: rows["baseline"] + rows[name] for name in ("low", "high")}
    return rows.assign(**bounds).sort_values("value", ascending=False, kind="stable")


def _beyond_chance(heads: pandas.DataFrame) -> Estimate:
    """Return how often the first head points to rare words, less chance."""
    return estimate_in(heads).plus(-float(heads["baseline"].iloc[0]))


def compute_rank(head: int, relevance: pandas.DataFrame) -> float:
    """Return the rank of a head of the first encoder layer by relevance, 1 for the highest; NaN without any."""
    first = rows_where(relevance, kind="E", layer=1)
    own = rows_where(first, head=head)["value"]
    return float((first["value"] > own.iloc[0]).sum() + 1) if len(own) else float("nan")


Halves = tuple[set[str], set[str]]
"""The functions that a model has on one half of the sentences, and on the other."""


def models_agree(tables: StudyTables, *, alike: float, margin: float) -> list[Reading]:
    """Decide whether models agree in the functions of their heads as far as one model agrees with itself."""
    examined = {*tables.attention_stats["run"], *tables.roles["run"]}
    runs = tuple(run for run in tables.runs if run in examined)
    if not runs:
        return []
    models = Number("models", exactly(float(len(runs))), "count")
    if any(arm.pretrained for arm in tables.described_arms):
        return [Reading((models,), runs=runs, barrier=ONE_ENCODER)]
    found = [functions_by_half(tables, run, margin) for run in runs]
    if math.isnan(agreement(found)):
        return [Reading((models,), runs=runs)]
    whole = jackknife(agreement(found), [agreement([*found[:one], *found[one + 1 :]]) for one in range(len(found))])
    in_all = set.intersection(*(functions(select_held(rows_where(tables.roles, run=run))) for run in runs))
    numbers = (
        Number("agreement", whole, "share", asked=above(alike), limits=(0.0, math.inf)),
        Number("common", Estimate(between(found)), "share"),
        Number("ceiling", Estimate(within(found)), "share"),
        Number("in_every_model", exactly(float(len(in_all))), "count"),
        models,
    )
    return [Reading(numbers, runs=runs)]


ONE_ENCODER = "models that learned their encoder apart: these start from one pretrained encoder"
"""The precondition of a comparison of models."""


def functions_by_half(tables: StudyTables, run: str, margin: float) -> Halves:
    """Return the functions of a run's model on both halves of the sentences.

    Relations are found on each half; positions and rare words, for which there are many more tokens, on all sentences.
    """
    others = {target for target in functions(select_held(rows_where(tables.roles, run=run))) if ":" not in target}
    rows = rows_where(last_epochs(rows_where(tables.attention_stats, run=run)), model=TRAINED, trees="gold")
    rows = rows_where(rows, measure="relation")
    rows = rows[(rows["value"] - rows["baseline"] > margin) & (rows["low"] > 0)]
    first, second = (others | set(rows_where(rows, half=half)["target"]) for half in ("choose", "score"))
    return first, second


def agreement(found: Sequence[Halves]) -> float:
    """Return how alike models are over how alike the halves of one are; NaN where that is not defined."""
    ceiling = within(found)
    return between(found) / ceiling if ceiling > 0 else math.nan


def between(found: Sequence[Halves]) -> float:
    """Return the mean likeness of one model on a half of the sentences and another one on the other half."""
    return _mean_likeness([pair for one, other in combinations(found, 2) for pair in zip(one, reversed(other))])


def within(found: Sequence[Halves]) -> float:
    """Return the mean likeness of the two halves of one model."""
    return _mean_likeness(found)


def _mean_likeness(pairs: Sequence[Halves]) -> float:
    """Return the mean over pairs, of which one has a function, of common functions over all functions (Jaccard)."""
    found = [len(first & second) / len(first | second) for first, second in pairs if first | second]
    return float(numpy.mean(found)) if found else math.nan


def reads_trees(tables: StudyTables, run: str, *, share: float) -> str:
    """Look whether a model understands the text of the trees: it scores there the share `share` of its score on test.

    Trees of the task's own text are understood, and any by an encoder that was pretrained on text of all kinds. Other
    models are judged by the far set `newstest`: the trees of other text are of news.
    """
    if tables.description(task_of(run)).own_trees or any(arm.pretrained for arm in tables.described_arms):
        return ""
    rows = rows_where(last_epochs(tables.evaluation), run=run)
    scores = rows_where(rows, metric=main_metric(rows)).set_index("set")["value"]
    news = [name for name in scores.index if name.startswith("newstest")]
    if not news or "test" not in scores:
        return "its score there was not measured"
    found = float(scores[news[0]] / scores["test"])
    return "" if found >= share else f"it scores {100 * found:.0f} % of it there"


@each_run("relevance")
def few_lead(rows: pandas.DataFrame, *, leads: float, most: float) -> Reading | None:
    """Decide whether relevance ranks a few heads of most encoder sites well above the rest."""
    shares = rows_where(over_uniform(rows), kind="E")
    if shares.empty:
        return None
    leading = leading_sites(shares, leads)
    sites = Number("sites", leading, "share", asked=above(most), limits=(0.0, 1.0), ends="bounds")
    return Reading((sites, Number("best", Estimate(float(shares["value"].max())))))


def over_uniform(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's relevance of every head over all sentences, `value`, `low` and `high` in even shares."""
    rows = rows_where(last_epochs(rows), measure="relevance", half="all")
    heads = rows.groupby(["kind", "layer"])["value"].transform("size")
    return rows.assign(**{name: rows[name] * heads for name in ("value", "low", "high")})


def leading_sites(rows: pandas.DataFrame, leads: float) -> Estimate:
    """Return the share of sites in which a head stands out, with the shares in which one surely and possibly does."""
    best = rows.groupby(["kind", "layer"])[["value", "low", "high"]].max()
    return Estimate(*(float((best[name] > leads).mean()) for name in ("value", "low", "high")))


def relevance_conserved(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether relevances add up to the logit, to within the share `most`."""
    rows = rows_where(last_epochs(rows_where(tables.relevance, run=run)), measure="conservation-error")
    error = float(rows["value"].max())
    if error != error:
        return "that was not measured"
    return "" if error <= most else f"they miss it by up to {100 * error:.2f} %"
