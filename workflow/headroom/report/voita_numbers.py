"""Our numbers beside the key numbers of the second paper's exhibits, each of one task, of the run shown first."""

import pandas

from headroom.claims.entries import threshold
from headroom.claims.evidence import scaled_by_run
from headroom.claims.gates import scratch_differences
from headroom.claims.gating import HARD_CONCRETE, encoder_scope, hard, models
from headroom.claims.metrics import metric_points
from headroom.claims.pointing import functions_of_runs
from headroom.claims.relevance import over_uniform
from headroom.claims.roles import ROLES, confidence, main_roles, relations_of, role_of
from headroom.claims.selection import heads_of, last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.survival import decisive, survivors
from headroom.core.formatting import count, estimate, fixed, listing, number, percent, plural
from headroom.core.statistics import mean_of
from headroom.report.names import run_name
from headroom.report.role_names import target_name
from headroom.report.sections.retention import kept, layer_groups

PAPER_REMOVED = 60.0
"""Share (%) of all heads that is gone from the model with 58 of 144 heads."""


def _run(tables: StudyTables, name: str) -> str:
    """Return the first run of the study that has rows in a table; "" without any."""
    present = set(tables.frame(name)["run"])
    return next((run for run in tables.runs if run in present), "")


def relevance(tables: StudyTables) -> str:
    """Return the smallest and the largest relevance of an encoder head."""
    rows = rows_where(over_uniform(rows_where(tables.relevance, run=_run(tables, "relevance"))), kind="E")["value"]
    return f"{number(rows.min(), 2)} to {number(rows.max(), 2)} times an even share" if len(rows) else ""


def confidences(tables: StudyTables) -> str:
    """Return the smallest and the largest mean largest weight of an encoder head."""
    rows = rows_where(confidence(tables.attention_stats, _run(tables, "attention_stats")), kind="E")["value"]
    return f"{fixed(rows.min())} to {fixed(rows.max())}" if len(rows) else ""


def roles(tables: StudyTables) -> str:
    """Return how many encoder heads hold which role."""
    run = _run(tables, "roles") or _run(tables, "attention_stats")
    encoder = [head for head in heads_of(confidence(tables.attention_stats, run)) if head.kind == "E"]
    if not encoder or not tables.given("roles"):
        return ""
    targets = main_roles(tables, run)
    kinds = [role_of(head, targets) for head in encoder]
    parts = [f"{kinds.count(role)} {role}" for role in (*ROLES, "several") if kinds.count(role)]
    holding = len(kinds) - kinds.count("unknown")
    return f"{holding} of {count(len(kinds))} heads with a role" + (f": {', '.join(parts)}" if parts else "")


def roles_of_others(tables: StudyTables) -> str:
    """Return how many functions every run has."""
    found = functions_of_runs(tables)
    if len(found) < 2:
        return ""
    return listing(f"{len(own)} functions ({run_name(run)})" for run, own in list(found.items())[:4])


def positions(tables: StudyTables) -> str:
    """Return how often related words stand at their most frequent relative position."""
    best = relations_of(tables.attention_stats, _run(tables, "attention_stats"))
    parts = [f"{target_name(target)} {percent(value)}" for target, value in zip(best["target"], best["baseline"])]
    return f"at the most frequent position: {', '.join(parts[:4:2])}" if parts else ""


def relations(tables: StudyTables) -> str:
    """Return for how many relations a head beats the most frequent position by 10 points."""
    best = relations_of(tables.attention_stats, _run(tables, "attention_stats"))
    margin = threshold("V4", "margin")
    passing = int((best["margin"] >= margin).sum())
    return f"{passing} of {len(best)} by at least {100 * margin:.0f} points" if len(best) else ""


def largest_margin(tables: StudyTables) -> str:
    """Return the relation whose best head has the largest margin."""
    best = relations_of(tables.attention_stats, _run(tables, "attention_stats"))
    if best.empty:
        return ""
    row = best.sort_values("margin", ascending=False).iloc[0]
    return f"largest margin {fixed(100 * row['margin'], 0)} points ({target_name(row['target'])})"


