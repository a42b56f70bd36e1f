"""Heads with a role among those that gates keep, compared with random ones, and roles after pruning."""

import pandas
from markupsafe import Markup

from headroom.experiments.gates.claims import EXACT, HARD_CONCRETE
from headroom.experiments.gates.frames import (
    PAPER_SURVIVORS,
    RANDOM_SURVIVORS,
    build_survivor_shares,
    list_drifts,
    list_survivors,
)
from headroom.experiments.roles.claims import ROLES
from headroom.figures import palette, panels
from headroom.figures.names import METHOD_NAMES
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Table
from headroom.figures.views import build_panels, lead
from headroom.study.tables import StudyTables

LOOKS = {
    RANDOM_SURVIVORS: Look(palette.CONTROL),
    PAPER_SURVIVORS: Look(palette.INK, "", "D"),
    EXACT[1]: Look(palette.KIND_COLOURS["E"], "dashdot", "^"),
    EXACT[0]: Look(palette.KIND_COLOURS["E"], "dashed", "s"),
    HARD_CONCRETE: Look(palette.KIND_COLOURS["E"], "", "o"),
}


def folds(runs: list[tuple[StudyTables, str]], study: StudyTables) -> list[Fold]:
    """Return what stays of heads with a role, and what roles there are after pruning; nothing without either.

    `runs` are the tables of every task with the run whose gates are shown.
    """
    named = [view for view, _ in runs if view.given("roles")]
    rows = [row for view, run in runs if view in named for row in list_survivors(view, run)]
    found = pandas.DataFrame(rows)
    made = []
    if len(found):
        columns = [*lead(study), "method", "setting", "stay", "found", "expected", "p", *ROLES, "several"]
        headings = {"setting": "λ or K", "stay": "heads that stay", "found": "with a role", "expected": "by chance"}
        table = Table("survivors", found, [*columns, "unknown"], headings, words("gates", "survivor_table"))
        made.append(Fold("Roles of the encoder heads that stay", _figure(found, study), (table,)))
    moved = pandas.DataFrame([row for view, run in runs for row in list_drifts(view, run)])
    if len(moved):
        columns = [*lead(study), "model", "removed", "before", "after", "lost", "taken over", "new"]
        headings = {"removed": "heads removed", "before": "functions before", "after": "functions after"}
        headings |= {"lost": "lost all heads", "new": "roles that are new"}
        table = Table("drift", moved, columns, headings)
        made.append(Fold("Roles before and after pruning", tables=(table,), text=words("gates", "drift")))
    return made


def _figure(found: pandas.DataFrame, study: StudyTables) -> Figure | None:
    """Return the share of the heads with a role that is left, a panel per task in which heads held one."""
    frames = [build_survivor_shares(own) for _, own in found[found["specialised"] > 0].groupby("task", sort=False)]
    if not frames:
        return None
    frame = pandas.concat(frames, ignore_index=True)

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        axes = ("share", "encoder heads kept (%)"), ("survive", "heads with a role kept (%)")
        return panels.lines(own, LOOKS, f"survivors-{task}", *axes, hue="hue", limits=(-3, 103))

    key = panels.keys(LOOKS, frame["hue"], names=METHOD_NAMES)
    return Figure("survivors", build_panels(study, frame, draw), *texts("gates", "survivors"), key, frame)
