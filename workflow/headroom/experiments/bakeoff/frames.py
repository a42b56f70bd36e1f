"""Criteria compared, as rows: every order with its statistics and cost, and layouts before and after training."""

import pandas

from headroom.methods.criteria import REFERENCE
from headroom.methods.orders import CONTROLS
from headroom.study.selection import rows_where, select_judged, with_shares
from headroom.study.tables import StudyTables

WAY = ["order", "ranking", "repair"]
"""The columns that tell curves of the comparison of criteria apart."""

LEAST = 0.01
"""Where criteria without any pass are drawn, in passes, on the logarithmic axis of the cost."""


def tabulate_orders(view: StudyTables) -> pandas.DataFrame:
    """Return a row per order, ranking and repair of a task, about all runs together, a column per statistic.

    The area and the difference from random orders have columns with the ends of their intervals. The correlation with
    the ablation of single heads and its ceiling are means over runs.
    """
    rows = rows_where(view.bakeoff, run="")
    wide = rows.pivot(index=WAY, columns="statistic", values="value")
    for statistic in ("area", "over_random"):
        own = rows_where(rows, statistic=statistic).set_index(WAY)
        wide = wide.join(own[["low", "high"]].add_prefix(f"{statistic}_"))
    tested = rows_where(rows, statistic="over_random").set_index(WAY)["p"].rename("p_holm")
    found = wide.join(tested).reset_index()
    compared = rows_where(view.agreement, between="criterion", b=REFERENCE).groupby("a")[["value", "ceiling"]].mean()
    compared = compared.rename(columns={"value": "correlation"})
    is_scored = found["ranking"].eq("fixed") & found["repair"].eq("none")
    found = found.join(compared.reindex(found["order"]).set_index(found.index).where(is_scored))
    return found.assign(task=view.task).sort_values("area", ascending=False, kind="stable")


def place_orders(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return orders with their `gain` over random ones, in %, and the `cost` of criteria in passes, NaN of controls."""
    cost = (rows["forward"] + rows["backward"]).clip(lower=LEAST)
    scored = ~rows["order"].isin(CONTROLS) & rows["forward"].notna()
    return rows.assign(gain=100 * rows["over_random"].fillna(0.0), cost=cost.where(scored))


def build_layout_scores(view: StudyTables) -> pandas.DataFrame:
    """Return the layouts of a task before and after further training, with the share of the score kept, in %."""
    rows = with_shares(select_judged(view.bakeoff_retraining))
    return rows.assign(task=view.task, model=rows["run"] + " " + rows["draw"].astype(str))


def compare_layouts(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per layout after further training, with the share of the score kept before and after, in %."""
    keys = ["task", "run", "layout", "draw"]
    before, after = (rows[chosen] for chosen in (rows["updates"] == 0, rows["updates"] > 0))
    wide = after.merge(before[[*keys, "kept"]], on=keys, suffixes=("", "_before"))
    return wide.rename(columns={"kept_before": "before (%)", "kept": "after (%)"})
