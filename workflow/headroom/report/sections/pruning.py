"""Pruning curves: heads removed in steps, by several orders, all kinds together and each alone."""

import pandas

from headroom.claims.chance import with_shares
from headroom.claims.evidence import task_kind
from headroom.claims.metrics import metric_name
from headroom.claims.selection import (
    arm_rows,
    heads_of,
    in_order,
    last_epochs,
    main_gradient,
    main_metric,
    main_run,
    main_set,
    rows_where,
)
from headroom.claims.study_tables import StudyTables, arm_of, kind_of, seed_of
from headroom.core.curves import MARGINS
from headroom.core.formatting import listing, number, percent
from headroom.core.heads import KINDS, parse_head
from headroom.report import palette
from headroom.report.atlas import Mark, draw_atlases
from headroom.report.exhibits import Exhibit, Key, Row, Section
from headroom.report.figures import curves as figures
from headroom.report.figures.curves import ABLATION, CRITERIA, GRADIENT, RESCORED, REVERSE, Curve, Look, by_order
from headroom.report.keys import full_key, line_sample, mark_sample
from headroom.report.names import CRITERION_NAMES, criterion_name, order_name, run_name
from headroom.report.palette import Colour, arm_colour
from headroom.report.published import CURVES, CURVES_BY_KIND, TASK_CURVES
from headroom.report.sections import curves_by_layer
from headroom.report.sections.curve_tables import (
    kinds_paper,
    kinds_table,
    orders_paper,
    orders_table,
    paper_rows,
    removable_share,
    steps_table,
    survivors_table,
)
from headroom.report.tasks import task_name, words_of

TITLE = "Pruning curves"


def section(tables: StudyTables) -> Section:
    """Return the section about removing more and more heads."""
    if not tables.has("pruning"):
        return Section("pruning", TITLE, missing="Pruning curves were not computed in this study.")
    rows = with_shares(last_epochs(tables.pruning))
    rows = rows_where(rows, metric=main_metric(rows))
    rows = rows_where(rows, set=main_set(rows))
    run = main_run(rows, tables)
    arm = arm_of(run)
    lead = (
        "Heads were removed in steps, the least important first, and the set"
        f" {rows['set'].iloc[0]} was {words_of(tables.task).answered} after every step without retraining. Besides the"
        " orders by gradient and by"
        " single-head ablation there are two controls: random orders, and the gradient order reversed."
        f" Shown is the arm {arm}, {_seeds(arm_rows(rows, arm))}."
    )
    ours = arm_rows(rows, arm)
    exhibits = (
        _orders(ours, tables, arm),
        _survivors(rows_where(rows, run=run), tables, run),
        _by_kind(ours) if kind_of(tables.task) == "translation" else None,
        curves_by_layer.exhibit(rows_where(rows, run=run), words_of(tables.task)),
    )
    return Section("pruning", TITLE, lead=lead, exhibits=tuple(one for one in exhibits if one is not None))


def _seeds(rows: pandas.DataFrame) -> str:
    seeds = sorted(rows["run"].map(seed_of).unique())
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"mean over seeds {listing(map(str, seeds))}"


def _orders(rows: pandas.DataFrame, tables: StudyTables, arm: str) -> Exhibit:
    everything = rows_where(rows, scope="all")
    criterion, normalised = main_gradient(everything)
    finding = _finding(everything, criterion, normalised)
    colour = arm_colour(arm, tables.arm_names)
    above = " above chance (the best score of one answer for all)" if kind_of(tables.task) == "classification" else ""
    return Exhibit(
        name="curves",
        rows=(*_order_rows(everything, colour), _beside_paper(everything, colour, tables.task)),
        alt=finding,
        shows=finding,
        how="Score after removing a share of all heads; higher is better. A criterion is worth something as far"
        " as its curve stays above the grey band of random orders. Faint lines are single seeds. Beside the"
        f" paper: scores{above} in % of the full model’s, since the models differ in size and data.",
        tables=(steps_table(everything), orders_table(everything)),
        papers=(orders_paper(everything, criterion, normalised, tables.task),),
    )


