"""V3, V4 and V5: positional, syntactic and rare-word heads."""

import pandas

from headroom.claims.roles import HEAD, MARGIN, SHUFFLED, TRAINED, UNTRAINED, best_heads
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import readings
from headroom.report.claims.relevance import over_uniform
from headroom.report.claims.verdict import FAILS, HOLDS, UNDECIDED, Claim, Estimate, Measured, Reading, above

POSITIONAL = 0.9
"""A positional head points to one relative position for this share of words."""

NEIGHBOURS = ("-1", "+1")

CONFIDENT = 0.8
"""The paper's positional heads have a mean largest weight above this."""

MOST = 0.5

RARE = 0.5
"""A rare-word head points to one of the two rarest words in more than half of the sentences."""


def positional_heads(rows: pandas.DataFrame, model: str = TRAINED) -> pandas.DataFrame:
    """Return one run's encoder heads that point to a neighbour, with the interval of their confidence."""
    rows = rows_where(last_epochs(rows), model=model, kind="E", half="all")
    offsets = rows_where(rows, measure="offset")
    offsets = offsets[offsets["target"].isin(NEIGHBOURS) & (offsets["value"] >= POSITIONAL)]
    confidence = rows_where(rows, measure="confidence")[[*HEAD, "value", "low", "high"]]
    return offsets[[*HEAD, "target", "value"]].merge(confidence, on=HEAD, suffixes=("_share", ""))


def _read_positional(rows: pandas.DataFrame) -> Reading | None:
    if rows_where(rows, measure="offset", model=TRAINED).empty:
        return None
    heads, control = positional_heads(rows), positional_heads(rows, UNTRAINED)
    measured = [Measured("positional encoder heads: {}", Estimate(float(len(heads))), unit="count")]
    if heads.empty:
        return Reading(FAILS, tuple(measured))
    least = heads.sort_values("value").iloc[0]
    found = Estimate(float(least["value"]), float(least["low"]), float(least["high"]))
    measured.append(Measured("the least confident has a mean largest weight of {}", found))
    if len(control):
        words = "the untrained model has {} such heads"
        measured.append(Measured(words, Estimate(float(len(control))), unit="count"))
        return Reading(UNDECIDED, tuple(measured))
    sure = Estimate(*(float(heads[name].min()) for name in ("value", "low", "high")))
    return Reading(above(sure, CONFIDENT), tuple(measured))


def syntactic_share(best: pandas.DataFrame, control: pandas.DataFrame) -> Estimate:
    """Return the share of relations and directions whose best head beats the most frequent position by 10 points.

    The bounds count by the ends of the margins' intervals. A relation that the control passes surely does not count.
    """
    passed = set(control[control["low"] > MARGIN]["target"])
    real = ~best["target"].isin(passed)
    return Estimate(*(float((real & (best[name] > MARGIN)).mean()) for name in ("margin", "low", "high")))


def _read_syntactic(rows: pandas.DataFrame) -> Reading | None:
    gold = rows_where(rows, trees="gold")
    best, untrained = best_heads(rows_where(gold, model=TRAINED)), best_heads(rows_where(gold, model=UNTRAINED))
    if best.empty:
        return None
    shuffled = best_heads(rows_where(rows, model=TRAINED, trees=SHUFFLED))
    control = pandas.concat([untrained, shuffled], ignore_index=True)
    share = syntactic_share(best, control)
    margin, by_control = float(best["margin"].mean()), control["margin"].max()
    measured = [
        Measured("{} of relations and directions have a syntactic head", share, unit="share"),
        Measured("mean margin {} points", Estimate(100 * margin), signed=True),
    ]
    if len(control):
        measured.append(Measured("largest of the controls {}", Estimate(100 * float(by_control)), signed=True))
    return Reading(above(share, MOST), tuple(measured))


