"""Rows about roles and learned gates written by hand for tests of claims."""

from collections.abc import Iterator, Sequence
from typing import Any

from report.claim_tables import Row

ENCODER = [f"E{1 + place // 4}:{1 + place % 4}" for place in range(8)]
"""An encoder of two layers of four heads."""

DECODER = [f"{kind}{layer}:{head}" for kind in "AD" for layer in (1, 2) for head in (1, 2, 3, 4)]


def at(name: str) -> Row:
    """Return the columns of a head."""
    site, head = name.split(":")
    return {"kind": site[0], "layer": int(site[1:]), "head": int(head)}


def relevance(shares: Sequence[float], *, width: float = 0.01, error: float = 1e-5, **more: Any) -> Iterator[Row]:
    """Yield the relevance of the heads of one site, and what it misses the logit by."""
    for head, share in enumerate(shares, start=1):
        bounds = {"value": share, "low": share - width, "high": share + width}
        yield {"kind": "E", "layer": 1, "head": head, "measure": "relevance", "half": "all", **bounds} | more
    yield {"measure": "conservation-error", "half": "all", "value": error}


def offset(name: str, share: float, confidence: float, *, target: str = "-1", model: str = "trained") -> list[Row]:
    """Return how often a head points to a position, and its confidence, to within 0.05."""
    where = at(name) | {"model": model, "half": "all"}
    bounds = {"value": confidence, "low": confidence - 0.05, "high": confidence + 0.05}
    return [
        where | {"measure": "offset", "target": target, "value": share},
        where | {"measure": "confidence", **bounds},
    ]


def tracked(name: str, target: str, margins: tuple[float, float], *, width: float = 0.02, **more: Any) -> list[Row]:
    """Return a head's accuracy on a relation on both halves, with these margins over a position's 40 %."""
    usual = at(name) | {"model": "trained", "measure": "relation", "target": target, "trees": "gold", "baseline": 0.4}
    return [
        usual
        | {"half": half, "value": 0.4 + margin, "low": margin - width, "high": margin + width, "count": 100}
        | more
        for half, margin in zip(("choose", "score"), margins)
    ]


def rare(name: str, share: float, *, width: float = 0.05) -> Row:
    """Return how often a head points to one of the two rarest words; by chance it would in 10 %."""
    usual = at(name) | {"model": "trained", "measure": "rare", "target": "two-rarest", "half": "all", "baseline": 0.1}
    return usual | {"value": share, "low": share - 0.1 - width, "high": share - 0.1 + width}


def role(name: str, target: str, **more: Any) -> Row:
    """Return a role that a head of the trained model holds."""
    kind = "syntactic" if ":" in target else "rare" if "rarest" in target else "positional"
    bounds = {"value": 0.9, "baseline": 0.4, "low": 0.4, "high": 0.6, "best": 1}
    return at(name) | {"model": "trained", "trees": "gold", "role": kind, "target": target, **bounds} | more


def gated(kept: Sequence[str], *, heads: Sequence[str] = ENCODER, setting: float = 0.1, **more: Any) -> list[Row]:
    """Return the gates of one setting, which keeps these heads."""
    usual = {"method": "hard-concrete", "scope": "E", "setting": setting}
    return [usual | at(name) | {"kept": int(name in kept)} | more for name in heads]


def pruned(kept: int, delta: float, *, heads: int = 48, width: float = 1.0, **more: Any) -> Row:
    """Return a model of 100 BLEU with some heads left, hard gates, all decided."""
    usual = {"method": "hard-concrete", "scope": "E", "setting": kept / 100, "draw": 0, "gates": "hard", "undecided": 0}
    bounds = {"value": 100 + delta, "full": 100, "delta": delta, "low": delta - width, "high": delta + width}
    return usual | {"kept": kept, "heads": heads, "start": "converged", "removed": "", **bounds} | more
