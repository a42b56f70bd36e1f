"""Progress of stages: how much is done and how long is left, at most a line every few seconds."""

import logging

import pytest
from headroom.core import progress
from headroom.core.progress import Steps, follow_items


@pytest.fixture
def now(monkeypatch):
    """The time, in a list."""
    seconds = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: seconds[0])
    return seconds


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    return lambda: [record.getMessage() for record in caplog.records]


def test_a_line_every_ten_seconds_with_the_time_left(now, lines):
    steps = Steps("ablation", 72, "heads on test")
    for _ in range(72):
        now[0] += 4
        steps.step()
    assert lines()[0] == "ablation: 3 of 72 heads on test, 4:36 left"  # 69 heads of 4 s
    assert lines()[-1] == "ablation: 69 of 72 heads on test, 0:12 left"
    assert len(lines()) == 23


def test_a_short_stage_and_the_end_of_a_long_one_have_no_line(now, lines):
    for seconds in (0.1, 50):
        steps = Steps("relevance", 2, "batches")
        for _ in range(2):
            now[0] += seconds
            steps.step()
    assert lines() == ["relevance: 1 of 2 batches, 0:50 left"]


def test_followed_items_are_finished_when_the_next_one_is_requested(now, lines):
    seen = []
    for item in follow_items("abc", "gates", "trainings"):
        seen.append((item, len(lines())))
        now[0] += 60
    assert seen == [("a", 0), ("b", 1), ("c", 2)]
    assert lines() == ["gates: 1 of 3 trainings, 2:00 left", "gates: 2 of 3 trainings, 1:00 left"]
