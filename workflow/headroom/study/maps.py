"""Attention maps of a few heads on a few sentences, as `headroom attention_maps` writes them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, parse_head


@dataclass(frozen=True)
class AttentionMap:
    """Where one head points in one sentence."""

    run: str  # the trained model
    head: Head
    role: str  # the role that it holds: `positional`, `syntactic` or `rare`; empty if it only comes nearest to one
    target: str  # what it points to in that role, e.g. `-1` or `nsubj:to-dependent`
    sentence: int  # number of the sentence, counted from 1
    queries: tuple[str, ...]  # the words that attend, one per row
    keys: tuple[str, ...]  # the words that are attended to, one per column
    weights: tuple[tuple[float, ...], ...]  # attention weights, (queries, keys)

    def strongest(self, row: int) -> int:
        """Return the column of the largest weight of a row, the first of equal ones."""
        weights = self.weights[row]
        return weights.index(max(weights))


def read_maps(paths: Sequence[Path | str]) -> list[AttentionMap]:
    """Read the files of `headroom attention_maps`, one per run.

    Raises:
        HeadroomError: If a file cannot be read, or a map's weights do not fit its words.
    """
    return [one for path in paths for one in _maps_in(Path(path))]


def _maps_in(path: Path) -> list[AttentionMap]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [_map(content["run"], one) for one in content["maps"]]
    except HeadroomError as error:
        raise HeadroomError(f"{path}: {error}") from error
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise HeadroomError(
            f"{path} has no attention maps as headroom attention_maps writes them: {error!r}"
        ) from error


def _map(run: str, one: dict[str, Any]) -> AttentionMap:
    made = AttentionMap(
        run=str(run),
        head=parse_head(one["head"]),
        role=str(one["role"]),
        target=str(one["target"]),
        sentence=int(one["sentence"]),
        queries=tuple(map(str, one["queries"])),
        keys=tuple(map(str, one["keys"])),
        weights=tuple(tuple(map(float, row)) for row in one["weights"]),
    )
    sizes = {len(row) for row in made.weights}
    finite = all(math.isfinite(weight) for row in made.weights for weight in row)
    if not made.keys or len(made.weights) != len(made.queries) or sizes != {len(made.keys)} or not finite:
        place = f"the map of {made.head} on sentence {made.sentence}"
        raise HeadroomError(
            f"{place} needs a row per query and a weight per key, all numbers; run headroom attention_maps again"
        )
    return made
