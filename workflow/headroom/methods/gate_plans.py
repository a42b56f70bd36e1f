"""The further trainings of one method: a sweep over lambda, over K, or the controls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Head
from headroom.methods.learned_gates import ExactGates, GateSource, HardConcreteGates, fixed
from headroom.methods.orders import least_important_first, random_order, removed_first
from headroom.settings.gates import GateSettings

METHODS = ("hard-concrete", "exact", "exact-straight-through")
"""Ways to learn which heads stay."""


@dataclass(frozen=True)
class FurtherTraining:
    """One further training.

    Attributes:
        method: How its gates come about.
        setting: Lambda, or the number of heads kept.
        draw: Which random layout, from 1; 0 for none.
        source: Its gates.
        name: Directory of its model: the configured lambda or share.
    """

    method: str
    setting: float
    draw: int
    source: GateSource
    name: str


def kept_counts(settings: GateSettings, heads: int) -> list[tuple[str, int]]:
    """Return the numbers of heads to keep, each with a name: those of the shares, then those named as numbers.

    Raises:
        HeadroomError: If a number is larger than the number of heads in scope.
    """
    if wrong := [count for count in settings.kept_heads if count > heads]:
        raise HeadroomError(f"--kept-heads {wrong[0]}: there are {heads} heads in scope; keep at most so many")
    shares = [(f"{share:g}", round(share * heads)) for share in settings.kept_shares]
    return [*shares, *((f"{count}-heads", count) for count in settings.kept_heads)]


def learned(method: str, settings: GateSettings, heads: int, seed: int) -> Iterator[FurtherTraining]:
    """Yield the further trainings of one of `METHODS`, for a number of heads in scope."""
    if method == "hard-concrete":
        for strength in settings.penalties:
            gates = HardConcreteGates(heads=heads, strength=strength, seed=seed)
            yield FurtherTraining(method, strength, 0, gates, f"{strength:g}")
        return
    hard = method == "exact-straight-through"
    for name, k in kept_counts(settings, heads):
        exact = ExactGates(heads=heads, k=k, straight_through=hard, seed=seed)
        yield FurtherTraining(method, k, 0, exact, name)


def continued(heads: Sequence[Head]) -> FurtherTraining:
    """Return the control that keeps every head and trains on."""
    return FurtherTraining("continued", len(heads), 0, fixed(frozenset(), heads), "all")


def controls(
    settings: GateSettings, heads: Sequence[Head], scores: Mapping[Head, float], seed: int
) -> Iterator[FurtherTraining]:
    """Yield what learned gates are compared with: all heads, the best by a criterion, random ones.

    All are trained further like the learned ones, so that what differs is which heads stay (Prasanna et al. 2020
    retrain random layouts; Voita et al. 2019 have no such control).
    """
    yield continued(heads)
    for name, k in kept_counts(settings, len(heads)):
        gone = removed_first(least_important_first(scores, heads), len(heads) - k)
        yield FurtherTraining("gradient", k, 0, fixed(gone, heads), f"gradient-{name}")
        for draw in range(1, settings.random_draws + 1):
            gone = removed_first(random_order(heads, 1000 * seed + draw), len(heads) - k)
            yield FurtherTraining("random", k, draw, fixed(gone, heads), f"random{draw}-{name}")
