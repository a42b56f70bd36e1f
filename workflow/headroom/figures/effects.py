"""Effects of removing heads: rows of the run that is shown first, and shares of the full model's score."""

import pandas

from headroom.figures import palette
from headroom.figures.names import choose_words
from headroom.figures.panels import Look
from headroom.figures.views import PUBLISHED
from headroom.study.selection import last_epochs, main_metric, main_run, main_set, parse_heads, rows_where, with_scale
from headroom.study.tables import StudyTables, TaskKind

HERE = Look(palette.arm_colour("", []), marker="o")
LOOKS = {"here": HERE, "paper": Look(palette.INK, marker="D")}


def effects(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's rows of `ablation` in the main metric, of one task, with the columns task and name."""
    rows = last_epochs(view.ablation)
    rows = rows_where(rows, metric=main_metric(rows))
    return rows.assign(task=view.task, name=[str(head) for head in parse_heads(rows)])


def main_effects(view: StudyTables) -> pandas.DataFrame:
    """Return those of the run that is shown first, on the set that heads are judged on."""
    rows = effects(view)
    return rows_where(rows, run=main_run(rows, view), set=main_set(rows))


def in_percent(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows with `delta`, `low` and `high` in % of the full model's score (of classifiers, above chance)."""
    scale = with_scale(rows)["scale"]
    parts = rows[["delta", "low", "high"]].div(scale.where(scale > 0), axis=0)
    return rows.assign(**{str(name): 100 * part for name, part in parts.items()})


def percent_label(task: str, where: str = "") -> str:
    """Return the name of an axis of changes in % of the score, with the set they are on."""
    return f"change{where and f' on {where}'} (% of {choose_words(task).score})"


def paper_scale(kind: TaskKind) -> float:
    """Return the score of the first paper's full model; of its classifier, less that without any head."""
    curve = PUBLISHED["curves"][kind]["gradient"]
    return curve[0] - (curve[-1] if kind == "classification" else 0.0)
