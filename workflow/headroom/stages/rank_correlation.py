"""Do the ways to score heads agree? Rank correlations between criteria of one run, beside what noise leaves room for.

Noise ceiling: no correlation of two noisy scores is expected above sqrt(r_1 r_2), with r the reliability of each. It is
estimated from scores on two halves of the examples, whose correlation r_half is that of half a set; of the whole set it
is 2 r_half / (1 + r_half) (Spearman-Brown). Criteria without scores on halves have none.
"""

import argparse
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pandas

from headroom.core import ranks, tables
from headroom.core.bootstrap import SEED, harm
from headroom.core.command import add_run, run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.heads import KINDS, Head
from headroom.core.table import Table, signature
from headroom.methods.orders import by_head

STATISTIC = "spearman"
GRADIENTS = ("gradient-example", "gradient-token")


class Criterion(NamedTuple):
    """One way to score heads: more is more important.

    Attributes:
        name: Its name in the table.
        scores: Of every head that it scores.
        halves: Scores on the two halves of the examples; none if they are not known.
        signature: What its scores depend on.
        source: The file they come from.
        place: Run and epoch that they are of.
    """

    name: str
    scores: Mapping[Head, float]
    halves: tuple[Mapping[Head, float], Mapping[Head, float]] | None
    signature: str
    source: str
    place: tuple[str, int]


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("rank_correlation", __doc__ or "")
    add_run(parser)
    parser.add_argument("--scores", type=Path, help="table of gradient scores of this run")
    parser.add_argument("--ablation", type=Path, help="ablation table of this run")
    parser.add_argument("--pointing", type=Path, help="table of confidence of this run")
    parser.add_argument("--relevance", type=Path, help="table of relevance of this run")
    parser.add_argument("--gates", type=Path, nargs="*", default=[], help="tables of learned gates of this run")
    parser.add_argument(
        "--halves",
        type=Path,
        nargs="*",
        default=[],
        help="tables of scores on halves, from headroom scores and ablate",
    )
    parser.add_argument("--output", required=True, type=Path, help="table of agreement to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the tables of one run and write how their criteria agree."""
    given = build_parser().parse_args(arguments)
    criteria = read_criteria(given)
    named = {"study": given.study, "run": given.run}
    tables.RANK_CORRELATION.write(given.output, [named | row for row in agreement_rows(criteria)])


def read_criteria(given: argparse.Namespace) -> list[Criterion]:
    """Return the criteria of all tables given, in the order of the table to write.

    Raises:
        HeadroomError: If a table cannot be read, is of several runs, or has no score by a criterion it should have.
    """
    readers: dict[str, Callable[[Path], list[Criterion]]] = {
        "scores": _gradients, "ablation": _ablation, "pointing": _confidence, "relevance": _relevance,
    }  # fmt: skip
    named = [(read, getattr(given, flag)) for flag, read in readers.items() if getattr(given, flag)]
    named += [(_gates, path) for path in given.gates]
    found = [criterion for read, path in named for criterion in read(path)]
    halves = {name: scores for path in given.halves for name, scores in _halves(path).items()}
    return [criterion._replace(halves=halves.get(criterion.name, criterion.halves)) for criterion in found]


def agreement_rows(criteria: Sequence[Criterion]) -> Iterator[dict[str, Any]]:
    """Yield the agreement of every pair of criteria over all heads, the heads of each kind and of each site.

    Raises:
        HeadroomError: If there is nothing to compare, or criteria are of other runs or heads than the first.
    """
    if len(criteria) < 2:
        raise HeadroomError("nothing to compare; give tables with two criteria or more, e.g. --scores and --ablation")
    _check_same(criteria)
    heads = sorted(criteria[0].scores)
    scopes = ["all", *(kind for kind in KINDS if kind in {head.kind for head in heads})]
    scopes += list(dict.fromkeys(_site(head) for head in heads))
    for scope in scopes:
        chosen = [head for head in heads if scope in ("all", head.kind, _site(head))]
        for first, second in itertools.combinations(criteria, 2):
            if len(chosen) >= ranks.FEWEST_HEADS:
                yield {"epoch": criteria[0].place[1], "scope": scope} | _row(first, second, chosen)


def reliability(criterion: Criterion, heads: Sequence[Head]) -> float:
    """Return how well a criterion's ranks of heads would repeat on other examples, 0 to 1; NaN if that is unknown."""
    if criterion.halves is None:
        return math.nan
    half = ranks.correlation(STATISTIC, *(_values(scores, heads) for scores in criterion.halves)).value
    return max(0.0, 2 * half / (1 + half)) if half > -1 else 0.0


def _row(first: Criterion, second: Criterion, heads: Sequence[Head]) -> dict[str, Any]:
    found = ranks.correlation(STATISTIC, _values(first.scores, heads), _values(second.scores, heads))
    ceiling = math.sqrt(reliability(first, heads) * reliability(second, heads))
    made = signature(interval="bootstrap-heads", bs=ranks.RESAMPLES, seed=SEED)
    pair = {"first": first.name, "second": second.name, "statistic": STATISTIC}
    about = "|".join([*_marked("a", first), *_marked("b", second), made])
    return pair | found._asdict() | {"ceiling": ceiling, "heads": len(heads), "signature": about}


def _values(scores: Mapping[Head, float], heads: Sequence[Head]) -> numpy.ndarray:
    return numpy.array([scores[head] for head in heads])


def _marked(mark: str, criterion: Criterion) -> list[str]:
    return [f"{mark}-{part}" for part in criterion.signature.split("|")]


def _site(head: Head) -> str:
    return f"{head.kind}{head.layer}"


def _check_same(criteria: Sequence[Criterion]) -> None:
    first = criteria[0]
    for other in criteria[1:]:
        if other.place != first.place:
            places = (f"{one.source} is of the run {one.place[0]}, epoch {one.place[1]}" for one in (first, other))
            raise HeadroomError(f"{'; '.join(places)}: give tables of one run and epoch")
        if odd := sorted(set(first.scores) ^ set(other.scores)):
            has, lacks = (first, other) if odd[0] in first.scores else (other, first)
            raise HeadroomError(
                f"{has.source} has a score of head {odd[0]} by {has.name}, {lacks.source} has none by {lacks.name}: "
                "give tables of one model"
            )


def _gradients(path: Path) -> list[Criterion]:
    table = _last_epoch(path, tables.SCORES)
    raw = table[table["normalised"] == "raw"]
    return [_criterion(name, raw[raw["criterion"] == name], path) for name in GRADIENTS]


def _ablation(path: Path) -> list[Criterion]:
    """Return the harm that removing a head does to the main metric (the table's first) on the set that chooses."""
    table = _last_epoch(path, tables.ABLATION)
    metric = table["metric"].iloc[0]
    table = table[(table["set"] == "choose") & (table["metric"] == metric)]
    return [_criterion("ablation", table.assign(value=harm(metric, table["delta"].to_numpy())), path)]


def _confidence(path: Path) -> list[Criterion]:
    table = _last_epoch(path, tables.ATTENTION_STATS)
    return [_with_halves("confidence", table[table["model"] == "trained"], path)]


def _relevance(path: Path) -> list[Criterion]:
    return [_with_halves("relevance", _last_epoch(path, tables.RELEVANCE), path)]


def _gates(path: Path) -> list[Criterion]:
    """Return the share of a method's settings at which a head stays; nothing if its gates are on some kinds only."""
    table = _last_epoch(path, tables.GATES)
    table = table[table["scope"] == "all"].assign(value=lambda rows: rows["kept"])
    places = ["run", "epoch", "kind", "layer", "head"]
    found = []
    for method, rows in table.groupby("method", sort=False):
        shares = rows.groupby(places, as_index=False, sort=False).agg({"value": "mean", "signature": "first"})
        settings = signature(method=method, settings=",".join(map(str, dict.fromkeys(rows["setting"]))))
        about = shares["signature"] + "|" + settings
        name = "gates" if method == "hard-concrete" else f"gates-{method}"
        found.append(_criterion(name, shares.assign(signature=about), path))
    return found


def _halves(path: Path) -> dict[str, tuple[dict[Head, float], dict[Head, float]]]:
    """Return, by criterion, the scores on the two halves of the examples."""
    table = _last_epoch(path, tables.SCORES_HALVES)
    found = {}
    for name, rows in table.groupby("criterion", sort=False):
        first, second = (rows[rows["half"] == half] for half in ("choose", "score"))
        found[str(name)] = (by_head(first, first["value"]), by_head(second, second["value"]))
    return found


def _with_halves(measure: str, table: pandas.DataFrame, path: Path) -> Criterion:
    rows = table[table["measure"] == measure]
    first, second = (rows[rows["half"] == half] for half in ("choose", "score"))
    halves = (by_head(first, first["value"]), by_head(second, second["value"]))
    whole = _criterion(measure, rows[rows["half"] == "all"], path)
    if set(halves[0]) != set(whole.scores) or set(halves[1]) != set(whole.scores):
        return whole
    return whole._replace(halves=halves)


def _criterion(name: str, rows: pandas.DataFrame, path: Path) -> Criterion:
    if rows.empty:
        raise HeadroomError(f"{path}: no score by {name}; write this table again")
    places = sorted(set(zip(rows["run"], rows["epoch"])))
    if len(places) > 1:
        raise HeadroomError(f"{path}: scores of several runs or epochs, e.g. {places[0]} and {places[1]}; give one")
    scores = by_head(rows, rows["value"])
    if len(scores) < len(rows):
        raise HeadroomError(f"{path}: a head has several scores by {name}; write this table again")
    return Criterion(name, scores, None, str(rows["signature"].iloc[0]), str(path), (places[0][0], int(places[0][1])))


def _last_epoch(path: Path, of: Table) -> pandas.DataFrame:
    table = of.read(path)
    if table.empty:
        raise HeadroomError(f"{path}: the table has no row; write it again")
    return table[table["epoch"] == table["epoch"].max()]


if __name__ == "__main__":
    run(main)
