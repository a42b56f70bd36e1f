"""Accuracy of heads for dependency relations (Voita et al. 2019, Section 5.2)."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.heads import HALVES, Site
from headroom.core.progress import follow_items
from headroom.data.trees import ParsedSentence
from headroom.methods.pointing import (
    OFFSETS,
    Heads,
    Measured,
    between_units,
    mean_of_shares,
    measure_pointing,
    membership,
    shares_with_intervals,
    unit_of_tokens,
    units,
)
from headroom.models.sites import MapBatch

DIRECTIONS = ("to-dependent", "to-governor")

SHUFFLE_SEED = 1

Arcs = Mapping[int, frozenset[int]]
"""From each query unit to the correct units."""


def targets(relations: Sequence[str]) -> list[str]:
    """Return the names of relations in both directions, as in tables."""
    return [f"{relation}:{direction}" for relation in relations for direction in DIRECTIONS]


def list_arcs(sentence: ParsedSentence, target: str, present: Set[int]) -> dict[int, frozenset[int]]:
    """Return the arcs of a relation in one direction, e.g. `nsubj:to-dependent`, except those within a unit.

    Units without tokens in the model, i.e. that are not `present`, are neither queries nor targets.
    """
    relation, _, direction = target.rpartition(":")
    related = [(number, word.governor) for number, word in enumerate(sentence.words) if word.relation == relation]
    of_word = units(sentence)[0] if related else []
    found: dict[int, set[int]] = {}
    for number, place in related:
        if place is not None:
            dependent, governor = of_word[number], of_word[place]
            if dependent != governor and {dependent, governor} <= present:
                query, right = (governor, dependent) if direction == DIRECTIONS[0] else (dependent, governor)
                found.setdefault(query, set()).add(right)
    return {query: frozenset(right) for query, right in sorted(found.items())}


def move_arcs(arcs: Arcs, present: Set[int], draw: random.Random) -> dict[int, frozenset[int]]:
    """Return arcs at other positions of their sentence, with the same distances.

    The control for syntax: words, their order and the distribution of relative positions, the basis of the baseline,
    are preserved; only the related words are random. (Exchanging trees among sentences of equal length is unsuitable
    for generated text, in which such sentences often have the same structure.) Arcs without another position are
    omitted.
    """
    found: dict[int, frozenset[int]] = {}
    for query, right in arcs.items():
        offsets = [other - query for other in sorted(right)]
        places = [
            place
            for place in sorted(present)
            if place != query and place not in found and all(place + offset in present for offset in offsets)
        ]
        if places:
            place = draw.choice(places)
            found[place] = frozenset(place + offset for offset in offsets)
    return found


def best_offset(sentences: Sequence[Arcs]) -> int | None:
    """Return the relative position at which most query units have a correct one; None without queries.

    Ties are broken by distance, then to the left.
    """
    counts = Counter(other - query for arcs in sentences for query, right in arcs.items() for other in right)
    return min(counts, key=lambda offset: (-counts[offset], abs(offset), offset)) if counts else None


def hits_at(arcs: Arcs, offset: int) -> int:
    """Return the number of query units with a correct unit at a relative position."""
    return sum(query + offset in right for query, right in arcs.items())


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

    The batches contain the sentences of the treebank, each once, with the spans of their tokens. The mean margins of
    the best heads come last.
    """
    of_tokens = tokens_to_units(batches, treebank)
    arcs = arc_sets(treebank, of_tokens, relations)
    seen = {site: names for site, names in heads.items() if site.kind == batches[0].reads}
    hits = {site: numpy.zeros((len(arcs), len(treebank), len(names))) for site, names in seen.items()}
    for batch in follow_items(batches, "attention_stats", "batches of parsed sentences"):
        _count(batch, of_tokens, treebank, arcs, hits)
    names = [head for heads_here in seen.values() for head in heads_here]
    right = numpy.concatenate([*hits.values()], axis=-1) if hits else numpy.zeros((len(arcs), len(treebank), 0))
    found: list[Measured] = []
    cases: dict[str, list[Cases]] = {}
    for place, ((target, trees), sets) in enumerate(arcs.items()):
        offset = best_offset(sets[HALVES["choose"]])
        if offset is None:
            continue
        query = numpy.array([len(one) for one in sets], dtype=float)
        baseline = numpy.array([hits_at(one, offset) for one in sets], dtype=float)
        for half in ("choose", "score"):
            name = ("relation", target, trees, half)
            found += measure_pointing(names, name, right[place], query, resamples=resamples, baseline=baseline)
        cases.setdefault(trees, []).append((right[place], query, baseline))
    return found + [one for trees, own in cases.items() for one in mean_margin(trees, own, resamples=resamples)]


Cases = tuple[ndarray, ndarray, ndarray]
"""Of a relation in one direction, by sentence: correct words by head (N, H), words (N,), those of the baseline (N,)."""


