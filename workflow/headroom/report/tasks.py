"""The two kinds of tasks, and the words that differ between them."""

from dataclasses import dataclass

from headroom.claims.study_tables import TaskKind, kind_of

_NAMES = {
    "translation": "translation",
    "entailment": "entailment",
    "sst2": "SST-2",
    "cola": "CoLA",
    "mrpc": "MRPC",
    "rte": "RTE",
    "snli": "SNLI",
    "mnli": "MNLI",
    "qnli": "QNLI",
    "qqp": "QQP",
}


@dataclass(frozen=True)
class Words:
    """Words that differ between the two kinds of tasks.

    Attributes:
        example: What a set consists of, in the singular.
        answered: What the model does with a set, in the past tense.
        answers: What it gives.
        loss: The loss with its unit.
        site: What a site is called where all are of one kind.
        of_score: What shares of the score are shares of.
        kept: The same on an axis.
    """

    example: str
    answered: str
    answers: str
    loss: str
    site: str
    of_score: str
    kept: str

    @property
    def score(self) -> str:
        """What shares of the score are shares of, without article: `score`, `score above chance`."""
        return self.of_score.removeprefix("of the ")


_WORDS: dict[TaskKind, Words] = {
    "translation": Words(
        example="sentence",
        answered="translated",
        answers="translations",
        loss="loss (nats per token)",
        site="site",
        of_score="of the score",
        kept="score (% of full model)",
    ),
    "classification": Words(
        example="example",
        answered="classified",
        answers="labels",
        loss="loss (nats per example)",
        site="layer",
        of_score="of the score above chance",
        kept="above chance (% of full model)",
    ),
}


def words_of(task: str) -> Words:
    """Return the words for a task."""
    return _WORDS[kind_of(task)]


def task_name(task: str) -> str:
    """Return a task as readers should see it: `sst2` is SST-2; an unknown task keeps its name."""
    return _NAMES.get(task, task)


def heading(task: str) -> str:
    """Return a task as the heading of a part of a section: `Translation`, `SST-2`."""
    name = task_name(task)
    return name[:1].upper() + name[1:]
