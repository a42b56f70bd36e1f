"""Criteria score heads; higher scores are more important. Each module of this package is a family of criteria.

A new criterion is a module here with a tuple `CRITERIA`: it is then a setting, rows of the table of scores, and an
order. Configurations are validated without torch and pandas: modules import these, and modules that import them, in
their functions.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.experiments.tables import REGISTRY
from headroom.methods.orders import by_head

if TYPE_CHECKING:
    import pandas

    from headroom.models.head_model import HeadModel

Scores = Mapping[Head, float]

Score = Callable[..., Mapping[str, Scores]]
"""From a model in eval mode, whose parameters need no gradient, batches with references, heads that are removed from
the start, and `half` (0 or 1 for examples at even or odd positions, None for all) to scores by criterion. Of functions
with `examples`, so many from the start of the set or half are used, None for all."""

SCORES = "scores"
"""The table of the criteria that the stage of this name computes, at every epoch of every run."""

COMPARED = "scores_compared"
"""The table of the criteria that it computes only to be compared, of the last epoch."""

EPOCHS = "epochs"
"""The criteria of the table `scores`, as one family."""

REFERENCE = "loss-ablation"
"""The criterion that others are compared with: the true effect of each head on the loss."""

NORMALISATIONS = ("raw", "layer")
"""Unscaled scores, or scores divided by the l2 norm over the heads of their site."""


@dataclass(frozen=True)
class Criterion:
    """A method of scoring heads."""

    name: str
    needs: Literal["none", "forward", "backward", "sweep", "training"]
    """Its cost: only the weights, forward passes, also backward passes, a sweep over heads, or further training."""
    labels: bool
    """Whether it needs references."""
    source: str
    """The source of its definition."""
    table: str = SCORES
    """The experiment whose table its scores are in."""
    rows: Callable[[pandas.DataFrame, str], pandas.DataFrame] | None = None
    """From that table, and the name of the set that chooses heads, to rows with the columns run, epoch, kind,
    layer, head, half (`all`, and if known `choose` and `score`), value, signature and, for a criterion that
    breaks ties, tie; None for criteria of the stage `scores`, whose raw scores are read."""
    score: Score | None = None
    """The function that computes it, for criteria of the stage `scores`; it may serve several."""
    maps: bool = False
    """Whether that function needs a model that was loaded for attention weights (`Engine.load`)."""
    compared: bool = True
    """Whether the stage agreement compares its ranks with those of other criteria."""

    def read(self, path: Path | str, chosen_on: str = "choose") -> pandas.DataFrame:
        """Return this criterion's rows of its experiment's table, as `rows` does.

        Raises:
            HeadroomError: If the table is not one of that experiment, or is empty.
        """
        table = REGISTRY.by_name[self.table].read(path)
        if table.empty:
            raise HeadroomError(f"{path}: the table is empty; rerun the job that writes it")
        if self.rows:
            return self.rows(table, chosen_on)
        return table[(table["criterion"] == self.name) & (table["normalised"] == "raw")]


@cache
def criteria() -> dict[str, Criterion]:
    """Return every criterion by its name, family by family."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return {one.name: one for module in modules for one in module.CRITERIA}


def criterion(name: str) -> Criterion:
    """Return the criterion of this name; raise HeadroomError if it is unknown."""
    if name not in criteria():
        raise HeadroomError(f"criterion '{name}': unknown; use one of {', '.join(criteria())}")
    return criteria()[name]


def families(table: str) -> dict[Score, list[Criterion]]:
    """Return the criteria whose scores are in a table, by the function that computes them in one call."""
    found: dict[Score, list[Criterion]] = {}
    for one in criteria().values():
        if one.table == table and one.score:
            found.setdefault(one.score, []).append(one)
    return found


@cache
def find_family(name: str) -> str:
    """Return the family whose functions compute a criterion for the comparison; "" if another experiment does."""
    return next((family for family, own in _families().items() if name in own), "")


def family_names() -> list[str]:
    """Return the families of criteria that are computed to be compared: the modules here with such functions."""
    return list(_families())


def family(name: str) -> dict[Score, list[Criterion]]:
    """Return the functions of a family with the criteria that each returns; raise HeadroomError if it is unknown."""
    if name == EPOCHS:
        return families(SCORES)
    if name not in _families():
        raise HeadroomError(f"--family {name}: unknown; use one of {', '.join(_families())}")
    found: dict[Score, list[Criterion]] = {}
    for one, score in _families()[name].items():
        found.setdefault(score, []).append(criterion(one))
    return found


@cache
def _families() -> dict[str, dict[str, Score]]:
    """Return, by module, the function of every criterion of the table `scores_compared`, and of those in `ALSO`."""
    found: dict[str, dict[str, Score]] = {}
    for place in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{place.name}")
        own = {one.name: one.score for one in module.CRITERIA if one.table == COMPARED and one.score}
        if own:
            found[place.name] = own | dict.fromkeys(getattr(module, "ALSO", ()), next(iter(own.values())))
    return found


