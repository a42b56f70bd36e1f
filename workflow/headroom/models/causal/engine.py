"""The engine of language models: causal models of transformers, and documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.errors import HeadroomError
from headroom.core.imports import without_collection
from headroom.data.documents import read_documents
from headroom.models.causal.windows import Windows, cut_documents
from headroom.models.engine import Engine
from headroom.settings.answers import WindowSettings

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.causal.judging import WindowSet
    from headroom.models.causal.model import WindowBatch, WindowModel
    from headroom.models.workload import Workload


class CausalEngine(Engine["WindowModel", Windows]):
    """Language models on windows of documents."""

    loss = "token-sum"  # summed over the predicted tokens of a window
    training_text = "train.jsonl"

    def __init__(self, *, windows: WindowSettings | None = None, **shared: Any) -> None:
        """Name the data and how it is read.

        Args:
            windows: Lengths of windows; None for the defaults.
            shared: See `Engine`; the corpus has `<set>.jsonl`: a document a line. The tokenizer of the checkpoint cuts
                documents into windows.
        """
        super().__init__(**shared)
        self.windows = windows or WindowSettings()
        self._tokenizer: Any = None
        self._dtype = ""

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> WindowModel:
        """Load a language model; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.models.causal.model import CausalModel
        return CausalModel.load(checkpoint, self.device, "eager" if maps else "sdpa", fresh=fresh)

    def examples(self, name: str, limit: int | None = None) -> Windows:
        """Read a set's windows."""
        if self._tokenizer is None:
            from headroom.models.checkpoint import read_dtype, read_tokenizer

            if self.checkpoint is None:
                raise HeadroomError("checkpoint: missing; give the model whose tokenizer reads the text")
            self._tokenizer = read_tokenizer(self.checkpoint)
            self._dtype = read_dtype(self.checkpoint) or "float32"
        documents = read_documents(self.corpus / f"{name}.jsonl")
        settings = self.windows.model_dump(include={"length", "stride", "per_set"})
        return self._cut(self._tokenizer, documents, **settings, limit=limit)

    def sentences(self, examples: Windows) -> Sequence[str]:
        """Return the text of each window."""
        return examples.texts

    def batches(self, model: WindowModel, examples: Windows, size: int) -> list[WindowBatch]:
        """Return windows in batches of similar length."""
        return model.batches(examples, size=size)

    def judged_set(self, name: str, limit: int | None = None) -> WindowSet:
        """Read a set's windows."""
        with without_collection():
            kind = self._set()
        return kind(
            name=name,
            windows=self.examples(name, limit),
            windows_at_once=self.windows.windows_at_once,
            resamples=self.sampling.resamples,
            about=self._describe(),
        )

    def frequencies(self, model: WindowModel) -> Tensor | None:
        """Return the frequency of each token, (V,), in the training text, or in the set `choose` if there is none."""
        training = self.corpus / self.training_text
        has_text = training.is_file() and training.stat().st_size > 0
        return model.frequencies(training if has_text else self.corpus / "choose.jsonl")

    def workload(self, model: Any, examples: Windows, size: int) -> Workload[Any]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.models.causal.model import workload

        return workload(model, examples, size)

    def _cut(self, *of: Any, **how: Any) -> Windows:
        return cut_documents(*of, **how)

    def _set(self) -> type[WindowSet]:
        from headroom.models.causal.judging import WindowSet

        return WindowSet

    def _describe(self) -> str:
        """Return what a signature says of the text and the numbers: tokenizer, windows, type of the weights."""
        tokenizer, settings = f"{type(self._tokenizer).__name__},{len(self._tokenizer)} tokens", self.windows
        chosen = f",{settings.per_set} of a set" if settings.per_set else ""
        return f"{tokenizer},windows of {settings.length} by {settings.stride}{chosen},{self._dtype}"


ENGINE = CausalEngine