def _order_rows(rows: pandas.DataFrame, colour: Colour) -> list[Row]:
    """Return the labelled panels: the paper's orders and controls, criteria, rescoring."""
    criterion, normalised = main_gradient(rows)
    gradient = Curve(by_order(rows, criterion, normalised), colour, GRADIENT)
    ablation = Curve(by_order(rows, "ablation"), colour, ABLATION)
    reverse = Curve(by_order(rows, "reverse"), palette.CONTROL, REVERSE)
    random = rows_where(rows, order="random")
    metric = f"{metric_name(rows['metric'].iloc[0])} on {rows['set'].iloc[0]}"
    full = figures.full_scores(rows)
    own = _key(colour, GRADIENT, criterion_name(criterion))
    controls = (Key(mark_sample("band", "control"), "random"), full_key())
    made = [
        Row(
            "Orders and controls",
            (figures.curves([reverse, ablation, gradient], random, name="orders", metric=metric, full=full),),
            (own, _key(colour, ABLATION, "single-head ablation"), _key(palette.CONTROL, REVERSE, "reverse"), *controls),
        )
    ]
    names = [name for name in in_order(rows["order"], CRITERION_NAMES) if name.startswith("gradient")]
    looks = list(zip(names, CRITERIA, strict=False))
    if len(names) > 1:
        several = [Curve(by_order(rows, name, normalised), colour, look) for name, look in looks]
        panel = figures.curves(several, random, name="criteria", metric=metric, full=full)
        keys = tuple(_key(colour, look, criterion_name(name)) for name, look in looks)
        made.append(Row("Ways of averaging the gradient", (panel,), keys))
    drawn = {criterion, "ablation", "random", "reverse", *names}
    others = [order for order in dict.fromkeys(rows["order"]) if order not in drawn]
    looks = list(zip(others, CRITERIA[1:], strict=False))
    if looks:
        panel = figures.curves(
            [gradient, *(Curve(by_order(rows, order), colour, look) for order, look in looks)],
            random,
            name="others",
            metric=metric,
            full=full,
        )
        keys = (own, *(_key(colour, look, order_name(order)) for order, look in looks))
        made.append(Row("Other criteria", (panel,), keys))
    rescored = by_order(rows, criterion, normalised, "rescored")
    if len(rescored):
        both = [gradient, Curve(rescored, colour, RESCORED)]
        panel = figures.curves(both, random, name="rescored", metric=metric, full=full)
        keys = (_key(colour, GRADIENT, "ranked once"), _key(colour, RESCORED, "ranked anew after every step"))
        made.append(Row("Ranked once or anew", (panel,), keys))
    return made


def _beside_paper(rows: pandas.DataFrame, colour: Colour, task: str) -> Row:
    drawn = [Curve(by_order(rows, "ablation"), colour, ABLATION)]
    drawn.append(Curve(by_order(rows, *main_gradient(rows)), colour, GRADIENT))
    kind, on = kind_of(task), " (MNLI)" if kind_of(task) == "classification" else ""
    paper = [(CURVES[kind]["ablation"], ABLATION), (CURVES[kind]["gradient"], REVERSE)]
    keys = [
        _key(colour, GRADIENT, "here, gradient"),
        _key(colour, ABLATION, "here, ablation"),
        _key(palette.INK, REVERSE, f"paper, gradient{on}"),
        _key(palette.INK, ABLATION, f"paper, ablation{on}"),
    ]
    if task in TASK_CURVES and kind == "classification":
        paper.append((TASK_CURVES[task], RESCORED))
        keys.append(_key(palette.INK, RESCORED, f"paper, gradient ({task_name(task)})"))
    curves = [Curve(paper_rows(values, kind), palette.INK, look) for values, look in paper]
    label = words_of(task).kept
    panel = figures.curves([*curves, *drawn], rows.head(0), name="paper", metric=label, full=[100.0], y="kept")
    return Row("Beside the paper", (panel,), tuple(keys))


def _key(colour: Colour, look: Look, name: str) -> Key:
    return Key(line_sample(colour.variable, look.dash, look.marker), name)


def _finding(rows: pandas.DataFrame, criterion: str, normalised: str) -> str:
    share = removable_share(by_order(rows, criterion, normalised))
    above = " above chance" if (rows["chance"] > 0).any() else ""
    parts: list[str] = []
    for name, order in (("gradient", criterion), ("ablation", "ablation"), ("random", "random")):
        chosen = by_order(rows, order, normalised if order == criterion else "")
        near = chosen[(chosen["share"] - 50).abs() < 3]
        if near["kept"].notna().any():
            of = "" if parts else " of the full model’s"
            parts.append(f"{number(near['kept'].mean(), decimals=1)} %{of} by {name} order")
    margin = percent(MARGINS[task_kind(rows)])
    gone = percent(share / 100)
    text = f"By gradient order {gone} of the heads go before a loss is noticeable ({margin} of the score{above})"
    half = f"; with half of the heads removed the score{above} is {listing(parts)}"
    return text + (half if parts else "") + "."


