"""Names of sites and heads, and profiles of removed heads."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headroom.core.errors import HeadroomError

KINDS = ("E", "A", "D")
"""Encoder self-attention, encoder-decoder attention, decoder self-attention: the order of all tables."""

_NAME = re.compile(r"([EAD])([1-9][0-9]*):([1-9][0-9]*)")


@dataclass(frozen=True)
class Site:
    """One multi-head attention sub-layer: kind, layer counted from 1, and its number of heads."""

    kind: str
    layer: int
    heads: int

    def __str__(self) -> str:
        return f"{self.kind}{self.layer}"

    def head_names(self) -> list["Head"]:
        """Return the heads of this site in order."""
        return [Head(self.kind, self.layer, index) for index in range(1, self.heads + 1)]

    def is_among(self, words: Iterable[str]) -> bool:
        """Return whether a word selects the site: `all`, `first` (layer 1 of every kind), a kind, a site."""
        names = {"all", self.kind, str(self), *(["first"] if self.layer == 1 else [])}
        return not names.isdisjoint(words)


@dataclass(frozen=True)
class Head:
    """One head, written `E3:5` (kind, layer, head; counted from 1). Sorts by kind E, A, D, layer, head."""

    kind: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.kind}{self.layer}:{self.head}"

    def __lt__(self, other: "Head") -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[int, int, int]:
        return KINDS.index(self.kind), self.layer, self.head


def parse_head(name: str) -> Head:
    """Return the head with a name such as `A2:7`.

    Raises:
        HeadroomError: If the name does not have that form.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise HeadroomError(
            f"head '{name}': malformed; write kind, layer and head, e.g. E3:5 (kinds E, A, D; counted from 1)"
        )
    return Head(match[1], int(match[2]), int(match[3]))


def parse_profile(text: str, sites: Sequence[Site]) -> frozenset[Head]:
    """Return the heads of a profile, each checked against the sites of a model.

    Args:
        text: Head names separated by spaces; empty for none.
        sites: The sites of the model at hand.

    Raises:
        HeadroomError: If a name is malformed, repeated, or names a head that the model does not have.
    """
    heads = [parse_head(name) for name in text.split()]
    check_heads(heads, sites)
    if len(set(heads)) < len(heads):
        repeated = next(head for head in heads if heads.count(head) > 1)
        raise HeadroomError(f"profile '{text}': head {repeated} is named twice; name it once")
    return frozenset(heads)


def check_heads(heads: Iterable[Head], sites: Sequence[Site]) -> None:
    """Raise HeadroomError for the first head that the sites do not have."""
    by_name = {(site.kind, site.layer): site for site in sites}
    for head in heads:
        site = by_name.get((head.kind, head.layer))
        if site is None:
            known = " ".join(str(site) for site in sites)
            raise HeadroomError(f"head {head}: does not exist; the model's sites are {known}")
        if head.head > site.heads:
            raise HeadroomError(f"head {head}: does not exist; site {site} has {site.heads} heads")


def random_profile(sites: Iterable[Site], size: int, seed: int) -> frozenset[Head]:
    """Return `size` random heads of the sites; a function of the arguments only."""
    return frozenset(random.Random(f"layout {seed}").sample(all_heads(sites), size))


def format_profile(heads: Iterable[Head]) -> str:
    """Return a profile as sorted names separated by spaces; the inverse of `parse_profile`."""
    return " ".join(str(head) for head in sorted(heads))


def all_heads(sites: Iterable[Site], scope: str = "all") -> list[Head]:
    """Return every head of the sites in scope (`all`, one kind such as `E`, or one site such as `E3`), in table order.

    Raises:
        HeadroomError: If no site is in scope.
    """
    sites = list(sites)
    chosen = [site for site in sites if scope in ("all", site.kind, str(site))]
    if not chosen:
        raise HeadroomError(f"scope '{scope}': contains no site; the model's sites are {' '.join(map(str, sites))}")
    return sorted(head for site in chosen for head in site.head_names())


Unit = tuple[Head, ...]
"""Heads that are removed together."""


def single_units(heads: Iterable[Head]) -> list[Unit]:
    """Return heads that are removed one by one, as units."""
    return [(head,) for head in heads]


def join_units(units: Iterable[Unit]) -> frozenset[Head]:
    """Return the heads of units."""
    return frozenset(head for unit in units for head in unit)


HALVES = {"all": slice(None), "choose": slice(0, None, 2), "score": slice(1, None, 2)}
"""Examples at even positions choose, examples at odd positions score."""
