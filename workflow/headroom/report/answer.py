"""The answer in five sentences: what can go, what matters, by which order, what is gained, what repulsion changes.

There is a sixth where roles or gates were examined. Every number is a row of the table `numbers`: means over the runs
of the baseline, brackets spanning the 95 % intervals of all of them. In a study of several tasks every number is
followed by its task.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas

from headroom.claims.arm_effects import LESS, MORE, OPEN, SAME
from headroom.claims.entries import threshold
from headroom.claims.metrics import metric_word
from headroom.claims.paired import main_pair
from headroom.claims.rows import ANSWER
from headroom.claims.selection import main_metric, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.claims.words import Measured
from headroom.core.formatting import listing, number
from headroom.report.names import PART_NAMES, points_on
from headroom.report.palette import KIND_NAMES
from headroom.report.tasks import task_name, words_of
from headroom.report.verdicts import measured

UNSKILLED = "the models score no more with their heads than without"

_REPULSION = {
    LESS: "Training heads to repel each other ({}) makes models less prunable",
    MORE: "Training heads to repel each other ({}) makes models more prunable",
    SAME: "Training heads to repel each other ({}) does not noticeably change what can be pruned",
    OPEN: "Whether training heads to repel each other ({}) changes what can be pruned is undecided at this scale",
}


class Answer:
    """The numbers of the answer, and what is named in its sentences.

    Args:
        numbers: The table `numbers`.
        tables: The tables of the study, for the names of tasks, metrics and arms.
    """

    def __init__(self, numbers: pandas.DataFrame, tables: StudyTables) -> None:
        self.tables = tables
        self._rows = rows_where(numbers, what=ANSWER)

    def parts(self, task: str, name: str) -> dict[str, Measured]:
        """Return a number of a task for each of its parts, "" for the whole."""
        rows = rows_where(self._rows, task=task, name=name)
        return dict(zip(rows["part"], measured(rows.assign(words="{}"))))

    def one(self, task: str, name: str, part: str = "") -> Measured | None:
        """Return a number of a task, or of a part of it; None if it was not found."""
        return self.parts(task, name).get(part)

    def by_task(self, say: Callable[[str], str]) -> dict[str, str]:
        """Return what can be said of each task; tasks without the numbers are left out."""
        said = {task: say(task) for task in self.tables.tasks}
        return {task: text for task, text in said.items() if text}

    def texts(self, name: str, after: str = "") -> dict[str, str]:
        """Return a number of each task that has it, as text, with what follows."""
        return self.by_task(lambda task: f"{one}{after}" if (one := self.one(task, name)) else "")

    def listed(self, said: Mapping[str, str]) -> str:
        """Return what is said of several tasks as one list: `30 % (translation) and 60 % (SST-2)`."""
        several = len(self.tables.tasks) > 1
        return listing(f"{text} ({task_name(task)})" if several else text for task, text in said.items())

    def metric(self, task: str) -> str:
        """Return the main metric of a task's pruning curves in a sentence."""
        return metric_word(main_metric(self.tables.of_task(task).pruning))


def sentences(numbers: pandas.DataFrame, tables: StudyTables) -> list[str]:
    """Return five sentences: what can go, which kinds or layers matter, orders, speed, repulsion or tests.

    Where roles or learned gates were examined, a sentence about them stands before speed.

    Args:
        numbers: The table `numbers`.
        tables: The tables of the study, for the names of tasks, metrics and arms.
    """
    answer = Answer(numbers, tables)
    curve, order = "no pruning curve was run", "no random order was run"
    skilled = [one.found.value for task in tables.tasks if (one := answer.one(task, "skilled_runs"))]
    if skilled and not any(skilled):
        curve = order = UNSKILLED
    return [
        _removable(answer) or f"How many heads can be removed is not known: {curve}.",
        _kinds(answer) or "Which kind of attention matters most is not known: its curves were not run.",
        _orders(answer) or f"Whether importance beats chance is not known: {order}.",
        *filter(None, [_roles(answer)]),
        _speed(answer) or "What removal gains in time is not known: timing was not run.",
        _repulsion(answer)
        or _tests(answer)
        or "What repulsion between heads changes is not known: no repulsive arm was run.",
    ]


