"""Which kinds and layers keep their heads under learned gates (Voita et al. 2019, section 6.4)."""

from collections.abc import Iterable, Mapping

import numpy
import pandas

from headroom.claims.evidence import by_run
from headroom.claims.verdict import Number, Reading, above
from headroom.core.statistics import Estimate, estimate_mean, welch
from headroom.experiments.gates.claims import survival
from headroom.study.selection import last_epochs, rows_where
from headroom.study.tables import StudyTables


def by_kind(tables: StudyTables) -> list[Reading]:
    """Decide whether heads of the encoder go first, and whether those of encoder-decoder attention go last."""
    runs = {run: found for run, found in _survivals(tables).items() if set(found["kind"]) == {"E", "A", "D"}}
    if not runs:
        return []
    encoder, cross, decoder = ([_shares(found, kind) for found in runs.values()] for kind in ("E", "A", "D"))
    first = (
        _ask_above("decoder_less_encoder", decoder, encoder),
        _ask_above("cross_less_encoder", cross, encoder),
        Number("encoder", _mean(encoder), "share"),
    )
    last = (
        _ask_above("cross_less_decoder", cross, decoder),
        _ask_above("cross_less_encoder", cross, encoder),
        Number("cross", _mean(cross), "share"),
    )
    return [
        Reading(first, part="encoder heads go first", runs=tuple(runs)),
        Reading(last, part="encoder-decoder heads go last", runs=tuple(runs)),
    ]


def by_layer(tables: StudyTables) -> list[Reading]:
    """Decide whether the decoder keeps self-attention in lower layers, and encoder-decoder attention in upper ones."""
    survivals = {run: found[found["kind"].isin(["A", "D"])] for run, found in _survivals(tables).items()}
    runs = {
        run: found for run, found in survivals.items() if found["kind"].nunique() == 2 and found["layer"].nunique() > 1
    }
    if not runs:
        return []
    lower, upper = halves(int(layer) for layer in next(iter(runs.values()))["layer"])
    (low_d, up_d), (low_a, up_a) = (
        [[_shares(found, kind, layers) for found in runs.values()] for layers in (lower, upper)] for kind in "DA"
    )
    parts = {
        "decoder self-attention": _ask_above("decoder_lower", low_d, up_d),
        "encoder-decoder attention": _ask_above("cross_upper", up_a, low_a),
    }
    return [Reading((number,), part=part, runs=tuple(runs)) for part, number in parts.items()]


def halves(layers: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the lower and the upper half of layers; the middle one of an odd number is in neither."""
    ordered = sorted(set(layers))
    half = len(ordered) // 2
    return ordered[:half], ordered[len(ordered) - half :]


def _survivals(tables: StudyTables) -> Mapping[str, pandas.DataFrame]:
    """Return by run how often each of its heads stays in the sweep over all kinds, of runs with such a sweep."""
    found = {}
    for rows in by_run(tables.gates, tables):
        rows = last_epochs(rows)
        if len(rows_where(rows, scope="all")):
            found[str(rows["run"].iloc[0])] = survival(rows).rename("share").reset_index()
    return found


def _shares(rows: pandas.DataFrame, kind: str, layers: Iterable[int] = ()) -> list[float]:
    own = rows_where(rows, kind=kind)
    chosen = own[own["layer"].isin(list(layers))] if layers else own
    return [float(share) for share in chosen["share"]]


def _ask_above(name: str, more: list[list[float]], fewer: list[list[float]]) -> Number:
    """Return the mean of some heads less that of others, asked to be above 0."""
    return Number(name, _less(more, fewer), "share", signed=True, asked=above(0.0), limits=(-1.0, 1.0))


def _less(first: list[list[float]], second: list[list[float]]) -> Estimate:
    """Return the mean of some heads less that of others, with an interval over runs, of a single one over its heads.

    That of two runs is never narrower than their mean is by the heads of each: two may be alike by luck.
    """
    alone = [welch(one, other) for one, other in zip(first, second)]
    found = estimate_mean([one.value for one in alone])
    if len(alone) > 2:
        return found
    own = float(numpy.hypot.reduce([(one.high - one.low) / 2 for one in alone])) / len(alone)
    half = float(numpy.fmax(found.high - found.value, own))
    return Estimate(found.value, found.value - half, found.value + half)


def _mean(shares: list[list[float]]) -> Estimate:
    return Estimate(float(numpy.mean([numpy.mean(own) for own in shares])))
