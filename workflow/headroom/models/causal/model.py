"""A causal model of transformers with its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)
from collections.abc import Callable

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.data.documents import read_documents
from headroom.models.batch import Batch
from headroom.models.causal.windows import Window, Windows
from headroom.models.find_sites import count_tokens
from headroom.models.model import HubModel, count_bytes, sum_nats
from headroom.models.sites import Positions
from headroom.models.verification import Trial
from headroom.models.workload import Workload, middle

_TRACED = 16
"""Positions on which passes are traced."""


@dataclass(frozen=True)
class WindowBatch(Batch):
    """Windows of text, padded on the right.

    Attributes:
        inputs: The inputs of the forward pass, `input_ids` and `attention_mask`: (B, T) each.
        predicted: Which tokens are predicted, (B, T): from those before them.
    """

    inputs: dict[str, Tensor]
    predicted: Tensor

    @property
    def tokens(self) -> Tensor:
        """The indices of the tokens, (B, T)."""
        return self.inputs["input_ids"]

    @property
    def target(self) -> Tensor:
        """The tokens that are predicted at each position but the last, (B, T - 1); -100 where none is."""
        return self.tokens[:, 1:].where(self.predicted[:, 1:], -100)

    @property
    def answers(self) -> Tensor:
        """The right answer at each position, (B, T): the next token; -100 where none is predicted."""
        return torch.nn.functional.pad(self.target, (0, 1), value=-100)


class WindowModel(HubModel[WindowBatch]):
    """A model that predicts tokens of text."""

    example = "window"
    batch_type: ClassVar[type[WindowBatch]] = WindowBatch

    def batches(self, windows: Windows, *, size: int) -> list[WindowBatch]:
        """Return windows in batches of similar length and limited size.

        Raises:
            HeadroomError: If the model reads fewer tokens than a window has.
        """
        rows = windows.windows
        longest = max(len(row.tokens) for row in rows)
        if longest > self.longest:
            raise HeadroomError(f"windows.length: {longest} exceeds the {self.longest} tokens of the model; give less")
        lengths = [len(row.tokens) for row in rows]
        order = sorted(range(len(rows)), key=lambda place: (lengths[place], place))
        return [self._batch(chunk, [rows[place] for place in chunk]) for chunk in self.chunks(order, lengths, size)]

    def real(self, batch: WindowBatch) -> Positions:
        """Return which positions are not padding."""
        mask = batch.inputs["attention_mask"].bool()
        return {self.reads: (mask, mask)}

    def ordinary(self, batch: WindowBatch) -> Positions:
        """Return which positions are neither padding nor tokens with a special meaning."""
        ordinary = self.is_ordinary(batch.tokens) & batch.inputs["attention_mask"].bool()
        return {self.reads: (ordinary, ordinary)}

    def sentence_batches(self, sentences: Sequence[str], size: int) -> list[WindowBatch]:
        """Return sentences in batches, of which all tokens are predicted; what is too long is truncated."""
        tokens: Any = self.encode(sentences)["input_ids"]
        rows = [Window(own, 1, text, len(text.encode())) for own, text in zip(tokens, sentences)]
        return self.batches(Windows(rows), size=size)

    def shorten(self, batch: WindowBatch) -> WindowBatch:
        """Return the first positions of a batch."""
        inputs = {name: tensor[:, :_TRACED] for name, tensor in batch.inputs.items()}
        return replace(batch, inputs=inputs, predicted=batch.predicted[:, :_TRACED])

    def frequencies(self, text: Path) -> Tensor | None:
        """Return the frequency of each token in documents, (V,); None without text."""
        if not text.is_file():
            return None
        counts = torch.zeros(count_tokens(self.model), dtype=torch.long)
        encoded: Any = self.tokenizer(read_documents(text), add_special_tokens=False)
        for tokens in encoded["input_ids"]:
            counts += torch.bincount(torch.tensor(tokens, dtype=torch.long), minlength=len(counts))
        return counts

    def _batch(self, positions: list[int], rows: Sequence[Window]) -> WindowBatch:
        tokens = [row.tokens for row in rows]
        inputs = self.pad({"input_ids": tokens, "attention_mask": [[1] * len(row) for row in tokens]})
        predicted = torch.zeros_like(inputs["input_ids"], dtype=torch.bool)
        for own, row in zip(predicted, rows):
            own[torch.tensor(row.predicted, dtype=torch.long, device=self.device)] = True
        return self.batch_type(positions, inputs, predicted)


class CausalModel(WindowModel):
    """A language model, which predicts every token from those before it."""

    task = "AutoModelForCausalLM"
    reads = "D"

    def trial(self) -> Trial:
        """Return two short texts of different lengths, and the same with padding on the left as a prompt."""
        texts = ["one two three four", "five"]
        inputs = self.sentence_batches(texts, 2)[0].inputs
        prompt: Any = self.tokenizer(texts, padding=True, padding_side="left", return_tensors="pt")
        names = ("input_ids", "attention_mask")
        return Trial(inputs, {name: prompt[name].to(self.device) for name in names})

    def logits(self, batch: WindowBatch) -> Tensor:
        """Return the logits, (B, T, V), in float32 or better."""
        logits: Tensor = self.model(**batch.inputs, use_cache=False)[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def losses(self, batch: WindowBatch) -> tuple[Tensor, Tensor]:
        """Return the summed negative log-likelihood of the predicted tokens (B,) in nats, and their number (B,)."""
        if torch.is_grad_enabled():
            return sum_nats(self.logits(batch)[:, :-1], batch.target)
        return self.read_targets(batch, batch.answers)[0].sum(1), batch.predicted[:, 1:].sum(1)

    def scored_batches(self, sentences: Sequence[str], size: int) -> list[WindowBatch]:
        """Return sentences in batches, of which every token is predicted.

        Before each stands the token that begins a text, or else the one that ends it, as between documents.

        Raises:
            HeadroomError: If the tokenizer has neither, or a sentence is too long for the model.
        """
        begin = next(
            (one for one in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id) if one is not None), None
        )
        if begin is None:
            raise HeadroomError("tokenizer: has no token that begins or ends a text; sentences cannot be scored")
        encoded: Any = self.tokenizer(list(sentences), add_special_tokens=False)
        rows = [
            Window([begin, *own], 1, text, len(text.encode())) for own, text in zip(encoded["input_ids"], sentences)
        ]
        if wrong := next((row for row in rows if len(row.tokens) > self.longest), None):
            raise HeadroomError(
                f"pairs: '{wrong.text[:40]}...' has {len(wrong.tokens)} tokens, more than the {self.longest} that the "
                "model reads; leave it out"
            )
        return self.batches(Windows(rows), size=size)


PARTS = ("prefill", "generation")

STEPS = 16
"""Generated tokens, if the model has room for twice as many."""


@dataclass(frozen=True)
class CausalWorkload(Workload[CausalModel]):
    """One batch of an evaluation set: read at once, or continued by greedy generation with a cache."""

    batch: WindowBatch
    steps: int
    parts = PARTS

    @property
    def shape(self) -> dict[str, int]:
        """Length of the padded windows in tokens, and steps of generation."""
        return {"length": self.batch.tokens.shape[1], "steps": self.steps}

    def action(self, model: CausalModel, part: str) -> Callable[[], object]:
        """Return the timed function: a forward pass that fills a cache, or a fixed number of steps after one."""
        whole: Any = model.model
        if part == "prefill":
            return lambda: whole(**self.batch.inputs, use_cache=True)
        return lambda: whole.generate(
            **self.batch.inputs, max_new_tokens=self.steps, min_new_tokens=self.steps, do_sample=False, num_beams=1
        )

    def cache_bytes(self, model: CausalModel, part: str) -> int:  # noqa: ARG002
        """Return the size of the cache once the windows are read."""
        return count_bytes(self.action(model, "prefill")())


def workload(model: CausalModel, examples: Windows, size: int) -> CausalWorkload:
    """Return windows of the set's middle lengths, cut to leave room for generation; errors as in `middle`."""
    rows, steps = examples.windows, min(STEPS, model.longest // 2)
    chosen = [rows[place] for place in middle([len(row.tokens) for row in rows], size)]
    cut = [replace(row, tokens=row.tokens[: model.longest - steps]) for row in chosen]
    (batch,) = model.batches(Windows(cut), size=size)
    return CausalWorkload(batch, steps)
