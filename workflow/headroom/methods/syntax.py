"""Whether heads point along dependency relations (Voita et al. 2019, Section 5.2).

The accuracy of a head for a relation in one direction is how often it points from a word asked to a right one (see
`headroom.methods.arcs`), among words (see `headroom.methods.words`). Its baseline points to the relation's most
frequent relative position, which is found on the sentences that choose alone.
"""

import random
from collections.abc import Mapping, Sequence

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.data.trees import ParsedSentence
from headroom.ground.halves import HALVES
from headroom.ground.heads import Site
from headroom.methods.arcs import SHUFFLE_SEED, Arcs, arcs_of, best_offset, hits_at, moved, targets
from headroom.methods.pointing import Heads
from headroom.methods.shares import Measured, measured
from headroom.methods.words import between_units, membership, unit_of_pieces, units
from headroom.models.maps import MapBatch

TREES = ("gold", "shuffled")

ArcSets = Mapping[tuple[str, str], Sequence[Arcs]]
"""By target and trees, the arcs of every sentence."""


@torch.inference_mode()
def relation_pointing(
    batches: Sequence[MapBatch],
    treebank: Sequence[ParsedSentence],
    heads: Heads,
    *,
    relations: Sequence[str],
    resamples: int,
) -> list[Measured]:
    """Measure the accuracy of every encoder head for relations in both directions, on gold and on shuffled trees.

    Args:
        batches: The sentences of the treebank, each once, with the spans of their pieces.
        treebank: The sentences.
        heads: The heads to look at, by site.
        relations: Names of relations that the treebank has.
        resamples: Bootstrap samples.
    """
    of_pieces = pieces_to_units(batches, treebank)
    arcs = arc_sets(treebank, of_pieces, relations)
    seen = {site: names for site, names in heads.items() if site.kind == "E"}
    hits = {site: numpy.zeros((len(arcs), len(treebank), len(names))) for site, names in seen.items()}
    for batch in batches:
        _count(batch, of_pieces, treebank, arcs, hits)
    names = [head for heads_here in seen.values() for head in heads_here]
    right = numpy.concatenate([*hits.values()], axis=-1) if hits else numpy.zeros((len(arcs), len(treebank), 0))
    found: list[Measured] = []
    for place, ((target, trees), sets) in enumerate(arcs.items()):
        offset = best_offset(sets[HALVES["choose"]])
        if offset is None:
            continue
        asked = numpy.array([len(one) for one in sets], dtype=float)
        baseline = numpy.array([hits_at(one, offset) for one in sets], dtype=float)
        for half in ("choose", "score"):
            name = ("relation", target, trees, half)
            found += measured(names, name, right[place], asked, resamples=resamples, baseline=baseline)
    return found


def pieces_to_units(batches: Sequence[MapBatch], treebank: Sequence[ParsedSentence]) -> dict[int, ndarray]:
    """Return the unit of every piece of every sentence, -1 for none, (T,) of its batch, by the sentence's place."""
    found = {}
    for batch in batches:
        assert batch.spans is not None, "the batches are not of single sentences"
        for row, position in enumerate(batch.positions):
            found[position] = unit_of_pieces(batch.spans[row].numpy(), units(treebank[position])[1])
    return found


def arc_sets(
    treebank: Sequence[ParsedSentence], of_pieces: Mapping[int, ndarray], relations: Sequence[str]
) -> dict[tuple[str, str], list[Arcs]]:
    """Return the arcs of every sentence by target and trees; shuffled ones from a seed of their own."""
    present = [frozenset(of_pieces[place].tolist()) - {-1} for place in range(len(treebank))]
    found: dict[tuple[str, str], list[Arcs]] = {}
    for target in targets(relations):
        draw = random.Random(f"{SHUFFLE_SEED} {target}")
        gold = [arcs_of(sentence, target, here) for sentence, here in zip(treebank, present, strict=True)]
        found[target, "gold"] = [*gold]
        found[target, "shuffled"] = [moved(arcs, here, draw) for arcs, here in zip(gold, present, strict=True)]
    return found


def right_units(arcs: ArcSets, positions: Sequence[int], size: int) -> Tensor:
    """Return which units are right for which, (K, B, U, U), for K sets of arcs of the sentences at these positions."""
    places = [
        (which, row, asked, other)
        for which, sets in enumerate(arcs.values())
        for row, position in enumerate(positions)
        for asked, others in sets[position].items()
        for other in others
    ]
    right = torch.zeros(len(arcs), len(positions), size, size, dtype=torch.bool)
    right[tuple(torch.tensor(places, dtype=torch.long).reshape(-1, 4).T)] = True
    return right


def _count(
    batch: MapBatch,
    of_pieces: Mapping[int, ndarray],
    treebank: Sequence[ParsedSentence],
    arcs: ArcSets,
    hits: Mapping[Site, ndarray],
) -> None:
    """Run a batch, and set the hits of every head in its sentences."""
    rows = batch.positions
    sizes = [len(units(treebank[position])[1]) for position in rows]
    device = batch.pieces.device
    member = membership([of_pieces[position] for position in rows], sizes, batch.pieces.shape[1]).to(device)
    right = right_units(arcs, rows, max(sizes)).to(device)  # (K, B, U, U)

    def count(site: Site, weights: Tensor) -> None:
        pointed = between_units(weights, member).argmax(-1)  # (B, H, U)
        found = right.gather(-1, pointed.mT.expand(len(right), -1, -1, -1))  # (K, B, U, H)
        hits[site][:, rows] = found.sum(2).double().cpu().numpy()

    batch.show(count)
