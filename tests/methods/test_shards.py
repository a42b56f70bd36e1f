"""Shards of sweeps: every intervention is in one of them, and what is written is read again."""

import numpy
import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.methods.judging import Shard, read_shards, write_shard

HEADS = [Head("E", 1, number) for number in range(1, 8)]
PROFILES = [
    *(Intervention.without(*HEADS[:count]) for count in range(1, 6)),
    Intervention.without(*HEADS[:5], replacement="mean"),
    Intervention.scaled({HEADS[6]: 1 / 3}, removed=HEADS[:5]),
]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 9])
def test_every_profile_is_in_one_shard(count):
    shares = [Shard(number, count).share([*PROFILES, PROFILES[0]]) for number in range(1, count + 1)]
    together = [profile for share in shares for profile in share]
    assert len(together) == len(PROFILES)
    assert set(together) == set(PROFILES)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_what_is_written_is_read(tmp_path):
    generator = numpy.random.default_rng(0)
    judged = {
        name: {profile: {"bleu": generator.random((5, 10)), "loss": generator.random((5, 2))} for profile in profiles}
        for name, profiles in (("test", PROFILES[:3]), ("far", PROFILES[3:]), ("empty", []))
    }
    for name, profiles in judged.items():
        write_shard(tmp_path / f"{name}.npz", {name: profiles})
    found = read_shards([tmp_path / f"{name}.npz" for name in judged])
    assert {name: list(profiles) for name, profiles in found.items()} == {"test": PROFILES[:3], "far": PROFILES[3:]}
    for name, profiles in found.items():
        for profile, statistics in profiles.items():
            assert list(statistics) == ["bleu", "loss"]
            for metric, values in statistics.items():
                assert (values == judged[name][profile][metric]).all()


def test_shards_of_one_judge_are_joined(tmp_path):
    for number, profile in enumerate(PROFILES):
        write_shard(tmp_path / f"{number}.npz", {"test": {profile: {"loss": numpy.full((2, 2), number)}}})
    found = read_shards(sorted(tmp_path.iterdir()))
    assert [found["test"][profile]["loss"][0, 0] for profile in PROFILES] == list(range(7))


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_a_damaged_file_is_told(content, tmp_path):
    path = tmp_path / "shard.npz"
    path.write_bytes(content)
    with pytest.raises(HeadroomError, match="as a shard of a sweep: delete it and run its job again"):
        read_shards([path])


def test_no_program_is_read(tmp_path):
    numpy.savez(tmp_path / "shard.npz", **{"test/interventions": numpy.array([{"any": "object"}], dtype=object)})
    with pytest.raises(HeadroomError, match="as a shard of a sweep"):
        read_shards([tmp_path / "shard.npz"])
