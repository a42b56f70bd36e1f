"""Syntactic heads: the best head for every relation and direction, beside positions and controls."""

import pandas
from markupsafe import Markup

from headroom.claims.entries import threshold
from headroom.claims.roles import PLAIN, SHUFFLED, TRAINED, UNTRAINED, relations_of
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import MISSING, count, fixed, interval, listing, percent
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Table, table_of
from headroom.report.figures import pointing as figures
from headroom.report.keys import line_sample, mark_sample
from headroom.report.published import LANGUAGES, RELATIONS, SOURCES
from headroom.report.role_names import target_name


def exhibit(tables: StudyTables, run: str) -> Exhibit | None:
    """Return the paper's table 1 for one run; None if no relation was observed."""
    best = relations_of(tables.attention_stats, run, TRAINED)
    if best.empty:
        return None
    untrained = relations_of(tables.attention_stats, run, UNTRAINED)
    shuffled = relations_of(tables.attention_stats, run, TRAINED, SHUFFLED)
    finding = _finding(best, untrained, shuffled)
    return Exhibit(
        name="relations",
        rows=(Row("", (figures.relations(best, untrained, shuffled),)),),
        key=(
            Key(mark_sample("dot", "kind-e"), "best head"),
            Key(mark_sample("band", "kind-e"), "95 % of its margin"),
            Key(_bar_sample(), "most frequent position"),
            *((Key(mark_sample("frame", "control"), "untrained"),) if len(untrained) else ()),
            *((Key(mark_sample("cross", "control"), "shuffled trees"),) if len(shuffled) else ()),
        ),
        alt=finding,
        shows=finding,
        how="A → B: the head looks from word A and should point to word B. The head with the highest accuracy on one"
        " half of the data is judged on the other, so that the best of many is not flattered; the bar is what"
        " always pointing to the relation’s most frequent relative position would reach. Controls choose their own best"
        " heads in the same way.",
        tables=(_table(best, untrained, shuffled),),
        papers=(_paper(best), _languages()),
    )


def _bar_sample() -> Markup:
    return line_sample("ink")


def _finding(best: pandas.DataFrame, untrained: pandas.DataFrame, shuffled: pandas.DataFrame) -> str:
    """Say which relations a head was found for, and plainly which were not."""
    plain = best[best["margin"] >= PLAIN]
    margin = threshold("V4", "margin")
    some = best[(best["margin"] >= margin) & (best["margin"] < PLAIN)]
    missed = best[best["margin"] < margin]
    parts = [f"{len(plain) or 'None'} of {len(best)} relations and directions has a head at least 20 points better"]
    if len(plain) > 1:
        parts = [f"{len(plain)} of {len(best)} relations and directions have a head at least 20 points better"]
    parts = [f"{parts[0]} than the most frequent position{_named(plain)}."]
    if len(some):
        parts.append(f"With 10 to 20 points: {_list(some)}.")
    parts.append(f"Not found (below 10 points): {_list(missed)}." if len(missed) else "None is missing.")
    for control, words in ((untrained, "the untrained model"), (shuffled, "shuffled trees")):
        if len(control):
            highest = fixed(100 * control["margin"].max(), 1, signed=True)
            passing = int((control["margin"] >= margin).sum())
            parts.append(f"Of {words}, {passing or 'none'} passes 10 points (largest margin {highest}).")
    return " ".join(parts)


def _named(rows: pandas.DataFrame) -> str:
    return f" ({_list(rows)})" if len(rows) else ""


def _list(rows: pandas.DataFrame) -> str:
    return listing(f"{target_name(target)} {name}" for target, name in zip(rows["target"], rows["name"]))


def _margins(rows: pandas.DataFrame) -> dict[str, str]:
    return {target: fixed(100 * margin, 1, signed=True) for target, margin in zip(rows["target"], rows["margin"])}


def _table(best: pandas.DataFrame, untrained: pandas.DataFrame, shuffled: pandas.DataFrame) -> Table:
    by_untrained, by_shuffled = _margins(untrained), _margins(shuffled)
    frame = best.assign(
        shown=[
            f"{fixed(100 * row['margin'], 1, signed=True)} {interval(100 * row['low'], 100 * row['high'], most=1)}"
            for _, row in best.iterrows()
        ],
        untrained=[by_untrained.get(target, MISSING) for target in best["target"]],
        shuffled=[by_shuffled.get(target, MISSING) for target in best["target"]],
    )
    columns = [
        Column("target", "relation", target_name, numeric=False),
        Column("name", "best head", numeric=False),
        Column("value", "accuracy", lambda value: percent(value, 1)),
        Column("baseline", "most frequent position", lambda value: percent(value, 1)),
        Column("shown", "margin in points [95 %]"),
        Column("untrained", "untrained: margin"),
        Column("shuffled", "shuffled trees: margin"),
        Column("count", "words", count),
    ]
    caption = "best head per relation and direction, chosen on one half, judged on the other"
    return table_of(frame, columns, caption=caption, filename="relations.csv")


def _paper(best: pandas.DataFrame) -> Paper:
    ours = {row["target"]: _pair(100 * row["value"], 100 * row["baseline"]) for _, row in best.iterrows()}
    made = [
        (target_name(target), _pair(*wmt), _pair(*subtitles), ours.get(target, MISSING))
        for target, (wmt, subtitles) in RELATIONS.items()
    ]
    return Paper(
        caption="Accuracy of the best head / of the most frequent position, in %",
        headings=("relation", "paper, WMT", "paper, OpenSubtitles", "here"),
        rows=tuple(made),
        source=SOURCES["relations"],
    )


def _pair(value: float, baseline: float) -> str:
    return f"{fixed(value, 0)} / {fixed(baseline, 0)}"


def _languages() -> Paper:
    made = [(target_name(target), *map(str, values)) for target, *values in zip(RELATIONS, *LANGUAGES.values())]
    return Paper(
        caption="The paper’s best heads by target language, accuracy in %",
        headings=("relation", *LANGUAGES),
        rows=tuple(made),
        source=SOURCES["languages"],
    )
