"""The papers, exhibit by exhibit: their key numbers beside ours, and where to find ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headroom.claims.study_tables import StudyTables, TaskKind, kind_of
from headroom.report import paper_numbers as ours
from headroom.report.spec import Section, figures_of

TITLE = "The papers, exhibit by exhibit"


@dataclass(frozen=True)
class Found:
    """Our number for an exhibit of the paper, and the anchor of ours; the task in a study of several."""

    words: str
    anchor: str
    task: str


@dataclass(frozen=True)
class PaperExhibit:
    """A figure or table of the paper, its key number, and ours for every task; nothing if it was not run."""

    name: str
    about: str
    paper: str
    found: tuple[Found, ...]


@dataclass(frozen=True)
class PaperIndex:
    """A paper and its exhibits."""

    paper: str
    exhibits: list[PaperExhibit]


@dataclass(frozen=True)
class Entry:
    """What one line of the index needs.

    Attributes:
        name: The paper's figure or table.
        about: What it shows.
        paper: Its key number.
        kinds: The kinds of tasks that it is about.
        exhibit: Our exhibit.
        read: Returns our number for one task, "" without the rows.
    """

    name: str
    about: str
    paper: str
    kinds: tuple[TaskKind, ...]
    exhibit: str
    read: Callable[[StudyTables], str]


_MT: tuple[TaskKind, ...] = ("translation",)
_BERT: tuple[TaskKind, ...] = ("classification",)
_ALL: tuple[TaskKind, ...] = (*_MT, *_BERT)

ENTRIES = (
    Entry(
        name="Figure 1a",
        about="scores without one head, translation",
        paper="240 of 288 heads within 0.1 BLEU of the full model",
        kinds=_MT,
        exhibit="ablation_histogram",
        read=lambda tables: ours.near(tables, 0.1),
    ),
    Entry(
        name="Figure 1b",
        about="scores without one head, BERT",
        paper="128 of 144 heads within 0.2 points of accuracy",
        kinds=_BERT,
        exhibit="ablation_histogram",
        read=lambda tables: ours.near(tables, 0.2),
    ),
    Entry(
        name="Table 1",
        about="change without each encoder head",
        paper="8 of 96 at p < 0.01: 4 worse, 4 better",
        kinds=_MT,
        exhibit="ablation",
        read=ours.significant,
    ),
    Entry(
        name="Table 2",
        about="one head per site, same data",
        paper="13 of 18 sites not significant; worst −13.56 BLEU (A6)",
        kinds=_MT,
        exhibit="keep_one",
        read=lambda tables: ours.one_head(tables, on_same=True),
    ),
    Entry(
        name="Table 3",
        about="one head per layer of BERT, same data",
        paper="12 of 12 layers not significant; worst −0.96 points",
        kinds=_BERT,
        exhibit="keep_one",
        read=lambda tables: ours.one_head(tables, on_same=True),
    ),
    Entry(
        name="Figure 2a",
        about="effects in two domains, translation",
        paper="Pearson 0.56",
        kinds=_MT,
        exhibit="agreement",
        read=ours.pearson,
    ),
    Entry(
        name="Figure 2b",
        about="effects in two domains, BERT",
        paper="Pearson 0.68",
        kinds=_BERT,
        exhibit="agreement",
        read=ours.pearson,
    ),
    Entry(
        name="Figure 3a",
        about="heads removed by two orders, translation",
        paper="at 50 %: 78 % of the score kept by gradient, 18 % by ablation",
        kinds=_MT,
        exhibit="curves",
        read=ours.half_removed,
    ),
    Entry(
        name="Figure 3b",
        about="heads removed by two orders, BERT",
        paper="at 50 %: 96 % above chance kept by gradient, 75 % by ablation",
        kinds=_BERT,
        exhibit="curves",
        read=ours.half_removed,
    ),
    Entry(
        name="Table 4",
        about="speed with half of the heads really removed",
        paper="BERT, batches of 64: +17.5 %, of 1: +1.9 %",
        kinds=_ALL,
        exhibit="timing",
        read=ours.gains,
    ),
    Entry(
        name="Figure 4",
        about="heads of one kind removed",
        paper="at 70 %: 84 % (E), 29 % (A), 89 % (D) of the score kept",
        kinds=_MT,
        exhibit="curves_by_kind",
        read=ours.kinds,
    ),
    Entry(
        name="Figure 5",
        about="pruning at every epoch",
        paper="at 40 %: 71 % of the score kept in epoch 1, 92 % in epoch 40",
        kinds=_ALL,
        exhibit="settling",
        read=ours.epochs,
    ),
    Entry(
        name="Table 5",
        about="one head per site, chosen on other data",
        paper="9 of 18 sites not significant; worst −18.89 BLEU (A6)",
        kinds=_MT,
        exhibit="keep_one",
        read=lambda tables: ours.one_head(tables, on_same=False),
    ),
    Entry(
        name="Table 6",
        about="one head per layer of BERT, chosen on other data",
        paper="12 of 12 layers not significant; worst −0.96 points",
        kinds=_BERT,
        exhibit="keep_one",
        read=lambda tables: ours.one_head(tables, on_same=False),
    ),
    Entry(
        name="Figure 6",
        about="other tasks",
        paper="at 50 %: 98 % (SST-2), 100 % (CoLA, MRPC), 85 % (IWSLT) of the score kept",
        kinds=_ALL,
        exhibit="curves",
        read=ours.half_by_gradient,
    ),
)


def paper_index(
    tables: StudyTables, parts: Sequence[Section], entries: Sequence[Entry] = ENTRIES
) -> list[PaperExhibit]:
    """Return every figure and table of a paper with what this study found.

    Args:
        tables: The tables of the study.
        parts: The sections of the report, which have the exhibits to point to.
        entries: The figures and tables, default those of the first paper.
    """
    shown = {figure.name for part in parts for figure in figures_of(part)}
    return [PaperExhibit(entry.name, entry.about, entry.paper, _found(entry, tables, shown)) for entry in entries]


def _found(entry: Entry, tables: StudyTables, shown: set[str]) -> tuple[Found, ...]:
    found = []
    for task in tables.tasks:
        words = entry.read(tables.of_task(task)) if kind_of(task) in entry.kinds else ""
        suffix = "" if task == tables.task else f"-{task}"
        # most figures show all tasks and are there once
        name = next((one for one in (entry.exhibit + suffix, entry.exhibit) if one in shown), "")
        if words and name:
            found.append(Found(words, f"figure-{name}", task if len(tables.tasks) > 1 else ""))
    return tuple(found)
