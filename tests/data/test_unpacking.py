"""What is packed unpacks to itself, up to a limit."""

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.data import unpacking
from headroom.data.unpacking import Unpacked, check_size, most_bytes

PACKERS = [bytes, gzip.compress, bz2.compress, lzma.compress]


@pytest.mark.parametrize("pack", PACKERS)
def test_the_content_decides_how_it_is_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "any.name").write_bytes(pack(b"content" * 100))
    stream = Unpacked(tmp_path / "any.name")
    assert b"".join(iter(lambda: stream.read(64), b"")) == b"content" * 100
    stream.close()


@pytest.mark.parametrize("pack", PACKERS[1:])
@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data[:40] + b"?" * 9 + data[49:]])
def test_damage_is_an_error_of_archives(
    tmp_path: Path, pack: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "a").write_bytes(damage(pack(bytes(range(256)) * 8)))
    stream = Unpacked(tmp_path / "a")
    with pytest.raises(tarfile.ReadError):
        b"".join(iter(lambda: stream.read(64), b""))


def test_the_limit_grows_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(1000))
    assert most_bytes(tmp_path / "a") == unpacking.LEAST == 2**28
    monkeypatch.setattr(unpacking, "LEAST", 50)
    assert most_bytes(tmp_path / "a") == 100_000
    check_size(tmp_path / "a", 100_000)
    with pytest.raises(HeadroomError, match=r"/a unpacks to 100001 bytes, 100 times its size: .* or damaged"):
        check_size(tmp_path / "a", 100_001)