def normalise_by_layer(scores: Mapping[Head, float]) -> dict[Head, float]:
    """Divide each score by the l2 norm of the scores of its site (Michel et al. 2019, section 4.1).

    >>> scores = normalise_by_layer({Head("E", 1, 1): 3.0, Head("E", 1, 2): 4.0})
    >>> [round(score, 2) for score in scores.values()]
    [0.6, 0.8]
    """
    squares: dict[tuple[str, int], float] = {}
    for head, score in scores.items():
        squares[head.kind, head.layer] = squares.get((head.kind, head.layer), 0.0) + score**2
    return {head: score / (squares[head.kind, head.layer] ** 0.5) if score else 0.0 for head, score in scores.items()}


def criterion_scores(
    name: str, paths: Sequence[Path | str], *, epoch: float, chosen_on: str = "choose"
) -> dict[Head, float | tuple[float, float]]:
    """Return one criterion's scores of one epoch, from the first of its experiment's tables that has them.

    For a criterion that breaks ties they are pairs: the value and what orders equal values.
    """
    one = criterion(name)
    if not paths:
        raise HeadroomError(f"criterion {name}: its scores are missing; give --{one.table.replace('_', '-')} TABLE")
    for path in paths:
        rows = one.read(path, chosen_on)
        rows = rows[(rows["half"] == "all") & (rows["epoch"] == epoch)]
        if len(rows):
            heads = by_head(rows, rows["value"])
            ties = by_head(rows, rows["tie"]) if "tie" in rows else {}
            return {head: (value, ties[head]) for head, value in heads.items()} if ties else dict(heads)
    named = ", ".join(map(str, paths))
    raise HeadroomError(
        f"{named}: no scores by {name} at epoch {epoch}, chosen on {chosen_on}; rerun the job that writes it"
    )


def count_used(score: Score, examples: int, half: int | None = None) -> int:
    """Return how many of the examples of a set, or of a half, a function uses; all where it has no limit of its own."""
    limit = inspect.signature(score).parameters.get("examples")
    most = limit.default if limit else None
    own = examples if half is None else (examples + 1 - half) // 2
    return examples if most is None or most >= own else most


def check_scores(model: HeadModel, batches: Sequence[Any], found: Mapping[str, Scores], name: str) -> None:
    """Check that the scores of a model on a set of this name, in batches, are numbers.

    Raises:
        HeadroomError: If one is NaN; names the example that overflows.
    """
    wrong = [one for one, scores in found.items() if any(map(math.isnan, scores.values()))]
    if wrong:
        model.refuse_overflow(name, model.find_finite(batches))
        raise HeadroomError(
            f"set {name}: scores by {', '.join(wrong)} are NaN though all losses are finite: gradients overflow; "
            "set released.dtype to float32 or bfloat16"
        )


def check(place: str, named: Sequence[str], main: str) -> list[str]:
    """Return the errors in the criteria of a task's settings, a line with the key for each."""
    key, known = f"configuration: {place}.pruning", criteria()
    computed = [name for name, one in known.items() if one.table == SCORES]
    own = [name for name, one in known.items() if one.table != COMPARED]
    mistakes = [
        f"{key}.criteria: unknown criterion '{name}'; use {', '.join(own)}" for name in named if name not in known
    ]
    apart = [name for name in named if name in known and known[name].table == COMPARED]
    mistakes += [
        f"{key}.criteria: '{name}' is only computed to be compared; name it in bakeoff.criteria" for name in apart
    ]
    if main not in computed:
        mistakes.append(f"{key}.main: '{main}' is not scored at every epoch; use {', '.join(computed)}")
    elif main not in named:
        mistakes.append(f"{key}.main: '{main}' is not in pruning.criteria; add it there")
    return mistakes


def check_compared(
    place: str, compared: Sequence[str], rescored: Sequence[str], lacking: Mapping[str, str]
) -> list[str]:
    """Return the errors in the criteria that a task compares, a line with the key for each.

    Args:
        place: The key of the task.
        compared: The criteria.
        rescored: Those of them that are scored again.
        lacking: By experiment whose table does not exist for every compared run, what to do.
    """
    key, known = f"configuration: {place}.bakeoff", criteria()
    unknown = [name for name in compared if name not in known]
    mistakes = [f"{key}.criteria: unknown criterion '{name}'; use those of docs/criteria.md" for name in unknown]
    for name in (name for name in compared if name in known and not find_family(name)):
        if known[name].table in lacking:
            mistakes.append(f"{key}.criteria: '{name}' {lacking[known[name].table]}")
    apart = [name for name in rescored if name in known and not find_family(name)]
    return [*mistakes, *(f"{key}.rescored: '{name}' cannot be scored again; leave it out" for name in apart)]
