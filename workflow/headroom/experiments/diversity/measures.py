"""Diversity of heads: the similarity of the heads of a site in weights and in behaviour on text.

Each measure is a mean over the pairs of heads of a site; see `headroom.training.repulsion.similarity` for the formulas.

    measure              compared quantity                                          value if all heads are equal
    particle_cosine      their rows of a projection, as particles: cosine           1
    particle_distance    the same: Euclidean distance                               0
    particle_kernel      the same: kernel of their repulsion                        1
    value_cosine         their values at each token                                 1
    attention_product    their attention weights of each query, multiplied          1 / positions (even) to 1 (sure)
    attention_cosine     their attention map of each example                        1
    z_cosine             their outputs z at each token                              1
    z_cka                their outputs z at all tokens together: linear CKA         1

Query, key and value projection are separate systems of particles, as in An et al. 2020; the value of a site is the mean
of the three. `particle_step` compares two models: it is the displacement of the weights of a site.
Li et al. 2018 have `value_cosine`, `attention_product` and `z_cosine` (disagreement on subspaces, positions and
outputs, negated there, and over all pairs including each head with itself).

Padding never counts. A site with one head has no pairs.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.models.head_model import HeadModel
from headroom.models.sites import AttentionSite, MapBatch, shown_values
from headroom.training.repulsion.similarity import (
    cosines_at,
    linear_cka,
    map_cosines,
    map_products,
    mean_kernel,
    mean_pairwise_cosine,
    mean_pairwise_distance,
)

Found = dict[str, dict[Site, float]]
"""By measure, a number for every site that has it."""

Particles = Mapping[Site, Sequence[Tensor]]
"""The systems of each site: per projection one particle per head, (heads, parameters)."""

OF_PARTICLES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "particle_cosine": mean_pairwise_cosine,
    "particle_distance": mean_pairwise_distance,
    "particle_kernel": mean_kernel,
}
STEP = "particle_step"
ON_TEXT = ("value_cosine", "attention_product", "attention_cosine", "z_cosine", "z_cka")
MEASURES = (*OF_PARTICLES, STEP, *ON_TEXT)


def comparable(model: HeadModel) -> list[AttentionSite]:
    """Return the sites with more than one head."""
    return [live for live in model.live_sites if len(live.kept) > 1]


def extract_particles(model: HeadModel) -> Particles:
    """Return the heads of every comparable site as particles: of the query, key and value projections it has."""
    found = {}
    for live in comparable(model):
        found[live.site] = [live.head_weights(projection).flatten(1) for projection in live.query_key_value]
    return found


def particle_similarity(particles: Particles) -> Found:
    """Compare the heads of every site by their weights; the mean over its projections."""
    return {
        measure: {
            site: fmean(similarity(system.double()[None]).item() for system in systems)
            for site, systems in particles.items()
        }
        for measure, similarity in OF_PARTICLES.items()
    }


def particle_steps(before: Particles, after: Particles) -> dict[Site, float]:
    """Return the Euclidean displacement of all weights of every site together.

    Unlike the gradient, it includes the effect of the optimizer.

    Raises:
        HeadroomError: If the two models have different shapes.
    """
    first, second = (
        {site: [one.shape for one in systems] for site, systems in each.items()} for each in (before, after)
    )
    if first != second:
        raise HeadroomError("--checkpoints: models of different shapes; give those of one run")
    steps = {
        site: torch.stack([(to.double() - start.double()).norm() for start, to in zip(before[site], systems)])
        for site, systems in after.items()
    }
    return {site: lengths.norm().item() for site, lengths in steps.items()}


class OutputMoments:
    """Sums over tokens of the outputs of a site's heads and of their products, which suffice for CKA."""

    def __init__(self) -> None:
        self._products: Any = 0  # (H * d, H * d)
        self._sums: Any = 0  # (H, d)
        self._count = 0

    def add(self, z: Tensor) -> None:
        """Add outputs, (tokens, H, d)."""
        outputs = z.double()
        flat = outputs.flatten(1)
        self._products = self._products + flat.T @ flat
        self._sums = self._sums + outputs.sum(0)
        self._count += len(z)

    def cka(self) -> Tensor:
        """Return the mean linear CKA over pairs of heads, ()."""
        return linear_cka(self._products.view(*self._sums.shape, *self._sums.shape), self._sums, self._count)


class TextSimilarity:
    """Compares the heads of sites while a model runs, batch by batch."""

    def __init__(self, sites: Sequence[AttentionSite]) -> None:
        self._sites = sites
        self._seen: dict[tuple[str, Site], list[Tensor]] = defaultdict(list)
        self._moments = {live.site: OutputMoments() for live in sites}

    def observe(self, model: HeadModel, batch: MapBatch) -> None:
        """Run the model on a batch, once."""
        real = batch.real

        def see_maps(site: Site, maps: Tensor) -> None:
            if site in self._moments:
                self._seen["attention_product", site].append(map_products(maps, *real[site.kind]))
                self._seen["attention_cosine", site].append(map_cosines(maps, *real[site.kind]))

        def see_values(site: Site, values: Tensor) -> None:
            self._seen["value_cosine", site].append(cosines_at(values, real[site.kind][1]))

        def see_outputs(site: Site, z: Tensor) -> None:
            if site in self._moments:
                outputs = z[real[site.kind][0].T]  # (tokens, H, d)
                self._seen["z_cosine", site].append(mean_pairwise_cosine(outputs))
                self._moments[site].add(outputs)

        watched = shown_values(self._sites, see_values)
        with watched, model.gates.observed(see_outputs):
            batch.show(see_maps)

    def found(self) -> Found:
        """Return the means over tokens, or over examples for the maps as a whole."""
        self._seen |= {("z_cka", site): [moments.cka()[None]] for site, moments in self._moments.items()}
        return {
            measure: {
                live.site: torch.cat(self._seen[measure, live.site]).double().mean().item()
                for live in self._sites
                if (measure, live.site) in self._seen
            }
            for measure in ON_TEXT
        }


@torch.inference_mode()
def text_similarity(model: HeadModel, batches: Sequence[MapBatch]) -> Found:
    """Compare the heads of every comparable site of a model that shows its maps, with one forward pass per batch."""
    similarity = TextSimilarity(comparable(model))
    for batch in batches:
        similarity.observe(model, batch)
    return similarity.found()
