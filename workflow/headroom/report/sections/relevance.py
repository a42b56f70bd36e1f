"""Relevance of heads, layer by layer, with what they do."""

import numpy
import pandas

from headroom.claims.entries import threshold
from headroom.claims.relevance import conservation_error, leading_sites, over_uniform
from headroom.claims.roles import main_roles
from headroom.claims.selection import heads_of, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import MISSING, fixed, interval, number, percent
from headroom.core.heads import KINDS, Head
from headroom.report import palette
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Table, table_of
from headroom.report.figures import pointing as figures
from headroom.report.keys import line_sample, mark_sample
from headroom.report.published import RELEVANCE, SOURCES
from headroom.report.role_names import letters, target_name

_FORMS = {"E": "dot", "A": "square", "D": "triangle"}


def exhibit(tables: StudyTables, run: str) -> Exhibit | None:
    """Return the paper's figures 1a and 2 for one run; None if relevance was not computed."""
    own = rows_where(tables.relevance, run=run)
    rows = over_uniform(own)
    if rows.empty:
        return None
    targets = main_roles(tables, run)
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    finding = _finding(own, rows, targets)
    return Exhibit(
        name="relevance",
        rows=tuple(_panel(rows_where(rows, kind=kind), targets, kind) for kind in kinds),
        key=(Key(line_sample("ink", "5 3"), "even share"),),
        alt=finding,
        shows=finding,
        how="Relevance is what layer-wise relevance propagation credits a head with for the model’s first choice, as a"
        " share of its site, averaged over steps. An even share is 1 on this scale. Letters name roles as above; heads"
        " without one are hollow.",
        tables=(_table(rows, targets),),
        papers=(_paper(rows),),
    )


def _panel(rows: pandas.DataFrame, targets: dict[Head, list[str]], kind: str) -> Row:
    named = {head: letters(own) for head, own in targets.items() if head.kind == kind}
    sample = Key(mark_sample(_FORMS[kind], palette.KIND_COLOURS[kind].variable), "a head")
    return Row(f"{kind} {palette.KIND_NAMES[kind]}", (figures.relevance(rows, named, kind=kind),), (sample,))


def _finding(own: pandas.DataFrame, rows: pandas.DataFrame, targets: dict[Head, list[str]]) -> str:
    best = rows.sort_values("value", ascending=False).iloc[[0]]
    leads = threshold("V1", "leads")
    sites = leading_sites(rows, leads)
    text = (
        f"In {percent(sites.value)} of the sites a head has more than {leads:g} times an even share of the relevance;"
        f" {heads_of(best)[0]} leads with {number(best['value'].iloc[0])} times."
    )
    encoder = rows_where(rows, kind="E")
    ranks = encoder.groupby("layer")["value"].rank(ascending=False, method="min")
    roles = numpy.array([head in targets for head in heads_of(encoder)], dtype=bool)
    top = ranks <= encoder.groupby("layer")["value"].transform("size") / 2
    if roles.any():
        upper = int((top & roles).sum())
        text += f" Of {roles.sum()} encoder heads with a role, {upper} are in the more relevant half of their layer."
    error = conservation_error(own)
    if error == error:
        words = f"{100 * error:.2g}" if error >= 1e-4 else number(100 * error, 1)
        text += f" Relevances add up to the logit within {words} %."
    return text


def _table(rows: pandas.DataFrame, targets: dict[Head, list[str]]) -> Table:
    heads = heads_of(rows)
    frame = rows.drop(columns=["study", "epoch", "signature"]).assign(
        name=[str(head) for head in heads],
        shown=[f"{fixed(row['value'])} {interval(row['low'], row['high'], most=2)}" for _, row in rows.iterrows()],
        rank=rows.groupby(["kind", "layer"])["value"].rank(ascending=False, method="min"),
        does=[", ".join(map(target_name, targets.get(head, []))) or MISSING for head in heads],
    )
    columns = [
        Column("name", "head", numeric=False),
        Column("shown", "relevance in even shares [95 %]"),
        Column("rank", "rank in its site", lambda value: f"{value:.0f}"),
        Column("does", "points to", numeric=False),
    ]
    return table_of(frame, columns, caption="relevance of every head", filename="relevance.csv")


def _paper(rows: pandas.DataFrame) -> Paper:
    encoder = rows_where(rows, kind="E")["value"]
    even = RELEVANCE["even share"]
    made = tuple(
        (f"{name} of an encoder head", number(RELEVANCE[name] / even, 2), number(float(getattr(encoder, which)()), 2))
        for name, which in (("largest", "max"), ("smallest", "min"))
    )
    return Paper(
        caption="Relevance in even shares", headings=("", "paper", "here"), rows=made, source=SOURCES["relevance"]
    )
