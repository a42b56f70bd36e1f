"""The sentence that says whether training heads to repel each other changes the answer."""

from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import listing
from headroom.report.claims.diversity import LIKENESS
from headroom.report.claims.paired import Pair, compared, difference_of, main_pair, points_on
from headroom.report.claims.prunability import LESS, MORE, OPEN, SAME, Prunability, prunability
from headroom.report.claims.update_cost import median_of, ratios
from headroom.report.claims.verdict import Estimate, Measured, Unit
from headroom.report.tasks import task_name

_OPENINGS = {
    LESS: "Training heads to repel each other ({}) makes models less prunable",
    MORE: "Training heads to repel each other ({}) makes models more prunable",
    SAME: "Training heads to repel each other ({}) does not noticeably change what can be pruned",
    OPEN: "Whether training heads to repel each other ({}) changes what can be pruned is undecided at this scale",
}


def repulsion(tables: StudyTables) -> str:
    """Return what repulsion changes in every task with a repulsive arm; "" without any."""
    views = [tables.of_task(task) for task in tables.tasks]
    several = len(views) > 1
    said = [_of_task(view, f", {task_name(view.task)}" if several else "") for view in views]
    return " ".join(filter(None, said))


def _of_task(tables: StudyTables, task: str) -> str:
    pair = main_pair(tables)
    if pair is None:
        return ""
    name = f"{pair.arm.name}{task}"
    changes = listing(_changes(tables, pair))
    found = prunability(tables, pair)
    if found is None and not changes:
        return ""
    if found is None:
        return f"Training heads to repel each other ({name}) changes {changes}.{_unsure(tables, pair)}"
    beside = f"; it changes {changes}" if changes else ""
    return f"{_OPENINGS[found.effect].format(name)}: {_pruning(found)}{beside}.{_unsure(tables, pair)}"


def _pruning(found: Prunability) -> str:
    share = _by(found.share, ", the share of heads that can go by {}", "share")
    area = _by(found.area, "the area under the pruning curve changes by {} of the full score", "share")
    return area + share


def _changes(tables: StudyTables, pair: Pair) -> list[str]:
    """Return what changes besides: quality, likeness of heads, time."""
    arm, reference = pair.arm.name, pair.reference.name
    quality = difference_of(tables, arm, reference)
    likeness = compared(tables, f"diversity_difference_{LIKENESS}", arm, reference)
    time = ratios(tables, arm, reference)
    extra = Estimate(median_of(time).value - 1) if len(time) else None
    parts = [
        _by(quality, f"the score by {{}} {points_on(tables)}") if quality else "",
        _by(likeness, "linear CKA between outputs of heads by {}"),
        _by(extra, "the time of an update by {}", "share"),
    ]
    return [part for part in parts if part]


def _by(found: Estimate | None, words: str, unit: Unit = "number") -> str:
    return "" if found is None else str(Measured(words, found, unit, signed=True))


def _unsure(tables: StudyTables, pair: Pair) -> str:
    """Return a sentence for differences that rest on one seed."""
    quality = difference_of(tables, pair.arm.name, pair.reference.name)
    return " These are of one seed, without intervals." if quality and quality.low != quality.low else ""
