"""Scores of heads in tables: written in one form, and read from the table of whichever experiment has them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas

from headroom.core import tables
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.methods.criteria import Criterion, criterion
from headroom.methods.orders import by_head

NORMALISATIONS = ("raw", "layer")
"""Scores as they are, or divided by the l2 norm over the heads of their site."""


def normalised_by_layer(scores: Mapping[Head, float]) -> dict[Head, float]:
    """Divide each score by the l2 norm of the scores of its site (Michel et al. 2019, section 4.1)."""
    squares: dict[tuple[str, int], float] = {}
    for head, score in scores.items():
        squares[head.kind, head.layer] = squares.get((head.kind, head.layer), 0.0) + score**2
    return {head: score / (squares[head.kind, head.layer] ** 0.5) if score else 0.0 for head, score in scores.items()}


def criterion_rows(one: Criterion, path: Path | str, chosen_on: str = "choose") -> pandas.DataFrame:
    """Return a criterion's rows of its experiment's table.

    Args:
        one: The criterion.
        path: The table.
        chosen_on: The set that heads are chosen on.

    Returns:
        Rows with the columns run, epoch, kind, layer, head, half, value and signature.

    Raises:
        HeadroomError: If the table is not one of that experiment, or has no row.
    """
    table = tables.ALL.by_name[one.table].read(path)
    if table.empty:
        raise HeadroomError(f"{path}: the table has no row; write it again")
    return one.read(table, chosen_on)


def criterion_scores(
    name: str, paths: Sequence[Path | str], *, epoch: int, chosen_on: str = "choose"
) -> dict[Head, float]:
    """Return one criterion's scores of one epoch, from the first of its experiment's tables that has them.

    Raises:
        HeadroomError: If there is no such criterion, or no table has such scores.
    """
    one = criterion(name)
    if not paths:
        raise HeadroomError(f"criterion {name}: its scores are missing; give --{one.table.replace('_', '-')} TABLE")
    for path in paths:
        rows = criterion_rows(one, path, chosen_on)
        rows = rows[(rows["half"] == "all") & (rows["epoch"] == epoch)]
        if len(rows):
            return by_head(rows, rows["value"])
    named = ", ".join(map(str, paths))
    raise HeadroomError(f"{named} has no scores by {name} at epoch {epoch}, chosen on {chosen_on}; write it again")