def rare_heads(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return how often each head of one run's first encoder layer points to one of the two rarest words."""
    rows = rows_where(last_epochs(rows), model=TRAINED, kind="E", measure="rare", half="all", target="two-rarest")
    rows = rows[rows["layer"] == 1]
    bounds = {name: rows["baseline"] + rows[name] for name in ("low", "high")}
    return rows.assign(**bounds).sort_values("value", ascending=False, kind="stable")


def rank_of(head: int, relevance: pandas.DataFrame) -> float:
    """Return the rank of a head of the first encoder layer by relevance, 1 for the highest; NaN without any."""
    first = rows_where(relevance, kind="E", layer=1)
    own = rows_where(first, head=head)["value"]
    return float((first["value"] > own.iloc[0]).sum() + 1) if len(own) else float("nan")


def _rare_reader(tables: StudyTables) -> list[Reading]:
    def read(rows: pandas.DataFrame) -> Reading | None:
        heads = rare_heads(rows)
        if heads.empty:
            return None
        relevance = over_uniform(rows_where(tables.relevance, run=rows["run"].iloc[0]))
        best = heads.iloc[0]
        found = Estimate(float(best["value"]), float(best["low"]), float(best["high"]))
        rank = rank_of(int(best["head"]), relevance)
        measured = [
            Measured("the best head points to one of the two rarest words in {}", found, unit="share"),
            Measured("heads that do so in more than half: {}", Estimate(_above_half(heads)), unit="count"),
        ]
        if rank == rank:
            measured.append(Measured("its rank by relevance in layer 1 is {}", Estimate(rank), unit="count"))
        return Reading(_rare_verdict(heads, rank), tuple(measured))

    return readings(tables, "attention_stats", read)


def _above_half(heads: pandas.DataFrame) -> float:
    return float((heads["value"] > RARE).sum())


def _rare_verdict(heads: pandas.DataFrame, rank: float) -> str:
    surely, possibly = int((heads["low"] > RARE).sum()), int((heads["high"] > RARE).sum())
    if possibly == 0 or surely > 1 or (surely == 1 and rank > 1):
        return FAILS
    return HOLDS if surely == possibly == 1 else UNDECIDED


def _positional(tables: StudyTables) -> list[Reading]:
    return readings(tables, "attention_stats", _read_positional)


def syntactic_readings(tables: StudyTables) -> list[Reading]:
    """Return what each run says about syntactic heads: the share of relations that have one."""
    return readings(tables, "attention_stats", _read_syntactic)


CLAIMS = (
    Claim(
        id="V3",
        claim="Some encoder heads point to a neighbouring position, and do so with confidence.",
        paper={
            "translation": "4 to 6 of 48 heads at ±1 for at least 90 % of words, every one with a mean largest weight"
            " above 0.8; no control",
            "classification": "examined on translation only: 4 to 6 of 48 encoder heads, each above 0.8",
        },
        rule="A head is positional if its largest weight lies on the word before, or on the word after, for at least"
        " 90 % of words. Does not hold if there is none. Else holds if every such head’s mean largest weight has its"
        " 95 % interval above 0.8, does not hold if the interval of one lies below; else undecided. Undecided too if"
        " the untrained model has such heads.",
        section="roles",
        read=_positional,
    ),
    Claim(
        id="V4",
        claim="For most syntactic relations a head finds the related word more often than its usual position does, by"
        " 10 points or more.",
        paper={
            "translation": "English-Russian, WMT: 5 of 8 relations and directions by at least 10 points (OpenSubtitles:"
            " 4); chosen and judged on the same sentences, no control",
            "classification": "examined on translation only: 5 of 8 by at least 10 points",
        },
        rule="For each relation and direction the head with the highest accuracy on one half of the sentences is judged"
        " on the other half, against the relation’s most frequent relative position. The share of relations whose"
        " margin is above 10 points, with bounds by the ends of the margins’ 95 % intervals (bootstrap over sentences);"
        " a relation for which the untrained model or shuffled trees surely pass does not count. Holds if the lower"
        " bound is above 50 %, does not hold if the upper bound is below; else undecided.",
        section="roles",
        read=syntactic_readings,
    ),
    Claim(
        id="V5",
        claim="Exactly one head of the first layer, its most relevant, points to rare words.",
        paper={
            "translation": "one head in every model: 66 % to the rarest word and 83 % to one of the two rarest"
            " (OpenSubtitles), more than 50 % to one of the two (WMT)",
            "classification": "examined on translation only: one head, 83 % to one of the two rarest words",
        },
        rule="Heads of encoder layer 1 whose largest weights lie on one of the two rarest words of the sentence in more"
        " than half of the cases. Holds if the 95 % interval of exactly one head is above 50 %, those of all others"
        " are below, and it has the highest relevance of its layer (where relevance was computed). Does not hold if all"
        " intervals are below, two or more are above, or the one head is not the most relevant; else undecided.",
        section="roles",
        read=_rare_reader,
    ),
)