def _removable(answer: Answer) -> str:
    removable = answer.texts("removable")
    if not removable:
        return ""
    words = [_noticeable(answer, kind) for kind in ("translation", "classification") if kind in map(kind_of, removable)]
    sentence = (
        f"Of all heads, {answer.listed(removable)} can be removed, least important first, before the model loses"
        f" more than {' or, in classification, '.join(words)}"
    )
    alone = answer.texts("unchanged")
    return sentence + (f"; one at a time, {answer.listed(alone)} go without a significant change." if alone else ".")


def _noticeable(answer: Answer, kind: str) -> str:
    share = f"{100 * threshold('M7', 'margin', kind):.0f} %"
    if kind == "classification":
        return f"{share} of what it scores above chance"
    return f"{share} of its {answer.metric(next(task for task in answer.tables.tasks if kind_of(task) == kind))}"


def _kinds(answer: Answer) -> str:
    """Say which kind of attention can be spared least; of classifiers, how many layers need more than one head."""
    parts = list(answer.by_task(lambda task: _kinds_of_one(answer, task)).values())
    classified = answer.texts("one_head_enough", " of layers")
    if classified:
        parts.append(f"One head, chosen on other data, is enough in {answer.listed(classified)}.")
    return " ".join(parts)


def _kinds_of_one(answer: Answer, task: str) -> str:
    removed, found = answer.one(task, "removed_of_kind"), answer.parts(task, "kept_of_kind")
    kept = {kind: found[kind] for kind in KIND_NAMES if kind in found}
    if not removed or not kept:
        return ""
    standing_out = answer.parts(task, "stands_out")
    worst = next(iter(standing_out), min(kept, key=lambda kind: kept[kind].found.value))
    others = {kind: share for kind, share in kept.items() if kind != worst}
    against = listing(f"{share} for {KIND_NAMES[kind]}" for kind, share in others.items())
    opening = (
        f"The model can spare {KIND_NAMES[worst]} least"
        if standing_out
        else "No kind of attention stands out from both others"
    )
    return (
        f"{opening}: with {removed} of the heads of {KIND_NAMES[worst]} removed it keeps {kept[worst]} of its"
        f" {answer.metric(task)}, against {against}."
    )


def _orders(answer: Answer) -> str:
    over_chance = answer.by_task(lambda task: _gain(answer.one(task, "gain_over", "random")))
    if not over_chance:
        return ""
    kinds = {kind_of(task) for task in over_chance}
    full = {
        "translation": f"the full {answer.metric(next(iter(over_chance)))}",
        "classification": "the full model’s score above chance",
    }
    of = full[kinds.pop()] if len(kinds) == 1 else "the full model’s score (in classification above chance)"
    sentence = (
        f"Averaged along the pruning curve, removing by gradient importance keeps {answer.listed(over_chance)}"
        f" of {of} than removing at random"
    )
    over_ablation = answer.by_task(lambda task: _gain(answer.one(task, "gain_over", "ablation")))
    if over_ablation:
        sentence += f", and {answer.listed(over_ablation)} than removing by single-head ablation effects"
    return sentence + "."


def _gain(found: Measured | None) -> str:
    """Return `12 [8, 15] % more` or `3 [1, 5] % less`."""
    if found is None:
        return ""
    less = found.found.value < 0
    return f"{replace(found, found=-found.found if less else found.found, signed=False)} {'less' if less else 'more'}"