def maps(tables: StudyTables) -> str:
    """Return which heads can be looked at."""
    heads = list(dict.fromkeys(str(one.head) for one in tables.maps))
    return f"maps of {listing(heads)}" if heads else ""


def decided(tables: StudyTables) -> str:
    """Return which share of the gates is decided."""
    rows = rows_where(_first(tables), method=HARD_CONCRETE)
    return f"{percent(1 - rows['undecided'].sum() / rows['heads'].sum())} of our gates end decided" if len(rows) else ""


def _first(tables: StudyTables) -> pandas.DataFrame:
    """Return the hard models of the run shown first, with `scale`."""
    run = _run(tables, "pruned_models")
    found = [rows for rows in scaled_by_run(tables, "pruned_models") if set(rows["run"]) == {run}]
    return hard(found[0]) if found else tables.pruned_models


def encoder(tables: StudyTables) -> str:
    """Return the loss of the largest model with at most a quarter of the encoder's heads."""
    rows = _first(tables)
    return _loss(rows, encoder_scope(rows), threshold("V7", "most")) if len(rows) else ""


def _loss(rows: pandas.DataFrame, scope: str, most: float) -> str:
    swept = models(rows, HARD_CONCRETE, scope)
    small = swept[swept["kept"] <= most * swept["heads"]]
    if small.empty:
        return f"no model keeps at most {percent(most)} of the heads" if len(swept) else ""
    row = small.iloc[0]
    change = estimate(row["delta"], row["low"], row["high"], signed=True, most=2)
    return f"{row['kept']:.0f} of {row['heads']:.0f} heads: {change} {metric_points(row['metric'])}"


def survival(tables: StudyTables) -> str:
    """Return how many heads with a role survive, beside chance."""
    run = _run(tables, "gates")
    found = survivors(rows_where(tables.gates, run=run), main_roles(tables, run), HARD_CONCRETE)
    one = decisive(found)
    if one is None:
        return "nothing to count: no setting with heads with a role" if found else ""
    held = f"{one.found} of {len(one.specialised)} with a role"
    return f"{len(one.kept)} of {len(one.heads)} heads kept: {held} (by chance {fixed(one.expected, 1)})"


def layouts(tables: StudyTables) -> str:
    """Return the loss with at most half of all heads, and what the same layouts from scratch have less."""
    rows = _first(tables)
    parts = [_loss(rows, "all", threshold("V10", "most"))] if len(rows) else []
    by_run = scratch_differences(tables)
    if by_run:
        gain = mean_of([float(both["gain"].mean()) for both in by_run.values()])
        number_of = plural(sum(both["setting"].nunique() for both in by_run.values()), "layout")
        parts.append(f"pruned less from scratch {estimate(*gain, signed=True, most=2)} (mean of {number_of})")
    return "; ".join(filter(None, parts))


def _swept(tables: StudyTables) -> pandas.DataFrame:
    rows = rows_where(last_epochs(tables.gates), run=_run(tables, "gates"), scope="all")
    return rows_where(rows, method=HARD_CONCRETE)


def _nearest(found: pandas.DataFrame) -> str:
    """Return the shares kept where the share removed is nearest to that of the paper's model with 58 of 144 heads."""
    distance = (found["removed"] - PAPER_REMOVED).abs()
    near = found[distance == distance.min()].drop_duplicates("group")
    shares = ", ".join(f"{row['group']} {row['kept']:.0f} %" for _, row in near.iterrows())
    return f"at {near['removed'].iloc[0]:.0f} % removed: {shares}"


def kinds(tables: StudyTables) -> str:
    """Return what is kept of each kind."""
    rows = _swept(tables)
    return _nearest(kept(rows.assign(group=rows["kind"]))) if rows["kind"].nunique() > 1 else ""


def layers(tables: StudyTables) -> str:
    """Return what is kept of the decoder's layers."""
    rows = _swept(tables)
    parts = [kept(layer_groups(own), rows) for kind in ("D", "A") if len(own := rows_where(rows, kind=kind))]
    return _nearest(pandas.concat(parts)) if parts else ""