def _survivors(rows: pandas.DataFrame, tables: StudyTables, run: str) -> Exhibit | None:
    """Return atlases of the heads that are left when half are removed, by gradient and by ablation."""
    everything = rows_where(rows, scope="all")
    criterion, normalised = main_gradient(everything)
    made = []
    for order, norm in ((criterion, normalised), ("ablation", "")):
        chosen = by_order(everything, order, norm)
        near = chosen[(chosen["share"] - 50).abs() < 3]
        if len(near):
            made.append((order_name(order), frozenset(map(parse_head, near.iloc[0]["removed"].split()))))
    source = tables.ablation if tables.has("ablation") else tables.scores
    heads = sorted(set(heads_of(rows_where(source, run=run))))
    if not made or not heads:
        return None
    atlases = []
    for label, removed in made:
        marks = {head: Mark(0.6, "removed" if head in removed else "kept", removed=head in removed) for head in heads}
        atlases.append(Row(label, draw_atlases(marks)))
    finding = _survival(made[0][1], heads)
    return Exhibit(
        name="curves_survivors",
        is_atlas=True,
        rows=tuple(atlases),
        key=(Key(mark_sample("square"), "kept"), Key(mark_sample("cross", "control"), "removed")),
        alt=finding,
        shows=finding,
        how=f"What is left of {run_name(run)} when half of the heads are removed, by two orders.",
        tables=(survivors_table(made, heads),),
    )


def _survival(removed: frozenset[object], heads: list) -> str:
    parts = []
    kinds = {head.kind for head in heads}
    for kind in (kind for kind in KINDS if kind in kinds):
        own = [head for head in heads if head.kind == kind]
        kept = sum(head not in removed for head in own)
        parts.append(f"{kept} of {len(own)} in {palette.KIND_NAMES[kind]}")
    if len(kinds) == 1:
        layers = sorted({head.layer for head in heads})
        left = [sum(head.layer == layer and head not in removed for head in heads) for layer in layers]
        parts = [f"{sum(left)} of {len(heads)} (by layer {', '.join(map(str, left))})"]
    return f"With half of the heads gone by gradient order there are left {listing(parts)}."


def _by_kind(rows: pandas.DataFrame) -> Exhibit | None:
    kinds = [kind for kind in KINDS if kind in set(rows["scope"])]
    if not kinds:
        return None
    finding = _kind_finding(rows, kinds)
    return Exhibit(
        name="curves_by_kind",
        rows=tuple(_kind_row(rows_where(rows, scope=kind), kind) for kind in kinds),
        alt=finding,
        shows=finding,
        how="Heads of one kind are removed, the other kinds stay whole; the horizontal axis counts heads of"
        " that kind. Scores in % of the full model’s, since the paper’s model (dotted) is another.",
        tables=(kinds_table(rows, kinds),),
        papers=(kinds_paper(rows, kinds),),
    )


def _kind_row(rows: pandas.DataFrame, kind: str) -> Row:
    criterion, normalised = main_gradient(rows)
    colour = palette.KIND_COLOURS[kind]
    drawn = [
        Curve(paper_rows(CURVES_BY_KIND[kind], "translation"), palette.INK, REVERSE),
        Curve(by_order(rows, "ablation"), colour, ABLATION),
        Curve(by_order(rows, criterion, normalised), colour, GRADIENT),
    ]
    random = rows_where(rows, order="random")
    label = "score (% of full model)"
    panel = figures.curves(drawn, random, name=kind, metric=label, full=[100.0], y="kept")
    keys = [_key(colour, GRADIENT, "gradient"), _key(palette.INK, REVERSE, "paper, gradient")]
    if len(drawn[1].rows):
        keys.append(_key(colour, ABLATION, "ablation"))
    if len(random):
        keys.append(Key(mark_sample("band", "control"), "random"))
    return Row(f"{kind} {palette.KIND_NAMES[kind]}", (panel,), tuple(keys))


def _kind_finding(rows: pandas.DataFrame, kinds: list[str]) -> str:
    parts = []
    for kind in kinds:
        own = rows_where(rows, scope=kind)
        chosen = by_order(own, *main_gradient(own))
        near = chosen[(chosen["share"] - 70).abs() < 4]
        if near["kept"].notna().any():
            parts.append(f"{number(near['kept'].mean(), decimals=1)} % without 70 % of {palette.KIND_NAMES[kind]}")
    return f"Of the full model’s score there remain {listing(parts)}." if parts else "Curves of each kind alone."
