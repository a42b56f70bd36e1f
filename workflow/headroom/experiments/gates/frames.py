"""What sections show of learned gates, as rows: models by score, what a sweep keeps, heads with a role that stay."""

import math
from collections import Counter
from collections.abc import Collection

import pandas

from headroom.core.formatting import MISSING, listing, symbol
from headroom.core.heads import KINDS
from headroom.experiments.gates.claims import EXACT, FALLING, HARD_CONCRETE, hard, hard_and_soft, layout
from headroom.experiments.gates.survival import drifts, survivors
from headroom.experiments.roles.claims import ROLES, find_role, main_roles
from headroom.experiments.roles.names import target_name
from headroom.figures.names import METHOD_NAMES, SCOPES, run_name
from headroom.figures.prose import words
from headroom.figures.views import PUBLISHED
from headroom.study.selection import (
    arm_rows,
    last_epochs,
    main_gradient,
    main_run,
    parse_heads,
    rows_where,
    select_judged,
    with_scale,
    with_shares,
)
from headroom.study.tables import StudyTables, arm_of

ENCODER_PRUNED = PUBLISHED["encoder_pruned"]
BY_KIND = PUBLISHED["by_kind"]
BY_LAYERS = PUBLISHED["by_layers"]

UNTRAINED, PAPER, PAPER_SCRATCH = "best by gradient, not trained further", "paper, WMT", "paper, WMT, from scratch"

RANDOM_SURVIVORS, PAPER_SURVIVORS = "random survivors, 95 %", "paper, OpenSubtitles"

PAIRS_FROM = 6
"""From so many layers on, layers are shown in pairs, as in the paper."""


def find_source(view: StudyTables) -> pandas.DataFrame | None:
    """Return the rows that show which run's gates there are; None without any."""
    return next((frame for name in ("pruned_models", "gates") if len(frame := view.frame(name))), None)


def shown_run(view: StudyTables) -> str:
    """Return the run of a task whose gates are shown; "" without any."""
    source = find_source(view)
    return "" if source is None else main_run(source, view)


def build_models(view: StudyTables) -> pandas.DataFrame:
    """Return models of the shown run's arm, the paper's, and the gradient's curve, with shares and scores in %."""
    rows = score_pruned_models(hard(arm_rows(view.pruned_models, arm_of(shown_run(view)))))
    learned = rows["method"].isin([HARD_CONCRETE, *EXACT])
    rows = rows.assign(low=rows["low"].where(learned), high=rows["high"].where(learned))
    scopes, paper = set(rows["scope"]), paper_models()
    found = [rows, build_share_curves(view, set(rows["run"]), scopes).assign(method=UNTRAINED)]
    found += [paper[paper["scope"].isin(scopes)]] if view.kind in PUBLISHED["pruned_by_gates"] else []
    columns = ["task", "scope", "run", "method", "setting", "draw", "share", "score", "low", "high"]
    return pandas.concat([one.reindex(columns=columns) for one in found if len(one)]).assign(task=view.task)


def build_share_curves(view: StudyTables, runs: Collection[str], scopes: Collection[str]) -> pandas.DataFrame:
    """Return what runs keep of the score (`score`, %) by the share of heads kept (%), by the main order, by scope."""
    rows = select_judged(view.pruning[view.pruning["run"].isin(runs) & view.pruning["scope"].isin(scopes)])
    if rows.empty:
        return rows
    order, normalised = main_gradient(rows)
    rows = with_shares(rows_where(rows, order=order, normalised=normalised, ranking="fixed"))
    return rows[["scope", "run"]].assign(share=100 - rows["share"], score=rows["kept"])


