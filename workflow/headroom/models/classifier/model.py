"""A classifier of transformers with its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError, shorten
from headroom.core.files import read_lines
from headroom.data.labelled import LabelledText, read_labelled
from headroom.models.batch import Batch
from headroom.models.find_sites import count_cut, count_tokens, find_accepted_inputs, real_positions
from headroom.models.head_model import take_rows
from headroom.models.model import HubModel
from headroom.models.sites import AttentionSite, Positions
from headroom.models.verification import Trial
from headroom.models.weights import check_classifier
from headroom.models.workload import ForwardWorkload, middle


@dataclass(frozen=True)
class LabelledBatch(Batch):
    """Labelled examples.

    Attributes:
        inputs: The inputs of the forward pass, `input_ids`, `attention_mask`, ...: (B, T) each.
        labels: Indices of the classes, (B,).
    """

    inputs: dict[str, Tensor]
    labels: Tensor

    @property
    def tokens(self) -> Tensor:
        """The indices of the tokens, (B, T)."""
        return self.inputs["input_ids"]

    @property
    def mask(self) -> Tensor:
        """Which positions are not padding, as 0 and 1, (B, T)."""
        return self.inputs["attention_mask"]

    def without_padding(self) -> Self:
        """Return the batch without the columns that are padding in all rows, on either side."""
        real = self.mask.any(0)  # (T,)
        return replace(self, inputs={name: tensor[:, real] for name, tensor in self.inputs.items()})


class ClassificationModel(HubModel[LabelledBatch]):
    """A trained classifier.

    Attributes:
        labels: The names of the classes, by index.
    """

    task = "AutoModelForSequenceClassification"

    def __init__(
        self, *, model: PreTrainedModel, sites: list[AttentionSite], tokenizer: PreTrainedTokenizerBase
    ) -> None:
        super().__init__(model=model, sites=sites, tokenizer=tokenizer)
        config: Any = model.config
        self.labels = [str(config.id2label[index]) for index in range(config.num_labels)]

    @classmethod
    def read_model(
        cls,
        directory: Path | str,
        attention: str,
        *,
        fresh: int | None,
        dtype: str,
        file: str | None,
    ) -> PreTrainedModel:
        """Return a classifier of one label, whole or sliced; arguments and errors as those of `load`."""
        if file:
            raise HeadroomError(f"{Path(directory) / file}: GGUF files have no classifiers; give safetensors")
        check_classifier(directory)
        return super().read_model(directory, attention, fresh=fresh, dtype=dtype, file=file)

    def trial(self) -> Trial:
        """Return two short texts of different lengths."""
        words = LabelledText(["one two three", "four"], None, self.labels[:1] * 2)
        return Trial(self.batches(words, examples=2)[0].inputs)

    def parts(self, batch: LabelledBatch, examples: int) -> list[LabelledBatch]:
        """Return a batch in parts of similar length, of so many examples at most, without columns of padding alone."""
        lengths = batch.mask.sum(1).tolist()
        order = sorted(range(len(lengths)), key=lambda row: (lengths[row], row))
        parts = [take_rows(batch, order[start : start + examples]) for start in range(0, len(order), examples)]
        return [part.without_padding() for part in parts]

    def batches(self, text: LabelledText, *, examples: int) -> list[LabelledBatch]:
        """Return examples in batches of similar length and limited size; raise for labels unknown to the model."""
        labels = [self._index(label) for label in text.labels]
        encoded = self.encode(text.first, text.second)
        rows = {name: encoded[name] for name in find_accepted_inputs(self.model, encoded)}
        segments = rows.get("token_type_ids", [[1]])
        if text.second is not None and not any(map(any, segments)):
            raise HeadroomError(
                f"{type(self.model).__name__} tells the sentences of a pair apart by segments, and its tokenizer gives "
                "one segment; give the tokenizer.json that the model was trained with"
            )
        lengths = [len(row) for row in rows["input_ids"]]
        order = sorted(range(len(labels)), key=lambda place: (lengths[place], place))
        return [self._batch(chunk, rows, labels) for chunk in self.chunks(order, lengths, examples)]

    def count_cut(self, text: LabelledText) -> int:
        """Return the number of examples that `batches` cuts to what the model reads."""
        return count_cut(self.tokenizer, self.longest, *text.sides)

    def logits(self, batch: LabelledBatch) -> Tensor:
        """Return the logits, (B, classes), in float32 or better."""
        logits: Tensor = self.model(**batch.inputs)[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def losses(self, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood of each label in nats (B,), and the number of targets (B,): ones."""
        nats = nn.functional.cross_entropy(self.logits(batch), batch.labels, reduction="none")
        return nats, torch.ones_like(batch.labels)

    def real(self, batch: LabelledBatch) -> Positions:
        """Return which positions are not padding."""
        return real_positions(self.model, batch.mask)

    def ordinary(self, batch: LabelledBatch) -> Positions:
        """Return which positions are neither padding nor separators."""
        ordinary = self.is_ordinary(batch.tokens)
        return {"E": (ordinary, ordinary)}

    def sentence_batches(self, sentences: Sequence[str], size: int) -> list[LabelledBatch]:
        """Return sentences in batches; their labels are arbitrary. What is too long for the model is truncated."""
        return self.batches(LabelledText(list(sentences), None, self.labels[:1] * len(sentences)), examples=size)

    def frequencies(self, text: Path) -> Tensor | None:
        """Return the frequency of each token in labelled text, (V,); None without text."""
        if not text.is_file() or len(read_lines(text)) < 2:
            return None
        counts = torch.zeros(count_tokens(self.model), dtype=torch.long)
        for side in read_labelled(text).sides:
            for tokens in self.tokenizer(side, add_special_tokens=False)["input_ids"]:
                counts += torch.bincount(torch.tensor(tokens, dtype=torch.long), minlength=len(counts))
        return counts

    def _index(self, label: str) -> int:
        if label not in self.labels:
            raise HeadroomError(
                f"label '{shorten(label)}': unknown to the model; use one of {shorten(', '.join(self.labels))} "
                "(id2label in its config.json)"
            )
        return self.labels.index(label)

    def _batch(self, positions: list[int], rows: dict[str, list[list[int]]], labels: list[int]) -> LabelledBatch:
        chunk = {name: [values[position] for position in positions] for name, values in rows.items()}
        return LabelledBatch(
            positions=list(positions),
            inputs=self.pad(chunk),
            labels=torch.tensor([labels[position] for position in positions], device=self.device),
        )


def workload(model: ClassificationModel, examples: LabelledText, size: int) -> ForwardWorkload[ClassificationModel]:
    """Return a batch of examples of the set's middle lengths; errors as in `middle`."""
    lengths = [sum(map(len, sentences)) for sentences in examples.inputs]
    (batch,) = model.batches(examples.taken(middle(lengths, size)), examples=size)
    return ForwardWorkload(batch)
