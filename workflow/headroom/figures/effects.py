"""Effects of removing heads: rows of the run that is shown first, and shares of the full model's score."""

from headroom.figures import palette
from headroom.figures.names import choose_words
from headroom.figures.panels import Look
from headroom.figures.views import PUBLISHED
from headroom.study.tables import TaskKind

HERE = Look(palette.arm_colour("", []), marker="o")
LOOKS = {"here": HERE, "paper": Look(palette.INK, marker="D")}


def percent_label(task: str, where: str = "") -> str:
    """Return the name of an axis of changes in % of the score, with the set they are on."""
    return f"change{where and f' on {where}'} (% of {choose_words(task).score})"


def paper_scale(kind: TaskKind) -> float:
    """Return the score of the first paper's full model; of its classifier, less that without any head."""
    curve = PUBLISHED["curves"][kind]["gradient"]
    return curve[0] - (curve[-1] if kind == "classification" else 0.0)
