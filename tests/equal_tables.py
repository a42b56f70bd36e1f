"""Compare the results of a study with those before tables were named by their stages (commit 0578b01).

    python tests/equal_tables.py OLD/results/tiny NEW/results/tiny

Compares every table byte for byte, except for renamed paths and columns and for measured times; attention maps, the
tensors of models, and the text that all of it comes from. Lists the differences, one a line; exit status 1 if any.
"""

import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from same_numbers import CLOCKED_TABLES, is_clocked

RENAMED = (
    (r"^curves/", "pruning/"),
    (r"^dynamics/", "pruning_epochs/"),
    (r"^pointing/", "attention_stats/"),
    (r"^criteria/", "rank_correlation/"),
    (r"^pruned/", "pruned_models/"),
    (r"^maps/", "attention_maps/"),
    (r"^halves/(.*)\.(ablation|scores)\.csv$", r"\2_halves/\1.csv"),
    (r"^repulsion\.csv$", "arms.csv"),
    (r"^overlaps\.csv$", "overlap.csv"),
    (r"^scratch/", "from_scratch/"),
    (r"^scratch_training/", "training_from_scratch/"),
)
"""Paths of before, as patterns, and what they are now."""

RENAMED_COLUMNS: Mapping[str, Mapping[str, str]] = {}
"""By table as named now: columns of before, and what they are called now."""

CLOCKED_COLUMNS = {"seconds"}
MODELS = (".pt", ".safetensors")
TEXTS = (".source", ".target", ".tsv", ".conllu", ".txt")
LEFT_OUT = {*CLOCKED_TABLES, "figures"}


def renamed(path: str) -> str:
    """Return the present path of an earlier file."""
    for pattern, now in RENAMED:
        path = re.sub(pattern, now, path)
    return path


def differences(old: Path, new: Path) -> Iterator[str]:
    """Yield what is not the same in two directories of results, or in one of them alone.

    Raises:
        AssertionError: If the first contains no table.
    """
    before = {renamed(name): old / name for name in files_of(old)}
    now = files_of(new)
    assert any(name.endswith(".csv") for name in before), f"no tables in {old}"
    for name in sorted(before.keys() | now):
        if name not in before or name not in now:
            yield f"{name}: only in {new if name in now else old}"
        elif found := _difference(before[name], new / name):
            yield f"{name}: {found}"


def files_of(results: Path) -> set[str]:
    """Return the files that are compared, without those of times."""
    paths = (path.relative_to(results) for path in results.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.parts[0].removesuffix(".csv") not in LEFT_OUT and _is_compared(path)}


def _is_compared(path: Path) -> bool:
    maps = path.suffix == ".json" and path.parts[0] in ("maps", "attention_maps")
    return maps or path.suffix in (".csv", *MODELS, *TEXTS)


def _difference(old: Path, new: Path) -> str:
    """Return the difference of two files, "" if they are equal."""
    if old.read_bytes() == new.read_bytes():
        return ""
    if old.suffix == ".csv":
        found = _of_tables(_cells(old, new.parent.name), _cells(new, new.parent.name))
        return found or ("" if _is_changed_on_purpose(new) else "the same cells, written otherwise")
    if old.suffix == ".json":
        return "" if json.loads(old.read_text()) == json.loads(new.read_text()) else "other maps"
    return _of_models(old, new) if old.suffix in MODELS else "another text"


def _is_changed_on_purpose(table: Path) -> bool:
    """Return whether a table holds times, or columns that are renamed."""
    heading = table.read_text(encoding="utf-8").partition("\n")[0].split(",")
    return table.parent.name in RENAMED_COLUMNS or bool({"measure", "claim", "what", *CLOCKED_COLUMNS} & set(heading))


def _cells(path: Path, table: str) -> list[list[str]]:
    """Return heading and rows, the columns named as now, without what a clock measured."""
    with open(path, encoding="utf-8", newline="") as stream:
        heading, *rows = csv.reader(stream)
    heading = [RENAMED_COLUMNS.get(table, {}).get(name, name) for name in heading]
    rows = [row for row in rows if not is_clocked(dict(zip(heading, row)))]
    kept = [place for place, name in enumerate(heading) if name not in CLOCKED_COLUMNS]
    return [[row[place] for place in kept] for row in (heading, *rows)]


def _of_tables(old: list[list[str]], new: list[list[str]]) -> str:
    if old[0] != new[0]:
        return f"had the columns {' '.join(old[0])}, has {' '.join(new[0])}"
    if len(old) != len(new):
        return f"had {len(old) - 1} rows, has {len(new) - 1}"
    unlike = [
        (row, column, *pair)
        for row, rows in enumerate(zip(old, new))
        for column, pair in zip(old[0], zip(*rows))
        if pair[0] != pair[1]
    ]
    if not unlike:
        return ""
    row, column, was, now = unlike[0]
    columns = " ".join(dict.fromkeys(one[1] for one in unlike))
    return f"{len(unlike)} cells differ, in {columns}; the first in row {row}, {column}: was '{was}', is '{now}'"


def _of_models(old: Path, new: Path) -> str:
    was, now = _tensors(old), _tensors(new)
    if was.keys() != now.keys():
        return f"other tensors: {' '.join(sorted(was.keys() ^ now.keys())[:5])}"
    unlike = [name for name in was if was[name].shape != now[name].shape or not bool((was[name] == now[name]).all())]
    return f"{len(unlike)} tensors differ, e.g. {unlike[0]}" if unlike else ""


def _tensors(path: Path) -> dict[str, Any]:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return dict(load_file(path))
    import torch

    return dict(_named(torch.load(path, map_location="cpu", weights_only=False)))


def _named(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every tensor in a checkpoint, with its place."""
    if hasattr(content, "shape"):
        yield name, content
    elif isinstance(content, dict | list | tuple):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in items:
            yield from _named(value, f"{name}.{key}")


def main(old: str, new: str) -> int:
    """Print the differences; return the exit status."""
    found = list(differences(Path(old), Path(new)))
    compared = len(files_of(Path(old)))
    print(*found, f"{compared} files of before, {len(found)} differences", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
