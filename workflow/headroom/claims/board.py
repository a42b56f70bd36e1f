"""The verdicts of a study as plain text, for a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import shorten, wrap

from headroom.claims.entries import read_papers
from headroom.claims.evaluation import Decision, recommend
from headroom.claims.verdict import FAILS_HERE, HOLDS_HERE, NOT_COMPARABLE, UNDECIDED, VERDICTS
from headroom.claims.words import in_words
from headroom.core.errors import visible

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
