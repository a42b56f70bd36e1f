"""Which heads, kinds and layers stay under learned gates (the second paper's figures 9 and 10)."""

import pandas
from markupsafe import Markup

from headroom.core.formatting import percent
from headroom.core.heads import KINDS
from headroom.experiments.gates.claims import HARD_CONCRETE, survival
from headroom.experiments.roles.claims import main_roles
from headroom.experiments.roles.names import letters
from headroom.figures import palette, panels
from headroom.figures.atlas import Mark, draw_atlases
from headroom.figures.panels import Look, mark_sample
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Panel, Table
from headroom.figures.views import PUBLISHED, build_panels, label
from headroom.study.selection import (
    last_epochs,
    parse_heads,
    rows_where,
)
from headroom.study.tables import StudyTables

PAPER = "paper, WMT"

BY_KIND = PUBLISHED["by_kind"]
BY_LAYERS = PUBLISHED["by_layers"]
PAIRS_FROM = 6
"""From so many layers on, layers are shown in pairs, as in the paper."""


def folds(runs: list[tuple[StudyTables, str]], study: StudyTables) -> list[Fold]:
    """Return how often each head stays, and which kinds and layers keep theirs; nothing without a sweep on all kinds.

    `runs` are the tables of every task with the run whose gates are shown.
    """
    swept = [(view, run, rows) for view, run in runs if len(rows := select_sweep(view, run))]
    if not swept:
        return []
    frame = pandas.concat(
        [build_kept_shares(rows).assign(task=view.task) for view, _, rows in swept], ignore_index=True
    )
    by_kind = frame[frame["group"].isin(KINDS)]
    figure = _by_kind(by_kind, study) if len(by_kind) else None
    table = _table(pandas.concat([frame, *([paper_shares()] if len(by_kind) else [])], ignore_index=True))
    key = (Key(mark_sample("square"), "share of settings at which the head stays"),)
    atlases = tuple(panel for view, run, rows in swept for panel in _atlases(view, run, rows, study))
    atlas = Figure("gate_survival", atlases, *texts("gates", "survival"), key, is_atlas=True)
    return [Fold("How often each head stays", atlas), Fold("Heads kept by kind and layer", figure, (table,))]


def _by_kind(frame: pandas.DataFrame, study: StudyTables) -> Figure:
    """Return the share of each kind that is left, ours in the colour of the kind, the paper's in ink."""
    theirs = paper_shares().query("group in @KINDS")
    theirs = theirs.assign(hue=f"{PAPER}: " + theirs["group"])
    looks, axes = dict[str, Look](), (("removed", "heads removed (%)"), ("kept", "heads of the kind kept (%)"))
    for name, colours in ((f"{PAPER}: ", dict.fromkeys(KINDS, palette.INK)), ("", palette.KIND_COLOURS)):
        dashes = zip(KINDS, ("", "dashed", "dotted"), strict=True)
        looks |= {name + kind: Look(colours[kind], dash, palette.KIND_MARKERS[kind]) for kind, dash in dashes}

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        rows, name = pandas.concat([own.assign(hue=own["group"]), theirs]), f"retention-{task}"
        return panels.lines(rows, looks, name, *axes, hue="hue", units="task", limits=(-3, 103), height=262)

    key = panels.keys(looks, names=palette.KIND_NAMES)
    ours_first = (*key[len(KINDS) :], *key[: len(KINDS)])
    return Figure("retention", build_panels(study, frame, draw), *texts("gates", "retention"), ours_first)


def _table(frame: pandas.DataFrame) -> Table:
    wide = frame.assign(group=frame["group"] + " (%)", **{"removed (%)": frame["removed"]})
    groups, tasks = (list(dict.fromkeys(wide[name])) for name in ("group", "task"))
    wide = wide.pivot(index=["task", "setting", "removed (%)"], columns="group", values="kept").reset_index()
    wide = wide.sort_values("removed (%)").sort_values("task", key=lambda own: own.map(tasks.index), kind="stable")
    columns = ["task", "setting", "removed (%)", *groups]
    return Table("retention", wide, columns, {"task": "models", "setting": "λ"}, words("gates", "retention_table"))


def _atlases(view: StudyTables, run: str, rows: pandas.DataFrame, study: StudyTables) -> list[Panel]:
    stays = survival(rows).reset_index()
    targets = main_roles(view, run)
    marks = {
        head: Mark(share, percent(share), letters=letters(targets.get(head, [])))
        for head, share in zip(parse_heads(stays), stays["kept"], strict=True)
    }
    labels = [label(study, view.task), "\u00a0", "\u00a0"]
    return [Panel(one, title, task=view.task) for title, one in zip(labels, draw_atlases(marks), strict=False)]


def select_sweep(view: StudyTables, run: str) -> pandas.DataFrame:
    """Return the gates of the sweep on all kinds."""
    return rows_where(last_epochs(view.gates), run=run, scope="all", method=HARD_CONCRETE)


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


def layer_groups(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of one kind with the column `group`: the layer, or from six layers on its pair of layers."""
    layers = rows["layer"].astype(int)
    if layers.max() < PAIRS_FROM:
        return rows.assign(group=[f"{kind}{layer}" for kind, layer in zip(rows["kind"], layers)])
    first = layers - (layers - 1) % 2
    return rows.assign(group=[f"{kind}{low}–{low + 1}" for kind, low in zip(rows["kind"], first)])
