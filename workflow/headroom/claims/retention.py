"""Which kinds and layers keep their heads under learned gates (Voita et al. 2019, section 6.4)."""

from collections.abc import Iterable, Iterator

import numpy
import pandas

from headroom.claims.evidence import by_run
from headroom.claims.gates import survival
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Number, Reading, above, all_of
from headroom.core.statistics import Estimate, mean_of, welch


def by_kind(tables: StudyTables) -> list[Reading]:
    """Decide whether heads of the encoder go first and those of encoder-decoder attention last, in all runs."""
    runs = [found for found in _survivals(tables) if set(found["kind"]) == {"E", "A", "D"}]
    if not runs:
        return []
    encoder, cross, decoder = ([_shares(found, kind) for found in runs] for kind in ("E", "A", "D"))
    differences = (_less(decoder, encoder), _less(cross, encoder), _less(cross, decoder))
    numbers = (
        Number("encoder", _mean(encoder), "share"),
        Number("decoder", _mean(decoder), "share"),
        Number("cross", _mean(cross), "share"),
        Number("last_less_first", differences[1], "share", signed=True),
        Number("last_less_middle", differences[2], "share", signed=True),
    )
    return [Reading(all_of(*(above(one, 0.0) for one in differences)), numbers, seeds=len(runs))]


def by_layer(tables: StudyTables) -> list[Reading]:
    """Decide whether the decoder keeps self-attention in lower layers, encoder-decoder attention in upper ones."""
    runs = [found[found["kind"].isin(["A", "D"])] for found in _survivals(tables)]
    runs = [found for found in runs if found["kind"].nunique() == 2 and found["layer"].nunique() > 1]
    if not runs:
        return []
    lower, upper = halves(int(layer) for layer in runs[0]["layer"])
    shares = {
        (kind, half): [_shares(found, kind, layers) for found in runs]
        for kind in ("A", "D")
        for half, layers in (("lower", lower), ("upper", upper))
    }
    low = _less(shares["D", "lower"], shares["D", "upper"])
    high = _less(shares["A", "upper"], shares["A", "lower"])
    named = (("decoder_lower", low), ("cross_upper", high))
    numbers = tuple(Number(name, one, "share", signed=True) for name, one in named)
    return [Reading(all_of(above(low, 0.0), above(high, 0.0)), numbers, seeds=len(runs))]


def halves(layers: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the lower and the upper half of layers; the middle one of an odd number is in neither."""
    ordered = sorted(set(layers))
    half = len(ordered) // 2
    return ordered[:half], ordered[len(ordered) - half :]


def _survivals(tables: StudyTables) -> Iterator[pandas.DataFrame]:
    """Yield how often each head of a run stays in the sweep over all kinds, of runs with such a sweep."""
    for rows in by_run(tables.gates, tables):
        rows = last_epochs(rows)
        if len(rows_where(rows, scope="all")):
            yield survival(rows).rename("share").reset_index()


def _shares(rows: pandas.DataFrame, kind: str, layers: Iterable[int] = ()) -> list[float]:
    own = rows_where(rows, kind=kind)
    chosen = own[own["layer"].isin(list(layers))] if layers else own
    return [float(share) for share in chosen["share"]]


def _less(first: list[list[float]], second: list[list[float]]) -> Estimate:
    """Return the mean of some heads less that of others: an interval over runs, with one run over its heads."""
    if len(first) == 1:
        return welch(first[0], second[0])
    return mean_of([float(numpy.mean(one) - numpy.mean(other)) for one, other in zip(first, second)])


def _mean(shares: list[list[float]]) -> Estimate:
    return Estimate(float(numpy.mean([numpy.mean(own) for own in shares])))
