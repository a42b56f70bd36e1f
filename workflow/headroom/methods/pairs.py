"""The sentence pairs of an evaluation set, for stages that do not judge translations."""

from pathlib import Path

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.parallel import ParallelText


def read_pairs(corpus: Path | str, name: str, sentences: int | None = None) -> ParallelText:
    """Read the sources and the references of a set.

    Args:
        corpus: The directory.
        name: The set, e.g. `test`.
        sentences: Only the first so many sentences; None for all.

    Raises:
        HeadroomError: If a file is missing, the two differ in length, or there is no sentence.
    """
    paths = [Path(corpus) / f"{name}.{side}" for side in ("source", "target")]
    sources, references = (read_lines(path) for path in paths)
    if len(sources) != len(references):
        raise HeadroomError(f"{paths[0]} has {len(sources)} lines, {paths[1]} has {len(references)}")
    if not sources:
        raise HeadroomError(f"{paths[0]} is empty")
    return ParallelText(sources[:sentences], references[:sentences])
