"""Where heads point: offsets, rare words and confidence, piece by piece (Voita et al. 2019, Sections 4 and 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.bootstrap import resampled_indices, resampling_weights
from headroom.core.heads import HALVES, Head, Site
from headroom.data.trees import ParsedSentence
from headroom.engines.maps import MapBatch

LEVELS = (0.025, 0.975)


@dataclass(frozen=True)
class Measured:
    """One number about where a head points; the fields are columns of the table of that name.

    Attributes:
        low: With `high` the 95 % interval, of `value` or, if there is a baseline, of `value` - `baseline`.
    """

    head: Head
    measure: str
    target: str
    trees: str
    half: str
    value: float
    baseline: float | None
    low: float | None
    high: float | None
    count: int


def shares(
    found: ndarray, asked: ndarray, *, resamples: int, baseline: ndarray | None = None
) -> tuple[ndarray, float | None, ndarray, ndarray]:
    """Return what part of what was asked each head finds.

    Args:
        found: By sentence and head, (N, H).
        asked: By sentence, (N,); at least one in all.
        resamples: Bootstrap samples; sentences are drawn, and a head and its baseline on the same ones.
        baseline: What is found without a head, by sentence, (N,).

    Returns:
        Shares (H,), the baseline's share, and the interval's ends (H,): of the share less that of the baseline.
    """
    value = found.sum(0) / asked.sum()
    beyond = found if baseline is None else found - baseline[:, None]
    weights = _weights(len(asked), resamples)  # (samples, N)
    total = weights @ asked
    drawn = (weights @ beyond)[total > 0] / total[total > 0, None]  # (samples, H)
    low, high = numpy.quantile(drawn, LEVELS, axis=0)
    return value, None if baseline is None else float(baseline.sum() / asked.sum()), low, high


def measured(
    heads: Sequence[Head],
    name: tuple[str, str, str, str],
    found: ndarray,
    asked: ndarray,
    *,
    resamples: int,
    baseline: ndarray | None = None,
) -> list[Measured]:
    """Return the shares of some heads on the half that the name says; none if nothing is asked there.

    Args:
        heads: The H heads.
        name: Measure, target, trees, half.
        found: As for `shares`, of all sentences.
        asked: As for `shares`, of all sentences.
        resamples: As for `shares`.
        baseline: As for `shares`, of all sentences.
    """
    rows = HALVES[name[3]]
    found, asked = found[rows], asked[rows]
    if not asked.sum():
        return []
    baseline = None if baseline is None else baseline[rows]
    value, without, low, high = shares(found, asked, resamples=resamples, baseline=baseline)
    count = int(asked.sum())
    return [
        Measured(head, *name, float(value[place]), without, float(low[place]), float(high[place]), count)
        for place, head in enumerate(heads)
    ]


@lru_cache(maxsize=8)
def _weights(sentences: int, resamples: int) -> ndarray:
    return resampling_weights(resampled_indices(sentences, resamples))


def units(sentence: ParsedSentence) -> tuple[list[int], ndarray]:
    """Return the unit of every word, counted from 0, and where each unit ends in the text, (U,)."""
    of_word: list[int] = []
    ends: list[int] = []
    for before, word in zip([None, *sentence.words], sentence.words):
        if before is None or (before.start, before.end) != (word.start, word.end):
            ends.append(word.end)
        of_word.append(len(ends) - 1)
    return of_word, numpy.array(ends)


def unit_of_pieces(spans: ndarray, ends: ndarray) -> ndarray:
    """Return the unit of every piece, (T,), -1 for those of none.

    Args:
        spans: Where the pieces begin and end in the text, (T, 2); -1 for special pieces.
        ends: Where the units end, (U,), increasing.
    """
    found = numpy.searchsorted(ends, spans[:, 0], side="right")
    return numpy.where((spans[:, 0] < 0) | (found == len(ends)), -1, found)


def membership(of_pieces: Sequence[ndarray], sizes: Sequence[int], length: int) -> Tensor:
    """Return which pieces are which unit's, (B, U, T) of 0 and 1.

    Args:
        of_pieces: The unit of each of the T pieces of every sentence, -1 for none.
        sizes: The number of units of every sentence.
        length: T.
    """
    member = torch.zeros(len(of_pieces), max(sizes), length)
    for row, found in enumerate(of_pieces):
        places = numpy.flatnonzero(found >= 0)
        member[row, found[places], places] = 1
    return member


def between_units(weights: Tensor, member: Tensor) -> Tensor:
    """Return the attention between units.

    Args:
        weights: Attention between pieces, (B, H, T, T), rows are queries.
        member: From `membership`, (B, U, T).

    Returns:
        (B, H, U, U); 0 from and to units without a piece.
    """
    member = member.to(weights)[:, None]  # (B, 1, U, T)
    pieces = member.sum(-1, keepdim=True).clamp(min=1)
    return (member / pieces) @ weights @ member.mT  # mean over queries, sum over keys


OFFSETS = tuple(range(-5, 6))
RARE = ("rarest", "two-rarest")
SELF = ("E", "D")
"""Kinds of sites whose queries and keys are the same tokens: only there is a relative position."""

SHORTEST = 3
"""Pieces of the shortest sentence that counts for rare ones: of two, any is one of the two rarest."""

Heads = Mapping[Site, Sequence[Head]]
"""The heads still there, by site."""


@dataclass(frozen=True)
class RarePieces:
    """Which pieces of a batch are rare; sentences that do not count have no query.

    Attributes:
        right: The rarest, and the two rarest, (2, B, T).
        asked: Which queries count, (B, T).
    """

    right: Tensor
    asked: Tensor

    @classmethod
    def of(cls, batch: MapBatch, frequencies: Tensor, frequent: int) -> "RarePieces":
        """Find them.

        Args:
            batch: The batch.
            frequencies: How often each piece occurs in the training text, (V,).
            frequent: How many most frequent pieces there are; of equally frequent ones the first of the vocabulary.
        """
        ordinary = batch.ordinary["E"][0]  # (B, T)
        rank = torch.empty_like(frequencies)
        rank[frequencies.argsort(descending=True, stable=True)] = torch.arange(len(frequencies)).to(frequencies)
        often = frequencies[batch.pieces].masked_fill(~ordinary, torch.iinfo(torch.long).max)
        least = often.sort(-1).values[:, :2]  # (B, 2)
        rarest = rank[batch.pieces].masked_fill(~ordinary, -1).amax(-1)  # (B,)
        counts = (rarest >= frequent) & (ordinary.sum(-1) >= SHORTEST)
        right = torch.stack([(often <= least[:, place, None]) & ordinary for place in (0, 1)])
        return cls(right, ordinary & counts[:, None])


class PieceCounts:
    """What is counted by sentence and head, added up over batches."""

    def __init__(self, *, heads: Heads, examples: int, frequencies: Tensor | None, frequent: int) -> None:
        self._frequencies = frequencies
        self._frequent = frequent
        self.tokens = {kind: numpy.zeros(examples) for kind in dict.fromkeys(site.kind for site in heads)}
        self.largest = {site: numpy.zeros((examples, len(names))) for site, names in heads.items()}
        self.offsets = {
            site: numpy.zeros((len(OFFSETS), len(names))) for site, names in heads.items() if site.kind in SELF
        }
        self.rare = {site: numpy.zeros((2, examples, len(names))) for site, names in heads.items() if site.kind == "E"}
        self.rare_chance = numpy.zeros((2, examples))
        self.rare_asked = numpy.zeros(examples)

    def add(self, batch: MapBatch) -> None:
        """Run a batch and count."""
        rows = batch.positions
        rare = None
        if self._frequencies is not None:
            rare = RarePieces.of(batch, self._frequencies, self._frequent)
            pieces = batch.ordinary["E"][1].sum(-1).clamp(min=1)  # (B,)
            asked = rare.asked.sum(-1)
            self.rare_asked[rows] = _array(asked)
            self.rare_chance[:, rows] = _array(rare.right.sum(-1) / pieces * asked)
        for kind, (queries, _) in batch.ordinary.items():
            if kind in self.tokens:
                self.tokens[kind][rows] = _array(queries.sum(-1))

        def count(site: Site, weights: Tensor) -> None:
            queries, keys = batch.ordinary[site.kind]
            largest, place = weights.masked_fill(~keys[:, None, None], -1).max(-1)  # (B, H, T) each
            asked = queries[:, None]  # (B, 1, T)
            self.largest[site][rows] = _array((largest * asked).sum(-1))
            if site.kind in SELF:
                self.offsets[site] += _array(_offset_counts(place, asked))
            if rare is not None and site.kind == "E":
                for which, right in enumerate(rare.right):
                    hits = right[:, None].expand_as(place).gather(-1, place) & rare.asked[:, None]
                    self.rare[site][which, rows] = _array(hits.sum(-1))

        batch.show(count)


@torch.inference_mode()
def piece_pointing(
    batches: Sequence[MapBatch], heads: Heads, *, frequencies: Tensor | None, frequent: int, resamples: int
) -> list[Measured]:
    """Measure confidence, offsets and rare pieces of every head.

    Args:
        batches: A set, each example once.
        heads: The heads to look at, by site.
        frequencies: How often each piece occurs in the training text, (V,); None leaves rare pieces out.
        frequent: A sentence counts for rare pieces if its rarest is not among this many most frequent ones.
        resamples: Bootstrap samples.
    """
    examples = sum(len(batch.positions) for batch in batches)
    counts = PieceCounts(heads=heads, examples=examples, frequencies=frequencies, frequent=frequent)
    for batch in batches:
        counts.add(batch)
    found: list[Measured] = []
    for kind, tokens in counts.tokens.items():  # the heads of a kind together: one product for all their resamples
        sites = [site for site in heads if site.kind == kind]
        names = [head for site in sites for head in heads[site]]
        largest = numpy.concatenate([counts.largest[site] for site in sites], axis=-1)
        for half in HALVES:
            found += measured(names, ("confidence", "", "", half), largest, tokens, resamples=resamples)
        if kind in SELF:
            offsets = numpy.concatenate([counts.offsets[site] for site in sites], axis=-1)
            found += _offsets(names, offsets, int(tokens.sum()))
        if kind == "E" and frequencies is not None:
            right = numpy.concatenate([counts.rare[site] for site in sites], axis=-1)
            found += _rare(names, right, counts, resamples)
    return found


def _rare(names: Sequence[Head], right: ndarray, counts: PieceCounts, resamples: int) -> list[Measured]:
    return [
        one
        for which, target in enumerate(RARE)
        for one in measured(
            names,
            ("rare", target, "", "all"),
            right[which],
            counts.rare_asked,
            resamples=resamples,
            baseline=counts.rare_chance[which],
        )
    ]


def _offset_counts(place: Tensor, asked: Tensor) -> Tensor:
    """Return how many tokens point to each of `OFFSETS`, (offsets, H).

    Args:
        place: Where each query points, (B, H, T).
        asked: Which queries count, (B, 1, T).
    """
    heads, farthest = place.shape[1], OFFSETS[-1] + 1
    offset = place - torch.arange(place.shape[-1], device=place.device)
    column = offset.clamp(-farthest, farthest) + farthest  # the first and the last: farther than any wanted
    width = 2 * farthest + 1
    cell = column + width * torch.arange(heads, device=place.device)[:, None]
    counts = torch.bincount(cell[asked.expand_as(cell)], minlength=heads * width)
    return counts.view(heads, width)[:, 1:-1].T


def _offsets(names: Sequence[Head], counts: ndarray, tokens: int) -> list[Measured]:
    return [
        Measured(head, "offset", f"{offset:+d}" if offset else "0", "", "all", share, None, None, None, tokens)
        for place, head in enumerate(names)
        for offset, share in zip(OFFSETS, (counts[:, place] / max(tokens, 1)).tolist())
    ]


def _array(values: Tensor) -> ndarray:
    return values.double().cpu().numpy()
