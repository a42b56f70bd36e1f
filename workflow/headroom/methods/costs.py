"""Costs: passes of criteria over the examples, and run times side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from headroom.core.progress import follow_items
from headroom.core.statistics import Estimate, find_median

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.methods.criteria import Criterion
    from headroom.models.head_model import HeadModel


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


THREADS = 1
"""Threads torch may use while timing: with more, other work on the machine disturbs the times."""

Action = Callable[[], Any]
Name = TypeVar("Name")


def time_interleaved(actions: Mapping[Name, Action], *, warmup: int, repeats: int) -> dict[Name, list[float]]:
    """Time actions in rounds, each round running every action once, every other round backwards.

    A drift of the machine's speed then affects all of them equally, and cancels in ratios within a round. Returns the
    seconds of each counted round, by action.
    """
    names = list(actions)
    seconds: dict[Name, list[float]] = {name: [] for name in names}
    for turn in follow_items(range(warmup + repeats), "timing", "rounds"):
        for name in names if turn % 2 else reversed(names):
            elapsed = _time_action(actions[name])
            if turn >= warmup:
                seconds[name].append(elapsed)
    return seconds


def ratio_summary(numerator: list[float], denominator: list[float]) -> Estimate:
    """Return the median of the ratios within a round, with its interval (`median_of`: from six rounds on)."""
    return find_median(numpy.array(numerator) / numpy.array(denominator))


def quartiles(seconds: list[float]) -> tuple[float, float, float]:
    """Return the median and the lower and upper quartile."""
    low, median, high = numpy.quantile(seconds, [0.25, 0.5, 0.75])
    return float(median), float(low), float(high)


def _time_action(action: Action) -> float:
    import torch  # late: slow to import

    synchronise = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    synchronise()
    start = time.perf_counter()
    action()
    synchronise()
    return time.perf_counter() - start
