"""Resampled scores stored next to a table."""

from pathlib import Path

import numpy
import pytest
from headroom.core.errors import HeadroomError
from headroom.core.resamples import Resamples, read_resamples


def test_rows_come_back_with_their_own_full_model(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    first, second = numpy.array([1.0, 2.0]), numpy.array([3.0, 5.0])
    resamples = Resamples()
    resamples.add(first, first)
    resamples.add()
    resamples.add(second, first)
    resamples.add(second, second)
    resamples.add(first, first)
    resamples.write(path)
    with numpy.load(path) as stored:
        assert len(stored["fulls"]) == 2  # each once
    found = read_resamples(path)
    assert list(found) == [0, 2, 3, 4]
    assert [(value.tolist(), full.tolist()) for value, full in found.values()] == [
        ([1, 2], [1, 2]),
        ([3, 5], [1, 2]),
        ([3, 5], [3, 5]),
        ([1, 2], [1, 2]),
    ]


def test_the_same_scores_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        resamples = Resamples()
        resamples.add(numpy.array([1.5]), numpy.array([2.5]))
        resamples.write(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_what_is_no_such_file_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(HeadroomError, match=r"bad\.npz"):
        read_resamples(path)
