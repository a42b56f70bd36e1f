"""Timing models side by side: warm-up, interleaved rounds, raw samples kept."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy

from headroom.core.progress import follow_items
from headroom.core.statistics import Estimate, find_median

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
