"""The verdicts of a study as plain text, for a terminal."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from textwrap import shorten, wrap

from headroom.claims.entries import Claim, fill_in, read_papers
from headroom.claims.evaluation import Decision, recommend
from headroom.claims.verdict import FAILS_HERE, HOLDS_HERE, NOT_COMPARABLE, UNDECIDED, VERDICTS, Number
from headroom.core.errors import visible
from headroom.study.task_info import METRICS, TASKS, Metric, TaskKind

WIDTH = 100
"""Columns of a terminal."""


def board(decisions: Sequence[Decision]) -> str:
    """Return every claim with its verdict and main number per task, grouped by paper, and a tally.

    No line is longer than `WIDTH`, unless names of tasks are.
    """
    lines: list[str] = []
    width = max((len(one.task) for one in decisions), default=0)
    for paper in read_papers():
        own = {claim.id for claim in paper.claims}
        decided = [one for one in decisions if one.claim.id in own]
        if not decided:
            continue
        lines += [*wrap(f"{paper.authors}: {paper.title}", WIDTH), ""]
        for _, group in groupby(decided, key=lambda one: one.claim.id):
            lines += _claim(list(group), width)
        lines.append("")
    tally = Counter(one.verdict for one in decisions)
    lines.append(", ".join(f"{word}: {tally[word]}" for word in VERDICTS if tally[word]))
    return visible("\n".join(lines)) + "\n"


def _claim(group: list[Decision], width: int) -> Iterator[str]:
    claim = group[0].claim
    yield from wrap(claim.sentence, WIDTH, initial_indent=f"{claim.id:5}", subsequent_indent=" " * 5)
    for one in group:
        start = f"     {one.task:{width}}  {_SHORT.get(one.verdict, one.verdict):18}  "
        whole = one.whole
        words = in_words(claim, whole.deciding, one.task, one.kind) if whole and whole.numbers else ""
        barrier = whole.barrier if whole else ""
        words = "; ".join(filter(None, [one.part, words, barrier, recommend(one)]))
        room = max(WIDTH - len(start), 20)
        yield (start + shorten(words, room, placeholder=" ...")).rstrip()


_SHORT = {
    HOLDS_HERE: "holds (this model)",
    FAILS_HERE: "fails (this model)",
    UNDECIDED: "undecided",
    NOT_COMPARABLE: "not comparable",
}


def site_word(kinds: Collection[str]) -> str:
    """Return what an attention site is called in a model with these kinds of attention."""
    return "layer" if len(set(kinds)) == 1 else "site"


def metric_name(metric: str) -> str:
    """Return the name of a metric with its unit, for axes and headings."""
    return _metric(metric).name


def metric_word(metric: str) -> str:
    """Return the name of a metric in a sentence: `BLEU`, `accuracy`."""
    return _metric(metric).word


def metric_points(metric: str) -> str:
    """Return what follows a difference: `BLEU`, `points of accuracy`."""
    return _metric(metric).points


def metric_after(metric: str) -> str:
    """Return what follows a value: `BLEU`, `% accuracy`."""
    return _metric(metric).after


def _metric(metric: str) -> Metric:
    return METRICS.get(metric, Metric(metric))


def in_words(claim: Claim, one: Number, task: str, kind: TaskKind) -> str:
    """Return a number of a claim in the words of the claim's entry."""
    return words_for(claim, one, task, kind).replace("{}", one.text(), 1)


def words_for(claim: Claim, one: Number, task: str, kind: TaskKind) -> str:
    """Return the words for a number of a claim, `{}` in place of the number."""
    about = {**one.about, **one.chosen, "above": TASKS[kind].above}
    points = {"points": metric_points(str(about["metric"]))} if "metric" in about else {}
    return fill_in(claim.numbers[one.name], claim.thresholds_of(task, kind) | about | points)