def score_pruned_models(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of `pruned_models` with the `share` of heads kept and the `score` with its interval, in %."""
    rows = with_scale(rows)
    rows = rows.assign(share=100 * rows["kept"] / rows["heads"], scale=rows["scale"].where(rows["scale"] > 0))
    ends = {end: 100 + 100 * rows[end] / rows["scale"] for end in ("low", "high")}
    return rows.assign(score=100 * (rows["value"] - rows["chance"]) / rows["scale"], **ends)


def paper_models() -> pandas.DataFrame:
    """Return the models of the paper's figure 7 and table 2, in % of heads and of the full model's BLEU."""
    rows = []
    for data in ENCODER_PRUNED:
        full = ENCODER_PRUNED[data][48]
        rows += [("E", f"paper, {data}", kept / 48, bleu / full) for kept, bleu in ENCODER_PRUNED[data].items()]
        for heads, pruned, scratch in PUBLISHED["layouts"][data]:
            rows.append(("all", f"paper, {data}", sum(heads) / 144, pruned / full))
            rows.append(("all", f"paper, {data}, from scratch", sum(heads) / 144, (scratch or math.nan) / full))
    frame = pandas.DataFrame(rows, columns=["scope", "method", "share", "score"]).dropna()
    return frame.assign(run="paper", share=100 * frame["share"], score=100 * frame["score"])


def tabulate_models(view: StudyTables) -> pandas.DataFrame:
    """Return the models of one task in words, with what hard gates score less than soft ones."""
    rows, keys = hard(view.pruned_models), ["run", "scope", "setting"]
    apart = hard_and_soft(view.pruned_models).set_index(keys)["apart"]
    less = rows.join(apart, on=keys)["apart"].where(rows["method"] == HARD_CONCRETE)
    layouts = [_layout(view, row) for _, row in rows.iterrows()]
    methods = rows["method"].map(lambda name: METHOD_NAMES.get(name, name))
    return rows.assign(
        task=view.task, method=methods, scope=rows["scope"].map(SCOPES), layout=layouts, hard_less_soft=less
    )


def _layout(view: StudyTables, row: pandas.Series) -> str:
    """Return how many heads a model keeps: of its scope, and by kind where all kinds were gated."""
    gates = rows_where(view.gates, run=row["run"], scope=row["scope"])
    by_kind = layout(row, parse_heads(gates.drop_duplicates(["kind", "layer", "head"])))
    parts = [f"{kept} {kind}" for kind, (kept, _) in by_kind.items()] if len(by_kind) > 1 else []
    return f"{row['kept']:.0f} of {row['heads']:.0f}" + (f" ({' + '.join(parts)})" if parts else "")


def warnings(tables: StudyTables) -> tuple[str, ...]:
    """Return what makes the learned gates of a task doubtful: gates that did not converge, models that had not."""
    if tables.pruned_models.empty:
        return ()
    rows = hard(tables.pruned_models)
    learned, falling = rows_where(rows, method=HARD_CONCRETE), rows_where(rows, start=FALLING)
    doubtful = learned[learned["undecided"] > 0].sort_values("undecided", ascending=False, kind="stable")
    found = []
    if len(doubtful):
        worst = doubtful.iloc[0]
        case = f"{symbol('λ', worst['setting'])}, {SCOPES[worst['scope']]}, {run_name(worst['run'])}"
        gates = {"undecided": f"{worst['undecided']:.0f}", "heads": f"{worst['heads']:.0f}", "case": case}
        found.append(words("gates", "undecided", models=len(doubtful), learned=len(learned), **gates))
    if len(falling):
        found.append(words("gates", "falling", runs=listing(dict.fromkeys(map(run_name, falling["run"])))))
    return tuple(text.unescape() for text in found)


def select_sweep(view: StudyTables, run: str) -> pandas.DataFrame:
    """Return the gates of the sweep on all kinds, by hard-concrete gates or, without them, by exact selection."""
    rows = rows_where(last_epochs(view.gates), run=run, scope="all")
    method = next((name for name in (HARD_CONCRETE, *EXACT) if name in set(rows["method"])), "")
    return rows_where(rows, method=method)


def build_kept_shares(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the share of each kind, of each layer or pair of layers that a sweep keeps, as `compute_kept_shares`."""
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    found = [compute_kept_shares(rows.assign(group=rows["kind"]))] if len(kinds) > 1 else []
    found += [compute_kept_shares(layer_groups(rows_where(rows, kind=kind)), rows) for kind in kinds]
    return pandas.concat(found, ignore_index=True)


def paper_shares() -> pandas.DataFrame:
    """Return the paper's models as `build_kept_shares` does: figure 9 by kind, figure 10 by pairs of layers."""
    groups = {kind: (48, values) for kind, values in BY_KIND.items()}
    groups |= {f"{kind}{pair}": (16, own) for kind, pairs in BY_LAYERS.items() for pair, own in pairs.items()}
    removed = [100 * (1 - sum(values) / 144) for values in zip(*BY_KIND.values(), strict=True)]
    rows = [
        {"task": PAPER, "group": group, "setting": "", "removed": gone, "kept": 100 * value / heads}
        for group, (heads, values) in groups.items()
        for gone, value in zip(removed, values, strict=True)
    ]
    return pandas.DataFrame(rows)


def layer_groups(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of one kind with the column `group`: the layer, or from six layers on its pair of layers."""
    layers = rows["layer"].astype(int)
    if layers.max() < PAIRS_FROM:
        return rows.assign(group=[f"{kind}{layer}" for kind, layer in zip(rows["kind"], layers)])
    first = layers - (layers - 1) % 2
    return rows.assign(group=[f"{kind}{low}–{low + 1}" for kind, low in zip(rows["kind"], first)])


def compute_kept_shares(rows: pandas.DataFrame, every: pandas.DataFrame | None = None) -> pandas.DataFrame:
    """Return the share of each group kept (%) at each setting, by the share of all heads removed (%).

    Args:
        rows: Rows of `gates` with the column `group`.
        every: Rows of all heads, to count those removed; default the same.
    """
    total = 100 * (1 - (rows if every is None else every).groupby("setting")["kept"].mean())
    shares = 100 * rows.groupby(["group", "setting"], sort=False)["kept"].mean()
    found = shares.reset_index().assign(removed=lambda frame: frame["setting"].map(total))
    return found.sort_values(["removed", "setting"], kind="stable").reset_index(drop=True)


def list_survivors(view: StudyTables, run: str) -> list[dict[str, object]]:
    """Return a row per method and setting: the heads left, and how many of them held which role."""
    targets = main_roles(view, run)
    gates = rows_where(view.gates, run=run)
    made = []
    for one in (one for method in (HARD_CONCRETE, *EXACT) for one in survivors(gates, targets, method)):
        p, low, high = one.chances()
        row: dict[str, object] = {"task": view.task, "run": run, "method": METHOD_NAMES[one.method], "hue": one.method}
        row |= {"setting": one.setting, "heads": len(one.heads), "stay": len(one.kept), "found": one.found}
        row |= {"specialised": len(one.specialised), "expected": one.expected, "low": low, "high": high, "p": p}
        kinds = Counter(find_role(head, targets) for head in one.kept)
        row |= {name: kinds[name] for name in (*ROLES, "several", "unknown")}
        made.append(row | {"names": " ".join(map(str, sorted(one.kept))) or MISSING})
    return made


def build_survivor_shares(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return heads kept and heads with a role among them in %, of the study, of random survivors, of the paper."""
    chance = rows.drop_duplicates("stay").assign(found=rows["expected"], hue=RANDOM_SURVIVORS)
    here = pandas.concat([rows.assign(low=float("nan"), high=float("nan")), chance])
    held = sum(PUBLISHED["survivors"][48][:3])
    theirs = [
        {"hue": PAPER_SURVIVORS, "stay": kept, "found": sum(each[:3])} for kept, each in PUBLISHED["survivors"].items()
    ]
    both = pandas.concat([here, pandas.DataFrame(theirs).assign(run="paper", heads=48, specialised=held)])
    shares = {name: 100 * both[name] / both["specialised"] for name in ("low", "high")}
    shares |= {"share": 100 * both["stay"] / both["heads"], "survive": 100 * both["found"] / both["specialised"]}
    return both.assign(task=rows["task"].iloc[0], **shares)[["task", "run", "hue", "setting", *shares]]


def list_drifts(view: StudyTables, run: str) -> list[dict[str, object]]:
    """Return a row per pruned model with its roles before and after pruning, and what became of them."""
    return [
        {
            "task": view.task,
            "model": one.model,
            "removed": len(one.removed),
            "before": len(one.before),
            "after": len(one.after),
            "lost": ", ".join(map(target_name, one.lost)) or MISSING,
            "taken over": ", ".join(map(target_name, one.taken_over)) or MISSING,
            "new": "; ".join(f"{head}: {target_name(target)}" for target, head in one.new) or MISSING,
        }
        for one in drifts(view, run)
    ]
