"""Repulsion: what arms change against ordinary training of the same model; what they are; numbers by arm."""

from collections.abc import Iterator, Sequence

import pandas

from headroom.claims.board import in_words
from headroom.claims.entries import all_claims
from headroom.core.formatting import format_fixed
from headroom.experiments.arms import page as arms
from headroom.experiments.arms.claims import measure_gain
from headroom.experiments.arms.head_counts import heads_per_site
from headroom.experiments.arms.page import ALIKE, AREA, SCORE, Comparison, compare_effects, numbers_table, together
from headroom.experiments.arms.paired import chosen_alphas, main_pair
from headroom.figures import palette, panels
from headroom.figures.names import method_words
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Section, Table
from headroom.figures.views import label
from headroom.study.selection import arm_rows, last_epochs, rows_where
from headroom.study.tables import StudyTables, seed_of

TITLE = "Heads that repel each other"

ENOUGH_SEEDS = 5

AXES = {ALIKE: "difference in linear CKA", AREA: "difference in % of the full score"}


def section(study: StudyTables) -> Section:
    """Return the section that compares the arms of every task that has several."""
    views = [view for view in study.views.values() if len(view.arm_names) > 1]
    comparison = Comparison(study, views)
    numbers, folded = together(views, compare_effects), tuple(arms.folds(comparison))
    if numbers.empty and not folded:
        return Section("repulsion", TITLE, missing=words("arms", "missing"))
    method = Fold("what the arms are", text=words("arms", "method"), tables=(_arms_table(comparison),))
    if len(numbers):
        label, table = "scores, likeness and pruning in numbers", numbers_table("arm-numbers", numbers, comparison)
        folded = (Fold(label, tables=(table,)), *folded)
    seeds = len({seed_of(run) for view in views for run in view.runs})
    remarks = (words("arms", "few_seeds", seeds=seeds),) if seeds < ENOUGH_SEEDS else ()
    figure = _figure(numbers, comparison) if len(numbers) else None
    return Section("repulsion", TITLE, figure, (method, *folded), (*remarks, *_best_weights(views), *_kernels(views)))


def _best_weights(views: Sequence[StudyTables]) -> Iterator[str]:
    """Yield, for arms that differ in nothing but alpha, the alpha that was chosen on `check`, and its gain on test."""
    for view in views:
        for one in chosen_alphas(view):
            gain = measure_gain(view, one.pair)
            found = in_words(all_claims()["R2"], gain, view.task, view.kind) if gain else ""
            arm = one.pair.arm.name
            yield words("arms", "weight", values=one.values, alpha=one.alpha, arm=arm, gain=found)


def _kernels(views: Sequence[StudyTables]) -> Iterator[str]:
    """Yield how much the kernel of the main repulsive arm depends on which heads are close."""
    for view in views:
        pair = main_pair(view)
        rows = last_epochs(arm_rows(view.particles, pair.arm.name)) if pair else view.particles.head(0)
        mean, spread = (rows_where(rows, measure=name)["value"].mean() for name in ("kernel_mean", "kernel_sd"))
        heads = heads_per_site(view).get(pair.arm.name, 0) if pair else 0
        if pair and heads > 1 and len(rows):
            measured = {
                "mean": format_fixed(mean, 3),
                "spread": format_fixed(spread, 3),
                "even": format_fixed(1 / (heads + 1), 3),
            }
            yield words("arms", "kernel", arm=pair.arm.name, heads=heads, **measured)


def _figure(frame: pandas.DataFrame, comparison: Comparison) -> Figure | None:
    """Return the figure: a row per arm, a panel per task and quantity; None if no arm can be compared."""
    frame = frame[frame["quantity"].isin((SCORE, ALIKE, AREA)) & frame["delta"].notna()]
    frame = frame.assign(open=~((frame["delta_low"] > 0) | (frame["delta_high"] < 0)))
    axes = [AXES.get(row["quantity"]) or f"difference in {row['unit']}" for _, row in frame.iterrows()]
    frame = frame.assign(axis=axes)
    drawn = frame.drop(columns=["low", "high"]).rename(columns={"delta_low": "low", "delta_high": "high"})
    made = []
    for view in comparison.views:
        own = drawn[drawn["task"] == view.task]
        for quantity, rows in own.groupby("quantity", sort=False):
            axis = rows["axis"].iloc[0]
            name, across = f"repulsion-{str(quantity).split()[0]}-{view.task}", ("delta", axis)
            shown = [arm for arm in view.arm_names if arm in set(own["arm"])]
            limits = panels.find_shared_limits(rows_where(drawn, axis=axis), "delta", "low", "high")
            marks = {"row": "arm", "hue": "arm", "hollow": "open"}
            picture = panels.dots(rows, comparison.looks, name, across, **marks, reference=0, rows=shown, limits=limits)
            made.append(Panel(picture, label(comparison.study, view.task, str(quantity)), task=view.task))
    key = (
        panels.key(panels.Look(palette.INK, marker="o"), "interval without 0", line=False),
        panels.key(panels.Look(palette.INK, marker="o", is_hollow=True), "interval with 0, or none", line=False),
    )
    frame = frame.drop(columns=["open", "axis"])
    return Figure("repulsion", tuple(made), *texts("arms"), key, frame) if made else None


def _arms_table(comparison: Comparison) -> Table:
    records = [
        {
            "task": view.task,
            "arm": arm.name,
            "does": method_words(arm.method),
            "sites": " ".join(arm.sites),
            "heads": "" if arm.heads is None else str(arm.heads),
            "attention dropout": "" if arm.attention_dropout is None else f"{arm.attention_dropout:g}",
            "other settings": ", ".join(f"{key} {value}" for key, value in arm.others),
        }
        for view in comparison.views
        for arm in view.described_arms
    ]
    frame = pandas.DataFrame(records)
    optional = [name for name in ("heads", "attention dropout", "other settings") if frame[name].any()]
    columns = [*comparison.lead, "arm", "does", "sites", *optional]
    return Table("arms", frame, columns, {"does": "what it does", "heads": "heads of a site"})
