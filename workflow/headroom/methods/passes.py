"""The passes of a model and the time that they take, measured while a criterion is computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.engines.head_model import HeadModel
    from headroom.methods.criteria import Criterion


@dataclass
class Passes:
    """What was run within a block.

    Attributes:
        forward: Forward passes over the set: examples that passed the output projection of a site, mean over sites and
            their uses, as a share of the set. An example that a batch carries under several interventions counts for
            each.
        backward: The same of the gradients at the outputs of these projections.
        seconds: Wall-clock time.
    """

    forward: float = field(default=0.0, init=False)
    backward: float = field(default=0.0, init=False)
    seconds: float = field(default=0.0, init=False)

    def cost_row(self, one: Criterion, family: str) -> dict[str, Any]:
        """Return the cost of a criterion, which was computed with its family, as columns."""
        about = {"criterion": one.name, "family": family, "labels": int(one.labels)}
        return about | {"forward": self.forward, "backward": self.backward, "seconds": self.seconds}


@contextmanager
def count_passes(model: HeadModel, examples: int) -> Iterator[Passes]:
    """Count the passes of a model within a block; the counts are complete at its end.

    Sites are those that have heads at the beginning. Passes through parts of the model count by their share of the
    sites: in translation, one through an encoder of 6 layers is a third of one through 18 sites.

    Args:
        model: A model, not sliced within the block.
        examples: The number of examples in the set.
    """
    passes, rows = Passes(), [0, 0]
    sites = [live for live in model.live_sites if live.kept]

    def count(_: Any, __: Any, output: Tensor) -> None:
        rows[0] += len(output)
        if output.requires_grad:
            output.register_hook(count_backward(len(output)))

    def count_backward(size: int) -> Callable[[Tensor], None]:
        def add(_: Tensor) -> None:
            rows[1] += size

        return add

    with ExitStack() as hooks:
        for live in sites:
            hooks.callback(live.output.register_forward_hook(count).remove)
        start = _now(model)
        yield passes
        passes.seconds = _now(model) - start
    unit = max(sum(live.uses for live in sites) * examples, 1)
    passes.forward, passes.backward = (number / unit for number in rows)


def _now(model: HeadModel) -> float:
    """Return the time in seconds when the device has finished its work."""
    if model.device.type == "cuda":
        import torch

        torch.cuda.synchronize(model.device)
    return time.perf_counter()
