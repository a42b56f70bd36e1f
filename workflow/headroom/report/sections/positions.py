"""Positional heads and the rare-word head."""

import pandas

from headroom.claims.pointing import rank_of, rare_heads
from headroom.claims.relevance import over_uniform
from headroom.claims.roles import HEAD, TRAINED, confidence, held
from headroom.claims.selection import heads_of, last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import MISSING, count, fixed, listing, percent, plural
from headroom.report.exhibits import Column, Exhibit, Paper, Table, table_of
from headroom.report.published import POSITIONAL, RARE, SOURCES
from headroom.report.role_names import target_name

MOST_SHOWN = 12


def exhibit(tables: StudyTables, run: str) -> Exhibit | None:
    """Return the heads that point to positions and to rare words; None if neither was observed."""
    steady, rare = steady_heads(tables, run), rare_heads(rows_where(tables.attention_stats, run=run))
    if steady.empty and rare.empty:
        return None
    made = []
    if len(steady):
        made.append(_positions_table(steady.head(MOST_SHOWN)))
    if len(rare):
        made.append(_rare_table(tables, run, rare))
    finding = " ".join(filter(None, [_positional_finding(tables, run, steady), _rare_finding(rare)]))
    return Exhibit(name="positions", shows=finding, tables=tuple(made), papers=(_paper(tables, run, rare),))


def steady_heads(tables: StudyTables, run: str) -> pandas.DataFrame:
    """Return every head with the relative position that it points to most, its share, and its confidence."""
    rows = rows_where(last_epochs(tables.attention_stats), run=run, model=TRAINED, measure="offset")
    most = rows.sort_values("value", ascending=False, kind="stable").drop_duplicates(HEAD)
    sure = confidence(tables.attention_stats, run)[[*HEAD, "value"]].rename(columns={"value": "confidence"})
    found = most.merge(sure, on=HEAD, how="left")
    return found.assign(name=[str(head) for head in heads_of(found)])


def _positional_finding(tables: StudyTables, run: str, steady: pandas.DataFrame) -> str:
    if steady.empty:
        return ""
    roles = rows_where(held(rows_where(tables.roles, run=run)), role="positional")
    if roles.empty:
        best = steady.iloc[0]
        return (
            f"No head is positional: {best['name']} comes nearest, with {percent(best['value'])} of pieces at position"
            f" {target_name(best['target'])}."
        )
    named = roles.assign(name=[str(head) for head in heads_of(roles)])
    sure = dict(zip(steady["name"], steady["confidence"]))
    heads = listing(
        f"{row['name']} ({target_name(row['target'])} for {percent(row['value'])} of pieces, confidence"
        f" {fixed(sure.get(row['name'], float('nan')))})"
        for _, row in named.iterrows()
    )
    return f"{plural(len(named), 'positional head')}: {heads}."


def _rare_finding(rare: pandas.DataFrame) -> str:
    if rare.empty:
        return ""
    best = rare.iloc[0]
    return (
        f"Of the first encoder layer, E1:{best['head']:.0f} points most to rare words: to one of the two rarest in"
        f" {percent(best['value'])} of cases, by chance {percent(best['baseline'])}."
    )


def _positions_table(steady: pandas.DataFrame) -> Table:
    columns = [
        Column("name", "head", numeric=False),
        Column("target", "position", target_name),
        Column("value", "share of pieces", lambda value: percent(value, 1)),
        Column("confidence", "confidence", fixed),
        Column("count", "pieces", count),
    ]
    caption = f"heads by their most frequent relative position, the {len(steady)} steadiest"
    return table_of(steady, columns, caption=caption, filename="positions.csv")


def _rare_table(tables: StudyTables, run: str, rare: pandas.DataFrame) -> Table:
    relevance = over_uniform(rows_where(tables.relevance, run=run))
    rarest = rows_where(
        last_epochs(tables.attention_stats), run=run, model=TRAINED, measure="rare", target="rarest", layer=1
    )
    shares = {int(head): value for head, value in zip(rarest["head"], rarest["value"])}
    first = rows_where(confidence(tables.attention_stats, run), kind="E", layer=1)
    ranks = dict(zip(first["head"], first["value"].rank(ascending=False, method="min")))
    frame = rare.assign(
        name=[str(head) for head in heads_of(rare)],
        rarest=[shares.get(int(head), float("nan")) for head in rare["head"]],
        by_relevance=[rank_of(int(head), relevance) for head in rare["head"]],
        by_confidence=[ranks.get(head, float("nan")) for head in rare["head"]],
    )
    columns = [
        Column("name", "head", numeric=False),
        Column("rarest", "to the rarest", lambda value: percent(value, 1)),
        Column("value", "to one of the two rarest", lambda value: percent(value, 1)),
        Column("baseline", "by chance", lambda value: percent(value, 1)),
        Column("by_relevance", "rank by relevance", count),
        Column("by_confidence", "rank by confidence", count),
    ]
    caption = "heads of the first encoder layer and rare words"
    return table_of(frame, columns, caption=caption, filename="rare-words.csv")


def _paper(tables: StudyTables, run: str, rare: pandas.DataFrame) -> Paper:
    roles = held(rows_where(tables.roles, run=run))
    positional = rows_where(roles, role="positional", kind="E")
    heads = len(confidence(tables.attention_stats, run).query("kind == 'E'"))
    sure = confidence(tables.attention_stats, run).merge(positional[HEAD], on=HEAD)["value"]
    ours = f"{len(positional.drop_duplicates(HEAD))} of {heads}"
    rows = (
        ("positional encoder heads", POSITIONAL["heads"], ours),
        ("their mean largest weight", POSITIONAL["confidence"], f"from {fixed(sure.min())}" if len(sure) else MISSING),
        (
            "rare-word head: to one of the two rarest",
            f"{RARE['two-rarest']} %",
            percent(rare.iloc[0]["value"]) if len(rare) else MISSING,
        ),
    )
    return Paper(
        caption="Positional heads and rare words", headings=("", "paper", "here"), rows=rows, source=SOURCES["roles"]
    )
