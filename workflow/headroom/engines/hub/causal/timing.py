"""The workload for timing language models and its multiply-adds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headroom.engines.hub.causal.model import CausalModel, WindowBatch
from headroom.engines.hub.causal.windows import Windows
from headroom.engines.hub.model import count_bytes
from headroom.engines.workload import Workload, middle

PARTS = ("prefill", "generation")

STEPS = 16
"""Generated pieces."""


@dataclass(frozen=True)
class CausalWorkload(Workload[CausalModel]):
    """One batch of an evaluation set: read at once, or continued by greedy generation with a cache."""

    batch: WindowBatch
    parts = PARTS

    @property
    def shape(self) -> dict[str, int]:
        """Length of the padded windows in pieces, and steps of generation."""
        return {"length": self.batch.pieces.shape[1], "steps": STEPS}

    def action(self, model: CausalModel, part: str) -> Callable[[], object]:
        """Return the timed function: a forward pass that fills a cache, or a fixed number of steps after one."""
        whole: Any = model.model
        if part == "prefill":
            return lambda: whole(**self.batch.inputs, use_cache=True)
        return lambda: whole.generate(
            **self.batch.inputs, max_new_tokens=STEPS, min_new_tokens=STEPS, do_sample=False, num_beams=1
        )

    def cache_bytes(self, model: CausalModel, part: str) -> int:  # noqa: ARG002
        """Return the size of the cache once the windows are read."""
        return count_bytes(self.action(model, "prefill")())


def workload(model: CausalModel, examples: Windows, size: int) -> CausalWorkload:
    """Return a batch of windows of the set's middle lengths; errors as in `middle`."""
    rows = examples.windows
    chosen = [rows[place] for place in middle([len(row.pieces) for row in rows], size)]
    (batch,) = model.batches(Windows(chosen), size=size)
    return CausalWorkload(batch)
