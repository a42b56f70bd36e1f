"""V12 and V13: which kinds and layers keep their heads."""

from collections.abc import Iterable

import pandas

from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import readings
from headroom.report.claims.gating import survival, welch
from headroom.report.claims.verdict import Claim, Estimate, Measured, Reading, above, all_of


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


def _read_kinds(rows: pandas.DataFrame) -> Reading | None:
    found = _survival(rows)
    if set(found["kind"]) != {"E", "A", "D"}:
        return None
    encoder, cross, decoder = (_shares(found, kind) for kind in ("E", "A", "D"))
    differences = (welch(decoder, encoder), welch(cross, encoder), welch(cross, decoder))
    measured = (
        Measured("a head stays at {} of the settings in encoder self-attention", _mean(encoder), unit="share"),
        Measured("{} in decoder self-attention", _mean(decoder), unit="share"),
        Measured("{} in encoder-decoder attention", _mean(cross), unit="share"),
        Measured("the last less the first {}", differences[1], unit="share", signed=True),
    )
    return Reading(all_of(*(above(one, 0.0) for one in differences)), measured)


def halves(layers: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the lower and the upper half of layers; the middle one of an odd number is in neither."""
    ordered = sorted(set(layers))
    half = len(ordered) // 2
    return ordered[:half], ordered[len(ordered) - half :]


def _read_layers(rows: pandas.DataFrame) -> Reading | None:
    found = _survival(rows)
    decoder = found[found["kind"].isin(["A", "D"])]
    lower, upper = halves(int(layer) for layer in decoder["layer"])
    if not lower or decoder["kind"].nunique() < 2:
        return None
    low = welch(_shares(found, "D", lower), _shares(found, "D", upper))
    high = welch(_shares(found, "A", upper), _shares(found, "A", lower))
    measured = (
        Measured("decoder self-attention: lower layers less upper {} of the settings", low, unit="share", signed=True),
        Measured("encoder-decoder attention: upper less lower {}", high, unit="share", signed=True),
    )
    return Reading(all_of(above(low, 0.0), above(high, 0.0)), measured)


def _kinds(tables: StudyTables) -> list[Reading]:
    return readings(tables, "gates", _read_kinds)


def _layers(tables: StudyTables) -> list[Reading]:
    return readings(tables, "gates", _read_layers)


_STAYS = (
    "Hard-concrete gates on all kinds: for every head the share of settings at which it stays, and Welch’s 95 %"
    " interval, over heads, of the difference of two means. "
)

CLAIMS = (
    Claim(
        id="V12",
        claim="Heads of encoder self-attention are pruned first, those of encoder-decoder attention last.",
        paper={"translation": "with 58 of 144 heads kept: 12 encoder, 21 decoder, 25 encoder-decoder (of 48 each)"},
        rule=_STAYS + "Holds if encoder heads stay less often than decoder heads and these less often than"
        " encoder-decoder heads, each interval (the third between the first and the last) above 0; does not hold if one"
        " lies below; else undecided.",
        section="gates",
        read=_kinds,
    ),
    Claim(
        id="V13",
        claim="Decoder self-attention keeps its heads in lower layers, encoder-decoder attention in upper layers.",
        paper={
            "translation": "with 58 heads kept: decoder self-attention 10, 9 and 2 heads in layers 1–2, 3–4 and 5–6,"
            " encoder-decoder attention 5, 10 and 10"
        },
        rule=_STAYS + "Layers are halved (the middle one of an odd number is in neither half). Holds if decoder"
        " self-attention keeps more in the lower half and encoder-decoder attention more in the upper half, both"
        " intervals above 0; does not hold if one lies below; else undecided.",
        section="gates",
        read=_layers,
    ),
)
