"""Which kinds and layers keep their heads under learned gates (Voita et al. 2019, section 6.4)."""

from collections.abc import Iterable

import pandas

from headroom.claims.evidence import each_run
from headroom.claims.gates import survival
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.verdict import Number, Reading, above, all_of
from headroom.core.statistics import Estimate, welch


@each_run("gates")
def by_kind(rows: pandas.DataFrame) -> Reading | None:
    """Decide whether heads of the encoder go first and those of encoder-decoder attention last."""
    found = _survival(rows)
    if set(found["kind"]) != {"E", "A", "D"}:
        return None
    encoder, cross, decoder = (_shares(found, kind) for kind in ("E", "A", "D"))
    differences = (welch(decoder, encoder), welch(cross, encoder), welch(cross, decoder))
    numbers = (
        Number("encoder", _mean(encoder), "share"),
        Number("decoder", _mean(decoder), "share"),
        Number("cross", _mean(cross), "share"),
        Number("last_less_first", differences[1], "share", signed=True),
    )
    return Reading(all_of(*(above(one, 0.0) for one in differences)), numbers)


@each_run("gates")
def by_layer(rows: pandas.DataFrame) -> Reading | None:
    """Decide whether the decoder keeps self-attention in lower layers, encoder-decoder attention in upper layers."""
    found = _survival(rows)
    decoder = found[found["kind"].isin(["A", "D"])]
    lower, upper = halves(int(layer) for layer in decoder["layer"])
    if not lower or decoder["kind"].nunique() < 2:
        return None
    low = welch(_shares(found, "D", lower), _shares(found, "D", upper))
    high = welch(_shares(found, "A", upper), _shares(found, "A", lower))
    named = (("decoder_lower", low), ("cross_upper", high))
    numbers = tuple(Number(name, one, "share", signed=True) for name, one in named)
    return Reading(all_of(above(low, 0.0), above(high, 0.0)), numbers)


def halves(layers: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the lower and the upper half of layers; the middle one of an odd number is in neither."""
    ordered = sorted(set(layers))
    half = len(ordered) // 2
    return ordered[:half], ordered[len(ordered) - half :]


def _survival(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return how often each head of one run stays in the sweep over all kinds."""
    rows = last_epochs(rows)
    return survival(rows).rename("share").reset_index() if len(rows_where(rows, scope="all")) else rows.head(0)


def _shares(rows: pandas.DataFrame, kind: str, layers: Iterable[int] = ()) -> list[float]:
    own = rows_where(rows, kind=kind)
    chosen = own[own["layer"].isin(list(layers))] if layers else own
    return [float(share) for share in chosen["share"]]


def _mean(shares: list[float]) -> Estimate:
    return Estimate(sum(shares) / len(shares))
