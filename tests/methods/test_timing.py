"""Interleaving and summaries of timings. Nothing here measures time."""

from math import nan

import pytest
import torch
from headroom.methods import timing
from headroom.methods.timing import quartiles, ratio_summary, time_interleaved


def clock(monkeypatch, durations):
    """Replace the clock: each action takes what `durations` says, in order."""
    ticks = iter([tick for duration in durations for tick in (0.0, duration)])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks))


def test_rounds_run_every_action_once_there_and_back():
    ran = []
    actions = {name: lambda name=name: ran.append(name) for name in "abc"}
    time_interleaved(actions, warmup=1, repeats=3)
    assert "".join(ran) == "cba" + "abc" + "cba" + "abc"


def test_warm_up_is_not_counted_and_samples_stay_with_their_action(monkeypatch):
    clock(monkeypatch, [100, 100, 1, 10, 20, 2, 3, 30])
    seconds = time_interleaved({"a": lambda: None, "b": lambda: None}, warmup=1, repeats=3)
    assert seconds == {"a": [1, 2, 3], "b": [10, 20, 30]}


def test_the_device_is_waited_for_on_both_sides(monkeypatch):
    happened = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: happened.append("wait"))
    time_interleaved({"a": lambda: happened.append("run")}, warmup=0, repeats=2)
    assert happened == ["wait", "run", "wait"] * 2


def test_quartiles_by_hand():
    assert quartiles([5.0, 1.0, 2.0, 4.0, 3.0]) == (3.0, 2.0, 4.0)
    assert quartiles([1.0, 2.0]) == (1.5, 1.25, 1.75)


def test_ratios_are_within_a_round():
    """Rounds of very different speed, the same ratio in each: a drift of the machine changes nothing."""
    fast, slow = [10.0**place for place in range(6)], [2 * 10.0**place for place in range(6)]
    assert ratio_summary(slow, fast) == (2.0, 2.0, 2.0)


def test_the_median_ratio_and_its_interval():
    # all six below the median, or all above: each 1 of 64 = 1.6 %
    assert ratio_summary([1.0, 6.0, 2.0, 5.0, 3.0, 4.0], [1.0] * 6) == (3.5, 1.0, 6.0)


def test_few_rounds_give_no_interval():
    assert ratio_summary([3.0], [2.0]) == pytest.approx((1.5, nan, nan), nan_ok=True)
    assert ratio_summary([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5) == pytest.approx((3.0, nan, nan), nan_ok=True)
    assert quartiles([3.0]) == pytest.approx((3.0, 3.0, 3.0))
