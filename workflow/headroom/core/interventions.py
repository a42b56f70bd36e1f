"""Interventions: changes to a model's heads without training. The key of every evaluation."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self, get_args

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, format_profile, parse_head

Replacement = Literal["zero", "mean", "resample", "first"]
"""Replacement of a removed head's z: zero; its mean over positions; its z on another example of the batch; its z at the
first position, which in a decoder is what the head says where it attends to the first token alone."""

REPLACEMENTS: tuple[str, ...] = get_args(Replacement)

Repair = Literal["none", "mean-bias", "scale", "obs", "refit"]
"""Change of a site's output projection that makes up for removed heads, without training; see `methods.repair`."""

REPAIRS: tuple[str, ...] = get_args(Repair)


@dataclass(frozen=True)
class Intervention:
    """A set of removed heads, their replacement or the repair of their sites, and scales of remaining heads.

    Interventions with the same effect are equal: scales of 1 are dropped, without a removed head the replacement is
    zero and the repair none, and the repair `mean-bias` is the replacement `mean`. The text form lists the removed
    heads, the scaled ones as `<head>*<scale>`, and any replacement except zero or repair except none:
    `E1:2 A3:4 E2:1*0.5 mean`, `E1:2 obs`; the plain model is the empty text.

    Attributes:
        removed: The profile.
        scale: The factors of the z of remaining heads, sorted by head.
        replacement: The replacement of the z of every removed head.
        repair: The repair of every site that loses a head.

    Raises:
        HeadroomError: If a head is scaled twice, or scaled and removed, a scale is not finite, the replacement or the
            repair is unknown, or a repair is combined with scales or a replacement, which it determines itself.
    """

    removed: frozenset[Head] = frozenset()
    scale: tuple[tuple[Head, float], ...] = ()
    replacement: Replacement = "zero"
    repair: Repair = "none"

    def __post_init__(self) -> None:
        scaled = [head for head, _ in self.scale]
        if repeated := [head for head in scaled if scaled.count(head) > 1]:
            raise HeadroomError(f"intervention: head {repeated[0]} is scaled twice; give it one scale")
        if gone := self.removed.intersection(scaled):
            raise HeadroomError(f"intervention: head {min(gone)} is removed and scaled; leave one out")
        if wrong := [f"{head}*{factor}" for head, factor in self.scale if not math.isfinite(factor)]:
            raise HeadroomError(f"intervention: {wrong[0]} is not a finite scale; give a number")
        if self.replacement not in REPLACEMENTS:
            known = ", ".join(REPLACEMENTS)
            raise HeadroomError(f"intervention: unknown replacement '{self.replacement}'; use one of {known}")
        if self.repair not in REPAIRS:
            raise HeadroomError(f"intervention: unknown repair '{self.repair}'; use one of {', '.join(REPAIRS)}")
        if self.repair != "none" and (self.scale or self.replacement != "zero"):
            raise HeadroomError(
                f"intervention: the repair {self.repair} determines scales and replacements; give it or them"
            )
        self._normalise()

    def _normalise(self) -> None:
        changed = ((head, float(factor)) for head, factor in self.scale if factor != 1)
        object.__setattr__(self, "scale", tuple(sorted(changed)))
        same = self.repair == "mean-bias"
        replacement = "mean" if same else self.replacement
        object.__setattr__(self, "replacement", replacement if self.removed else "zero")
        object.__setattr__(self, "repair", self.repair if self.removed and not same else "none")

    @classmethod
    def without(cls, *heads: Head, replacement: Replacement = "zero", repair: Repair = "none") -> Self:
        """Return the intervention that removes these heads."""
        return cls(frozenset(heads), replacement=replacement, repair=repair)

    @classmethod
    def scaled(cls, scale: Mapping[Head, float], removed: Iterable[Head] = ()) -> Self:
        """Return the intervention that multiplies the z of heads, and removes others."""
        return cls(frozenset(removed), tuple(scale.items()))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the intervention from its text form, the inverse of `str`.

        Raises:
            HeadroomError: If a word is neither a head, a scaled head, a replacement nor a repair.
        """
        words = text.split()
        replacement = words.pop() if words and words[-1] in REPLACEMENTS else "zero"
        repair = words.pop() if words and words[-1] in REPAIRS else "none"
        parts = [word.partition("*") for word in words]
        scale = tuple((parse_head(head), _factor(factor, text)) for head, star, factor in parts if star)
        removed = frozenset(parse_head(head) for head, star, _ in parts if not star)
        return cls(removed, scale, replacement, repair)  # type: ignore[arg-type]

    def __str__(self) -> str:
        scaled = [f"{head}*{factor!r}" for head, factor in self.scale]
        named = [name for name in (self.repair, self.replacement) if name not in ("none", "zero")]
        return " ".join([*filter(None, [format_profile(self.removed)]), *scaled, *named])

    def __bool__(self) -> bool:
        """Whether the intervention has an effect: false for the plain model."""
        return bool(self.removed or self.scale)

    @property
    def heads(self) -> frozenset[Head]:
        """All removed and scaled heads."""
        return self.removed.union(head for head, _ in self.scale)

    def gate(self, head: Head) -> float:
        """Return the factor of a head's z: 0 for removed heads, else the scale."""
        return 0.0 if head in self.removed else dict(self.scale).get(head, 1.0)


PLAIN = Intervention()
"""The unmodified model."""


@dataclass(frozen=True)
class Shard:
    """One of several equal shares of the interventions of a sweep; `number` counts from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2/4`.

        Raises:
            HeadroomError: If it does not have the form `<number from 1 to the count>/<count>`.
        """
        found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
        if not found or int(found[1]) > int(found[2]):
            raise HeadroomError(f"--shard {text}: malformed; give a number from 1 to the count and the count, e.g. 2/4")
        return cls(int(found[1]), int(found[2]))

    def share(self, interventions: Iterable[Intervention]) -> list[Intervention]:
        """Return every `count`th of the distinct interventions, so that the cost is spread evenly."""
        return list(dict.fromkeys(interventions))[self.number - 1 :: self.count]


def _factor(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise HeadroomError(
            f"intervention '{whole}': '{text}' is not a number; write a scale such as E1:2*0.5"
        ) from None
