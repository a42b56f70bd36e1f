import logging

from headroom.engines import epochs
from headroom.engines.epochs import Progress, progress_lines


def test_progress_is_told_every_few_seconds_and_at_the_end_of_an_epoch(caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="headroom")
    now = [0.0]
    monkeypatch.setattr(epochs.time, "monotonic", lambda: now[0])
    notify = progress_lines(logging.getLogger("headroom.stages.training"), 2, "words", every=5.0)
    for update in range(1, 13):
        now[0] += 1
        notify(Progress(1, update, 12, 2.5, 1234.5, 75.0))
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"epoch 1/2  update {update}/12  loss 2.500  1,234 words/s  1:15 left" for update in (5, 10, 12)]
