"""What a kind of task asks: its metrics, the loss that is noticeable, and the words that claims and pages use of it."""

from dataclasses import dataclass
from typing import Literal

TaskKind = Literal["translation", "classification", "language", "masked"]


@dataclass(frozen=True)
class Metric:
    """The names of a metric."""

    word: str  # in a sentence
    unit: str = ""
    difference: str = ""  # after a difference; its own name if not given, or points of it

    @property
    def name(self) -> str:
        """Its name with its unit, for axes and headings."""
        return f"{self.word} ({self.unit})" if self.unit else self.word

    @property
    def points(self) -> str:
        """What follows a difference."""
        return self.difference or (f"points of {self.word}" if self.unit == "%" else self.name)

    @property
    def after(self) -> str:
        """What follows a value."""
        return f"% {self.word}" if self.unit == "%" else self.word


METRICS = {
    "bleu": Metric("BLEU"),
    "chrf": Metric("chrF"),
    "exact": Metric("exact sentences", "%", "% of exact sentences"),
    "accuracy": Metric("accuracy", "%"),
    "f1": Metric("F1", "%"),
    "matthews": Metric("Matthews correlation", "× 100", "points of Matthews correlation (× 100)"),
    "next": Metric("next tokens predicted", "%"),
    "masked": Metric("masked tokens predicted", "%"),
    "loss": Metric("loss", "nats"),
    "bits": Metric("bits per byte"),
    "perplexity": Metric("perplexity"),  # in no table: the exponential of a language model's loss
    "kl": Metric("KL divergence", "nats"),
}
"""By their names in tables. BLEU is sacrebleu's, on detokenised text or, of IWSLT, on lower-cased tokens."""


@dataclass(frozen=True)
class TaskInfo:
    """What a kind of task asks of a model."""

    metrics: tuple[str, ...]  # its metrics but the loss: the first that a study has is its main one
    example: str  # what a set consists of, in the singular
    unit_of_loss: str  # what the loss is an average over
    # whether shares of the score begin at chance, the best score of a constant answer: it is 0 elsewhere
    above_chance: bool
    margin: float  # losing this share of the score (above chance) is noticeable

    @property
    def above(self) -> str:
        """What follows the name of a score where it is counted from chance: ` above chance`; else ""."""
        return " above chance" if self.above_chance else ""

    @property
    def score(self) -> str:
        """What shares of the score are shares of: `score`, `score above chance`."""
        return f"score{self.above}"

    @property
    def kept(self) -> str:
        """The same on an axis."""
        return f"{'above chance' if self.above_chance else 'score'} (% of full model)"

    @property
    def loss(self) -> str:
        """The loss with its unit."""
        return f"loss (nats per {self.unit_of_loss})"


TASKS: dict[TaskKind, TaskInfo] = {
    "translation": TaskInfo(("bleu", "chrf", "exact"), "sentence", "token", above_chance=False, margin=0.02),
    "classification": TaskInfo(("accuracy", "f1", "matthews"), "example", "example", above_chance=True, margin=0.03),
    "language": TaskInfo(("next", "bits"), "window", "token", above_chance=True, margin=0.03),
    "masked": TaskInfo(("masked",), "window", "masked token", above_chance=True, margin=0.03),
}
"""Margins: Michel et al. 2019 call losses of 1.2 % (0.42 of 36.05 BLEU) and 2.4 % (SST-2: 1.0 of the 41.8 points above
chance) not noticeable; the remainder allows for sampling error. That of predicted tokens is the one of other scores
above chance."""


def kind_of_metric(metric: str) -> TaskKind:
    """Return the kind of tasks that a metric is of; translation for the loss, which all have, and unknown ones."""
    return next((kind for kind, info in TASKS.items() if metric in info.metrics), "translation")
