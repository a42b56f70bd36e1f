"""The engine of masked language models: encoders of transformers, and documents some of whose tokens are masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headroom.core.imports import without_collection
from headroom.models.causal.engine import CausalEngine
from headroom.models.masked.windows import mask_documents
from headroom.settings.answers import MaskedWindowSettings

if TYPE_CHECKING:
    from headroom.models.causal.judging import WindowSet
    from headroom.models.causal.windows import Windows
    from headroom.models.masked.model import MaskedModel
    from headroom.models.workload import Workload


class MaskedEngine(CausalEngine):
    """Masked language models on windows of documents; their loss is summed over the masked tokens of a window."""

    windows: MaskedWindowSettings

    def __init__(self, *, windows: MaskedWindowSettings | None = None, **shared: Any) -> None:
        """Name the data and how it is read, as `CausalEngine`."""
        super().__init__(windows=windows or MaskedWindowSettings(), **shared)

    def load(self, checkpoint: str, *, fresh: int | None = None, maps: bool = False) -> MaskedModel:
        """Load a masked language model; with `maps` one that computes attention step by step."""
        with without_collection():
            from headroom.models.masked.model import MaskedModel
        return MaskedModel.load(checkpoint, self.device, "eager" if maps else "sdpa", fresh=fresh)

    def workload(self, model: Any, examples: Windows, size: int) -> Workload[Any]:
        """Return a batch of the set's middle lengths, to be timed."""
        from headroom.models.masked.model import workload

        return workload(model, examples, size)

    def _cut(self, *of: Any, **how: Any) -> Windows:
        return mask_documents(*of, **how, masked_share=self.windows.masked_share)

    def _set(self) -> type[WindowSet]:
        from headroom.models.masked.model import MaskedSet

        return MaskedSet

    def _describe(self) -> str:
        return f"{super()._describe()},{self.windows.masked_share:g} masked"


ENGINE = MaskedEngine