def mean_margin(trees: str, cases: Sequence[Cases], *, resamples: int) -> list[Measured]:
    """Return the mean margin over relations and directions of the heads chosen on the other half, with its interval.

    Margins are of the half `score`, whose sentences are resampled once for all relations: what these have in common
    stays, what they have not averages out. Empty without a head, or without a relation that both halves have.
    """
    choose, score = HALVES["choose"], HALVES["score"]
    both = [one for one in cases if one[0].size and one[1][choose].any() and one[1][score].any()]
    if not both:
        return []
    best = [int(right[choose].sum(0).argmax()) for right, _, _ in both]
    gained = [(right[:, head] - baseline)[score] for head, (right, _, baseline) in zip(best, both)]
    asked = numpy.stack([query[score] for _, query, _ in both], axis=1)  # (N, K)
    value, low, high = mean_of_shares(numpy.stack(gained, axis=1), asked, resamples)
    return [Measured(None, "mean-margin", "", trees, "score", value, None, low, high, int(asked.sum()))]


@dataclass(frozen=True)
class Distance:
    """How often the dependents of a relation are at one relative position; the fields are columns of `distances`.

    `value` is a share of the dependents, with its 95 % interval; `position` is counted in words from the governor.
    """

    relation: str
    position: int
    value: float
    low: float
    high: float
    count: int


def relation_distances(
    batches: Sequence[MapBatch], treebank: Sequence[ParsedSentence], *, relations: Sequence[str], resamples: int
) -> list[Distance]:
    """Return the distribution of the relative positions of dependents (Voita et al. 2019, Figure 3), near positions.

    The words, of the sentences of the treebank, are those that the model sees, as in `relation_pointing`; sentences are
    resampled. Relations without a dependent are omitted.
    """
    of_tokens = tokens_to_units(batches, treebank)
    found: list[Distance] = []
    for relation in relations:
        counts = []
        for place, sentence in enumerate(treebank):
            arcs = list_arcs(sentence, f"{relation}:{DIRECTIONS[0]}", frozenset(of_tokens[place].tolist()) - {-1})
            counts.append(Counter(other - governor for governor, right in arcs.items() for other in right))
        asked = numpy.array([float(own.total()) for own in counts])
        if not asked.any():
            continue
        near = [position for position in OFFSETS if position]  # a word is not its own dependent
        hits = numpy.array([[own[position] for position in near] for own in counts], dtype=float)  # (N, positions)
        values, bounds = shares_with_intervals(hits, asked, resamples)
        for position, value, (low, high) in zip(near, values, bounds):
            found.append(Distance(relation, position, value, low, high, int(asked.sum())))
    return found


def tokens_to_units(batches: Sequence[MapBatch], treebank: Sequence[ParsedSentence]) -> dict[int, ndarray]:
    """Return the unit of every token of every sentence, -1 for none, (T,) of its batch, by the sentence's position."""
    found = {}
    for batch in batches:
        assert batch.spans is not None, "the batches are not of single sentences"
        for row, position in enumerate(batch.positions):
            found[position] = unit_of_tokens(batch.spans[row].numpy(), units(treebank[position])[1])
    return found


def arc_sets(
    treebank: Sequence[ParsedSentence], of_tokens: Mapping[int, ndarray], relations: Sequence[str]
) -> dict[tuple[str, str], list[Arcs]]:
    """Return the arcs of every sentence by target and trees; shuffled ones from a separate seed."""
    present = [frozenset(of_tokens[place].tolist()) - {-1} for place in range(len(treebank))]
    found: dict[tuple[str, str], list[Arcs]] = {}
    for target in targets(relations):
        draw = random.Random(f"{SHUFFLE_SEED} {target}")
        gold = [list_arcs(sentence, target, here) for sentence, here in zip(treebank, present, strict=True)]
        found[target, "gold"] = [*gold]
        found[target, "shuffled"] = [move_arcs(arcs, here, draw) for arcs, here in zip(gold, present, strict=True)]
    return found


def right_units(arcs: ArcSets, positions: Sequence[int], size: int) -> Tensor:
    """Return the correct units of each unit, (K, B, U, U), for K sets of arcs of the sentences at these positions."""
    places = [
        (which, row, query, other)
        for which, sets in enumerate(arcs.values())
        for row, position in enumerate(positions)
        for query, others in sets[position].items()
        for other in others
    ]
    right = torch.zeros(len(arcs), len(positions), size, size, dtype=torch.bool)
    right[tuple(torch.tensor(places, dtype=torch.long).reshape(-1, 4).T)] = True
    return right


def _count(
    batch: MapBatch,
    of_tokens: Mapping[int, ndarray],
    treebank: Sequence[ParsedSentence],
    arcs: ArcSets,
    hits: Mapping[Site, ndarray],
) -> None:
    """Run a batch, and add the hits of every head in its sentences: the mean over the uses of its site in the pass."""
    rows = batch.positions
    sizes = [len(units(treebank[position])[1]) for position in rows]
    device = batch.tokens.device
    member = membership([of_tokens[position] for position in rows], sizes, batch.tokens.shape[1]).to(device)
    right = right_units(arcs, rows, max(sizes)).to(device)  # (K, B, U, U)

    def count(site: Site, weights: Tensor) -> None:
        pointed = between_units(weights, member).argmax(-1)  # (B, H, U)
        found = right.gather(-1, pointed.mT.expand(len(right), -1, -1, -1))  # (K, B, U, H)
        hits[site][:, rows] += found.sum(2).double().cpu().numpy() / batch.uses[site]

    batch.show(count)
