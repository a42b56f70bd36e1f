"""Heads with a role among those that gates keep, compared with random ones, and roles after pruning."""

from collections import Counter

import pandas
from markupsafe import Markup

from headroom.core.formatting import MISSING
from headroom.experiments.gates.claims import HARD_CONCRETE
from headroom.experiments.gates.survival import drifts, survivors
from headroom.experiments.roles.claims import ROLES, find_role, main_roles
from headroom.experiments.roles.names import target_name
from headroom.figures import palette, panels
from headroom.figures.names import METHOD_NAMES
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Table
from headroom.figures.views import PUBLISHED, build_panels, lead
from headroom.study.selection import (
    rows_where,
)
from headroom.study.tables import StudyTables

RANDOM_SURVIVORS, PAPER_SURVIVORS = "random survivors, 95 %", "paper, OpenSubtitles"

LOOKS = {
    RANDOM_SURVIVORS: Look(palette.CONTROL),
    PAPER_SURVIVORS: Look(palette.INK, "", "D"),
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
        headings = {"setting": "λ", "stay": "heads that stay", "found": "with a role", "expected": "by chance"}
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


def list_survivors(view: StudyTables, run: str) -> list[dict[str, object]]:
    """Return a row per setting: the heads left, and how many of them held which role."""
    targets = main_roles(view, run)
    gates = rows_where(view.gates, run=run)
    made = []
    for one in survivors(gates, targets, HARD_CONCRETE):
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
