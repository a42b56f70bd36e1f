"""The workload for timing language models and its multiply-adds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformers.pytorch_utils import Conv1D

from headroom.engines.hub.causal.model import CausalModel, WindowBatch
from headroom.engines.hub.causal.windows import Windows
from headroom.engines.hub.model import count_bytes
from headroom.engines.workload import Workload, count_multiply_adds, middle

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

    def multiply_adds(self, model: CausalModel, part: str) -> int:
        """Count the multiply-adds of a part: linear layers and the products of attention, as run."""
        examples, length = self.batch.pieces.shape
        lengths = [length] if part == "prefill" else [length, *range(length + 1, length + STEPS)]
        queries = [length, *[1] * (len(lengths) - 1)]
        attention = sum(
            2 * len(live.kept) * live.head_width * keys * own
            for live in model.live_sites
            if live.kept
            for keys, own in zip(lengths, queries)
        )
        run = self.action(model, part)
        return count_multiply_adds(model.model, run, transposed=(Conv1D,)) + examples * attention


def workload(model: CausalModel, examples: Windows, size: int) -> CausalWorkload:
    """Return a batch of windows of the set's middle lengths; errors as in `middle`."""
    rows = examples.windows
    chosen = [rows[place] for place in middle([len(row.pieces) for row in rows], size)]
    (batch,) = model.batches(Windows(chosen), size=size)
    return CausalWorkload(batch)
