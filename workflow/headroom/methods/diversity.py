"""Diversity of heads: the mean pairwise cosine between the heads of a site.

Three measures, after the disagreement terms of Li et al. 2018 (without their minus sign, and the
cosine for the maps as for the others), each between -1 and 1:

    v_projection_cosine   of the heads' rows of the value projection's weight
    attention_cosine      of the heads' attention maps, sentence by sentence
    z_cosine              of the heads' outputs, token by token

1 is the degenerate value: all heads of the site are the same (up to a positive factor). 0 means
orthogonal heads. Attention maps have no negative entries, so theirs lies between 0 and 1, and two heads
that attend evenly everywhere count as the same. Padding never counts.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from headroom.ground.heads import Site
from headroom.models.translation.attention_maps import attention_maps
from headroom.models.translation.model import Batch, TranslationModel

MEASURES = ("v_projection_cosine", "attention_cosine", "z_cosine")


def mean_pairwise_cosine(vectors: Tensor) -> Tensor:
    """Return the mean cosine over all pairs of heads.

    Args:
        vectors: One vector per head, (..., heads, features). A head of zeros has cosine 0 with any other.

    Returns:
        (...); NaN if there is only one head.
    """
    heads = vectors.shape[-2]
    if heads < 2:
        return vectors.new_full(vectors.shape[:-2], torch.nan)
    directions = functional.normalize(vectors, dim=-1)
    lengths = directions.square().sum((-2, -1))  # heads that are not zero
    return (directions.sum(-2).square().sum(-1) - lengths) / (heads * (heads - 1))


def projection_cosine(weight: Tensor, heads: int) -> Tensor:
    """Return the mean cosine between the heads of a projection.

    Args:
        weight: (heads * head_dim, width), heads in contiguous blocks of rows.
        heads: Number of heads.

    Returns:
        ().
    """
    return mean_pairwise_cosine(weight.detach().reshape(heads, -1))


def map_cosines(maps: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """Return the mean cosine between the heads' attention maps of each sentence.

    Args:
        maps: Attention weights, (B, H, T, S).
        queries: Which query positions are real, (B, T).
        keys: Which key positions are real, (B, S).

    Returns:
        (B,).
    """
    real = (queries[:, :, None] & keys[:, None, :])[:, None]  # (B, 1, T, S)
    return mean_pairwise_cosine((maps * real).flatten(2))


def output_cosines(z: Tensor, real: Tensor) -> Tensor:
    """Return the mean cosine between the heads' outputs at each real token.

    Args:
        z: Outputs of the heads, (T, B, H, d).
        real: Which positions are real, (B, T).

    Returns:
        (tokens,).
    """
    return mean_pairwise_cosine(z[real.T])


@torch.inference_mode()
def head_diversity(model: TranslationModel, batches: Sequence[Batch]) -> dict[str, dict[Site, float]]:
    """Compare the heads of every site of a model, teacher-forced on batches with references.

    Returns:
        For each of `MEASURES`, the mean at every site with more than one head: over sentences for the
        maps, over tokens for z.
    """
    found: dict[tuple[str, Site], list[Tensor]] = defaultdict(list)
    for live in model.live_sites:
        weight: Any = live.value.weight
        found["v_projection_cosine", live.site] = [projection_cosine(weight, len(live.kept))[None]]
    for batch in batches:
        real = _real_positions(model, batch)

        def keep_map(site: Site, maps: Tensor, real: dict[str, tuple[Tensor, Tensor]] = real) -> None:
            found["attention_cosine", site].append(map_cosines(maps, *real[site.kind]))

        def keep_z(site: Site, z: Tensor, real: dict[str, tuple[Tensor, Tensor]] = real) -> None:
            found["z_cosine", site].append(output_cosines(z, real[site.kind][0]))

        with attention_maps(model.live_sites, keep_map), model.gates.observed(keep_z):
            model.losses(batch)
    several = [live.site for live in model.live_sites if len(live.kept) > 1]
    return {
        measure: {site: torch.cat(found[measure, site]).double().mean().item() for site in several}
        for measure in MEASURES
    }


def _real_positions(model: TranslationModel, batch: Batch) -> dict[str, tuple[Tensor, Tensor]]:
    """Return which query (B, T) and key positions (B, S) are not padding, by kind of site."""
    assert batch.target is not None, "the batch has no references"
    source = batch.source.ne(model.source_dictionary.pad())
    target = batch.target.ne(model.target_dictionary.pad())
    return {"E": (source, source), "A": (target, source), "D": (target, target)}
