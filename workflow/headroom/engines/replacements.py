"""Measures what stands in for the z of removed heads."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from headroom.core.heads import Site
from headroom.engines.gates import Replacements
from headroom.engines.head_model import HeadModel
from headroom.engines.maps import MapBatch


@torch.no_grad()
def measured(model: HeadModel, batches: Iterable[MapBatch], *, seed: int = 0) -> Replacements:
    """Return the mean z of every head over the positions that are not padding; zero for heads sliced out already.

    Args:
        model: A model in eval mode.
        batches: The examples that means are over, as the model's engine shows their attention maps.
        seed: Of the permutations of examples with which z is resampled.
    """
    sums = {live.site: torch.zeros(()) for live in model.live_sites if live.kept}
    counts = dict.fromkeys(sums, 0)
    for batch in batches:

        def add(site: Site, z: Tensor, real: Mapping[str, tuple[Tensor, Tensor]] = batch.real) -> None:
            positions = z.transpose(0, 1)[real[site.kind][0].to(z.device)]  # (T, B, K, d) -> (N, K, d)
            sums[site] = sums[site] + positions.sum(0, dtype=torch.float64).cpu()
            counts[site] += len(positions)

        with model.gates.observed(add):
            batch.show(lambda _site, _weights: None)
    means: dict[Site, Tensor] = {}
    for live in model.live_sites:
        if counts.get(live.site):
            kept = [index - 1 for index in live.kept]
            means[live.site] = torch.zeros(live.site.heads, live.head_width, dtype=torch.float64)
            means[live.site][kept] = sums[live.site] / counts[live.site]
    return Replacements(means, seed)
