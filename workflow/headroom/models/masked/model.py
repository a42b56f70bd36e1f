"""A masked language model of transformers with its tokenizer, and the sets that it is evaluated on."""

from collections.abc import Sequence
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError
from headroom.models.causal.judging import WindowSet
from headroom.models.causal.model import WindowBatch, WindowModel
from headroom.models.causal.windows import Window, Windows
from headroom.models.model import sum_nats
from headroom.models.sites import AttentionSite, Positions
from headroom.models.verification import Trial
from headroom.models.workload import ForwardWorkload, middle


class MaskedBatch(WindowBatch):
    """Windows of text as it is; the model reads a mask in place of what is predicted."""

    @property
    def answers(self) -> Tensor:
        """The right answer at each position, (B, T): the token that is masked; -100 where none is."""
        return self.tokens.where(self.predicted, -100)


class MaskedModel(WindowModel):
    """A masked language model, which predicts tokens from those on both sides.

    Raises:
        HeadroomError: If it attends to the past alone, or its tokenizer has no mask.
    """

    task = "AutoModelForMaskedLM"
    batch_type = MaskedBatch

    def __init__(
        self, *, model: PreTrainedModel, sites: list[AttentionSite], tokenizer: PreTrainedTokenizerBase
    ) -> None:
        name = type(model).__name__
        if decoders := [str(live.site) for live in sites if live.site.kind != "E"]:
            raise HeadroomError(f"{name}: site {decoders[0]} is one of a decoder; give an encoder, is_decoder: false")
        if tokenizer.mask_token_id is None:
            raise HeadroomError(f"{name}: its tokenizer has no mask; define mask_token, or ask it by another task")
        super().__init__(model=model, sites=sites, tokenizer=tokenizer)

    def trial(self) -> Trial:
        """Return two short texts of different lengths."""
        return Trial(self.sentence_batches(["one two three four", "five"], 2)[0].inputs)

    def logits(self, batch: WindowBatch) -> Tensor:
        """Return the logits, (B, T, V), in float32 or better, with a mask in place of what is predicted."""
        read = batch.tokens.masked_fill(batch.predicted, self.tokenizer.mask_token_id)
        logits: Tensor = self.model(**{**batch.inputs, "input_ids": read})[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def losses(self, batch: WindowBatch) -> tuple[Tensor, Tensor]:
        """Return the summed negative log-likelihood of the masked tokens (B,) in nats, and their number (B,)."""
        if torch.is_grad_enabled():
            return sum_nats(self.logits(batch), batch.answers)
        return self.read_targets(batch, batch.answers)[0].sum(1), batch.predicted.sum(1)

    def ordinary(self, batch: WindowBatch) -> Positions:
        """Return which positions are neither padding, nor masked, nor tokens with a special meaning."""
        return {kind: (own & ~batch.predicted,) * 2 for kind, (own, _) in super().ordinary(batch).items()}

    def sentence_batches(self, sentences: Sequence[str], size: int) -> list[WindowBatch]:
        """Return sentences in batches without a mask; what is too long is truncated."""
        tokens: Any = self.encode(sentences)["input_ids"]
        rows = [Window(own, len(own), text, 0) for own, text in zip(tokens, sentences)]
        return self.batches(Windows(rows), size=size)


class MaskedSet(WindowSet):
    """Windows of documents with masked tokens."""

    metrics = ("masked", "loss")


def workload(model: MaskedModel, examples: Windows, size: int) -> ForwardWorkload[MaskedModel]:
    """Return a batch of windows of the set's middle lengths; errors as in `middle`."""
    rows = examples.windows
    chosen = [rows[place] for place in middle([len(row.tokens) for row in rows], size)]
    (batch,) = model.batches(Windows(chosen), size=size)
    return ForwardWorkload(batch)
