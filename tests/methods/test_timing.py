"""Interleaving and summaries of timings. Nothing here measures time."""

import torch
from headroom.methods.timing import ratio_summary, time_interleaved


def test_rounds_run_every_action_once_there_and_back():
    ran = []
    actions = {name: lambda name=name: ran.append(name) for name in "abc"}
    time_interleaved(actions, warmup=1, repeats=3)
    assert "".join(ran) == "cba" + "abc" + "cba" + "abc"


def test_the_device_is_waited_for_on_both_sides(monkeypatch):
    happened = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: happened.append("wait"))
    time_interleaved({"a": lambda: happened.append("run")}, warmup=0, repeats=2)
    assert happened == ["wait", "run", "wait"] * 2


def test_ratios_are_within_a_round():
    """Rounds of very different speed, the same ratio in each: a drift of the machine changes nothing."""
    fast, slow = [10.0**place for place in range(6)], [2 * 10.0**place for place in range(6)]
    assert ratio_summary(slow, fast) == (2.0, 2.0, 2.0)


def test_the_median_ratio_and_its_interval():
    # all six below the median, or all above: each 1 of 64 = 1.6 %
    assert ratio_summary([1.0, 6.0, 2.0, 5.0, 3.0, 4.0], [1.0] * 6) == (3.5, 1.0, 6.0)
