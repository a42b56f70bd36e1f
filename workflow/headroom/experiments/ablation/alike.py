"""Heads that cannot be told apart by removing them: the result is that of the full model, or of another head of a site.

Removing heads that are copies of one another leaves the same sum, up to rounding. Two other heads with equal losses on
every set, and on the resamples at both ends of their intervals, would be a rare chance.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy
import pandas

from headroom.core.errors import HeadroomError
from headroom.core.formatting import listing
from headroom.core.heads import Head

_OUTCOME = ["delta", "low", "high"]

_ROUNDING = 1e-6
"""Differences of losses below this share of the full model's loss are rounding."""


@dataclass(frozen=True)
class Alike:
    """The heads of a model, and those that have no effect of their own.

    Attributes:
        heads: All heads.
        idle: Those whose removal changes losses by rounding at most.
        copies: Groups of heads of a site with the same effect, which is not none.
    """

    heads: tuple[Head, ...]
    idle: tuple[Head, ...]
    copies: tuple[tuple[Head, ...], ...]

    @property
    def same(self) -> int:
        """The number of heads without an effect of their own."""
        return len(self.idle) + sum(map(len, self.copies))

    @property
    def flat(self) -> list[str]:
        """The sites of several heads that all have the same effect, or none."""
        groups = [{*self.idle}, *({*group} for group in self.copies)]
        return [site for site, own in _by_site(self.heads) if len(own) > 1 and any(one >= {*own} for one in groups)]

    def describe(self) -> str:
        """Return sentences about heads without an effect of their own; "" if there are none."""
        whole = dict(_by_site(self.heads))
        said = [
            f"No head of {site} reaches the output."
            if own == whole[site]
            else f"{listing(map(str, own))} {'does' if len(own) == 1 else 'do'} not reach the output."
            for site, own in _by_site(self.idle)
        ]
        said += [
            f"{listing(map(str, group))} give identical results; their order is that of the table."
            for group in self.copies
        ]
        return " ".join(said)


def find_alike(effects: pandas.DataFrame) -> Alike:
    """Return the heads that cannot be told apart, from one run's effects of single heads, by the first replacement."""
    losses = effects[effects["metric"] == "loss"]
    if losses.empty:
        return Alike((), (), ())
    if "replacement" in losses:
        losses = losses[losses["replacement"] == losses["replacement"].iloc[0]]
    outcomes = losses.pivot(index=["kind", "layer", "head"], columns="set", values=_OUTCOME)
    values = {
        Head(kind, int(layer), int(head)): row
        for (kind, layer, head), row in zip(outcomes.index, outcomes.to_numpy(dtype=float))
    }
    heads = sorted(values)
    limit = _ROUNDING * float(losses["full"].abs().max())
    idle = [head for head in heads if numpy.abs(values[head]).max() <= limit]
    groups: list[list[Head]] = []
    for _, own in _by_site(head for head in heads if head not in idle):
        mine: list[list[Head]] = []
        for head in own:
            near = (one for one in mine if numpy.abs(values[one[0]] - values[head]).max() <= limit)
            same = next(near, None)
            mine.append([head]) if same is None else same.append(head)
        groups += mine
    return Alike(tuple(heads), tuple(idle), tuple(tuple(group) for group in groups if len(group) > 1))


def check_effects(effects: pandas.DataFrame) -> Alike:
    """Return as `find_alike`; raise HeadroomError if at all sites of a kind, of several, heads have the same effect."""
    found = find_alike(effects)
    wide = [site for site, own in _by_site(found.heads) if len(own) > 1]
    for kind in dict.fromkeys(site[0] for site in wide):
        sites = [site for site in wide if site.startswith(kind)]
        if len(sites) > 1 and {*sites} <= {*found.flat}:
            raise HeadroomError(
                f"ablation: at each of the sites {listing(sites)} all heads have the same effect in every example;\n"
                "they were not removed, or the model does not use them: give another model"
            )
    return found


def _by_site(heads: Iterable[Head]) -> list[tuple[str, list[Head]]]:
    """Return heads, sorted, by the name of their site."""
    return [(site, list(own)) for site, own in groupby(heads, key=lambda head: f"{head.kind}{head.layer}")]