def _roles(answer: Answer) -> str:
    """Say for how many relations a head was found, and what learned gates leave."""
    relations = answer.texts("relations")
    left = answer.by_task(lambda task: _left(answer, task))
    parts = []
    if relations:
        parts.append(
            f"for {answer.listed(relations)} of the syntactic relations and directions some head finds the related word"
            f" at least {100 * threshold('V4', 'margin'):.0f} points more often than its usual position does"
        )
    if left:
        parts.append(f"learned gates leave {answer.listed(left)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _left(answer: Answer, task: str) -> str:
    heads, score = answer.one(task, "gates_heads"), answer.one(task, "gates_score")
    return f"{heads.bare()} of the encoder’s heads and {score} of the score" if heads and score else ""


def _speed(answer: Answer) -> str:
    """Say what slicing out half of the heads gains."""
    for task in answer.tables.tasks:
        share, batch = answer.one(task, "timed_share"), answer.one(task, "timed_batch")
        if share and batch:
            return _speed_of_one(answer, task, share, batch)
    gains = answer.by_task(lambda task: _speedup(answer, task))
    if not gains:
        return ""
    told = listing(f"{gain} for {task_name(task)}" for task, gain in gains.items())
    return f"With half of the heads really removed, speed on the largest batches is multiplied by {told}."


def _speed_of_one(answer: Answer, task: str, share: Measured, batch: Measured) -> str:
    found = answer.parts(task, "speedup")
    parts = [f"{_speedup(answer, task, part)} for {PART_NAMES[part]}" for part in found]
    masked = answer.one(task, "masked_speedup")
    control = f"; masking alone multiplies it by {number(masked.found.value)}" if masked else ""
    return (
        f"With {share} of the heads really removed and {batch} {words_of(task).example}s a batch, speed is"
        f" multiplied by {listing(parts)}{control}."
    )


def _speedup(answer: Answer, task: str, part: str = "") -> str:
    found, expected = answer.one(task, "speedup", part), answer.one(task, "expected_speedup", part)
    return f"{found} (expected {number(expected.found.value)})" if found and expected else ""


def _repulsion(answer: Answer) -> str:
    """Say what repulsion changes in every task with a repulsive arm."""
    return " ".join(answer.by_task(lambda task: _repulsion_in(answer, task)).values())


def _repulsion_in(answer: Answer, task: str) -> str:
    view = answer.tables.of_task(task)
    pair = main_pair(view)
    changes = listing(_changes(answer, view))
    area = answer.parts(task, "area")
    if pair is None or not (area or changes):
        return ""
    name = pair.arm.name + (f", {task_name(task)}" if len(answer.tables.tasks) > 1 else "")
    score = answer.one(task, "score")
    unsure = " These are of one seed, without intervals." if score and score.found.low != score.found.low else ""
    for effect, found in area.items():
        share = answer.one(task, "removable_by")
        went = f", the share of heads that can go by {share}" if share else ""
        beside = f"; it changes {changes}" if changes else ""
        opening = _REPULSION[effect].format(name)
        area_text = f"the area under the pruning curve changes by {found} of the full score"
        return f"{opening}: {area_text}{went}{beside}.{unsure}"
    return f"Training heads to repel each other ({name}) changes {changes}.{unsure}"


def _changes(answer: Answer, view: StudyTables) -> list[str]:
    """Return what changes besides: quality, likeness of heads, time."""
    named = (
        ("score", lambda one: f"the score by {one} {points_on(view)}"),
        ("likeness", lambda one: f"linear CKA between outputs of heads by {one}"),
        ("update_time", lambda one: f"the time of an update by {one}"),
    )
    found = ((answer.one(view.task, name), say) for name, say in named)
    return [say(one) for one, say in found if one]


def _tests(answer: Answer) -> str:
    """Say what the choice of the test changes for classifiers: heads called changed in the first run."""
    parts = answer.by_task(lambda task: _tests_of(answer, task)).values()
    level = threshold("M1", "screening")
    return f"Which test is asked matters: {'; '.join(parts)} (p < {level:g})." if parts else ""


def _tests_of(answer: Answer, task: str) -> str:
    heads = answer.one(task, "tested_heads")
    if not heads:
        return ""
    of = f" of {task_name(task)}" if len(answer.tables.tasks) > 1 else ""
    unpaired, mcnemar, holm = (answer.one(task, f"changed_{name}") for name in ("unpaired", "mcnemar", "mcnemar_holm"))
    return (
        f"of {heads} heads{of} removed alone the paper’s unpaired t-test calls {unpaired} changed, McNemar’s paired"
        f" test {mcnemar}, and {holm} are left after Holm’s correction"
    )
