"""The names of sets."""

from collections.abc import Iterable

SPLITS = ("train", "choose", "check", "test")
"""The sets of every corpus: training, the two that look at heads, test."""


def check_far_names(names: Iterable[str]) -> None:
    """Check the names of far-domain sets.

    Raises:
        ValueError: If a name is that of another set, cannot be the name of a file, or is given twice.
    """
    names = list(names)
    if taken := [name for name in names if name in (*SPLITS, "valid") or not name.isidentifier()]:
        raise ValueError(
            f"'{taken[0]}' cannot name a far-domain set: use letters, digits and _, and none of "
            f"{', '.join((*SPLITS, 'valid'))}"
        )
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"the far-domain set {repeated[0]} is given twice")
