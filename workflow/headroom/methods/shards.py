"""A sweep over interventions cut into shards: each job judges its share, and one more merges them into the table.

Every intervention is judged by itself: a sweep in shards gives the table of the sweep in one job, byte for byte.
"""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path
from headroom.core.interventions import Intervention
from headroom.engines.engine import Statistics
from headroom.methods.judging import Judge

Judged = Mapping[Intervention, Statistics]
"""By intervention, what each example of a set adds to each metric: {metric: (examples, k)}."""


@dataclass(frozen=True)
class Shard:
    """One of several equal shares of the interventions of a sweep; `number` counts from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2/4`.

        Raises:
            HeadroomError: If it is no number from 1 to the count, a slash and the count.
        """
        found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
        if not found or int(found[1]) > int(found[2]):
            raise HeadroomError(f"--shard {text}: give a number from 1 to the count and the count, e.g. 2/4")
        return cls(int(found[1]), int(found[2]))

    def share(self, interventions: Iterable[Intervention]) -> list[Intervention]:
        """Return every `count`th of the distinct interventions, so that cheap and dear ones are spread evenly."""
        return list(dict.fromkeys(interventions))[self.number - 1 :: self.count]


def add_shards(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a sweep that can be cut into shards."""
    parser.add_argument(
        "--shard",
        type=Shard.parse,
        metavar="K/N",
        help="judge the Kth of N shares of the interventions alone; --output is then a file for --merge, and no table",
    )
    parser.add_argument(
        "--merge", nargs="*", default=[], metavar="FILE", help="what jobs with --shard wrote and is not judged again"
    )


def judged_share(judge: Judge, interventions: Iterable[Intervention], shard: Shard) -> Judged:
    """Judge a shard's share of the interventions. The plain model, which every job needs, is in no shard."""
    return {one: judge.outcome(one).sample.statistics for one in shard.share(filter(None, interventions))}


def write_shard(path: Path | str, judged: Mapping[str, Judged]) -> None:
    """Write what a shard judged, whole or not at all.

    Args:
        path: The file, in numpy's format `.npz`.
        judged: By the name of a judge (a set; of several epochs also the epoch) what it judged.
    """
    arrays = {}
    for name, mine in judged.items():
        arrays[f"{name}/interventions"] = numpy.array([str(intervention) for intervention in mine], dtype=str)
        for metric in next(iter(mine.values()), ()):
            arrays[f"{name}/{metric}"] = numpy.stack([statistics[metric] for statistics in mine.values()])
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        numpy.savez(stream, **arrays)  # type: ignore[arg-type]


def read_shards(paths: Sequence[Path | str]) -> Mapping[str, Judged]:
    """Read what all shards judged, by the name of the judge.

    Raises:
        HeadroomError: If a file is none that `write_shard` wrote.
    """
    known: dict[str, dict[Intervention, Statistics]] = {}
    for path in paths:
        arrays = _arrays(path)
        for key in (key for key in arrays if key.endswith("/interventions")):
            name = key.removesuffix("/interventions")
            own = {other: arrays[other] for other in arrays if other.startswith(f"{name}/") and other != key}
            for row, written in enumerate(arrays[key]):
                statistics = {other.removeprefix(f"{name}/"): stored[row] for other, stored in own.items()}
                known.setdefault(name, {})[Intervention.parse(str(written))] = statistics
    return known


def _arrays(path: Path | str) -> dict[str, numpy.ndarray]:
    try:
        with numpy.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, EOFError, ValueError, BadZipFile) as error:
        raise HeadroomError(f"cannot read {path} as a shard of a sweep: delete it and run its job again") from error
