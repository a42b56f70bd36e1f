"""Where heads point: offsets, rare words and confidence, token by token (Voita et al. 2019, Sections 4 and 5)."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.heads import HALVES, Head, Site
from headroom.core.progress import follow_items
from headroom.core.statistics import Estimate, index_clusters, interval, resample_clusters
from headroom.data.trees import ParsedSentence
from headroom.models.sites import MapBatch


@dataclass(frozen=True)
class Measured:
    """One measured number of a head's attention; the fields are columns of the table `attention_stats`.

    `low` and `high` are the 95 % interval of `value` or, if there is a baseline, of `value` - `baseline`.
    """

    head: Head | None  # None if it is about heads together
    measure: str
    target: str
    trees: str
    half: str
    value: float
    baseline: float | None
    low: float | None
    high: float | None
    count: int


def measure_pointing(
    heads: Sequence[Head],
    name: tuple[str, str, str, str],
    found: ndarray,
    asked: ndarray,
    *,
    resamples: int,
    baseline: ndarray | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> list[Measured]:
    """Return each head's share of correct cases, on the given half; empty without cases.

    Sentences are resampled, with the same resamples for a head and its baseline.

    Args:
        heads: The H heads.
        name: Measure, target, trees, half.
        found: Correct cases by sentence and head, (N, H).
        asked: Cases by sentence, (N,).
        resamples: Bootstrap samples.
        baseline: Correct cases of the baseline, by sentence, (N,).
        clusters: A key of each sentence; those with equal keys are resampled together.
    """
    rows = HALVES[name[3]]
    found, asked = found[rows], asked[rows]
    if not asked.sum():
        return []
    expected = numpy.zeros(len(asked)) if baseline is None else baseline[rows]
    keys = None if clusters is None else clusters[rows]
    _, bounds = shares_with_intervals(found - expected[:, None], asked, resamples, keys)
    without = None if baseline is None else float(expected.sum() / asked.sum())
    shares = zip(heads, (found.sum(0) / asked.sum()).tolist(), bounds)
    return [Measured(head, *name, share, without, *ends, int(asked.sum())) for head, share, ends in shares]


def shares_with_intervals(
    found: ndarray, asked: ndarray, resamples: int, clusters: Sequence[Hashable] | None = None
) -> tuple[list[float], list[tuple[float, float]]]:
    """Return shares (K), of the cases found by sentence (N, K) in those by sentence (N,), and their 95 % intervals.

    Sentences with equal keys among `clusters` are resampled together.
    """
    weights = _weights(tuple(range(len(asked)) if clusters is None else clusters), resamples)  # (samples, N)
    total = weights @ asked
    drawn = (weights @ found)[total > 0] / total[total > 0, None]  # (samples, K)
    return (found.sum(0) / asked.sum()).tolist(), [interval(own) for own in drawn.T]


def mean_of_shares(found: ndarray, asked: ndarray, resamples: int) -> Estimate:
    """Return the mean over K shares, of the cases found (N, K) in those by sentence (N, K), with its 95 % interval.

    A resample of the sentences is one for all shares; of one in which a share has no case it is the mean of the others.
    """
    weights = _weights(tuple(range(len(asked))), resamples)  # (samples, N)
    total = weights @ asked  # (samples, K)
    shares = numpy.divide(weights @ found, total, out=numpy.zeros_like(total), where=total > 0)
    counts = (total > 0).sum(1)
    drawn = shares.sum(1)[counts > 0] / counts[counts > 0]
    return Estimate(float((found.sum(0) / asked.sum(0)).mean()), *interval(drawn))


@lru_cache(maxsize=8)
def _weights(clusters: tuple[Hashable, ...], resamples: int) -> ndarray:
    return resample_clusters(index_clusters(clusters), resamples)


def units(sentence: ParsedSentence) -> tuple[list[int], ndarray]:
    """Return the unit of every word, counted from 0, and the end of each unit in the text, (U,)."""
    of_word: list[int] = []
    ends: list[int] = []
    for before, word in zip([None, *sentence.words], sentence.words):
        if before is None or (before.start, before.end) != (word.start, word.end):
            ends.append(word.end)
        of_word.append(len(ends) - 1)
    return of_word, numpy.array(ends)


def unit_of_tokens(spans: ndarray, ends: ndarray) -> ndarray:
    """Return the unit of every token, (T,), -1 for none, by its span in the text, (T, 2), and the ends of units."""
    found = numpy.searchsorted(ends, spans[:, 0], side="right")
    return numpy.where((spans[:, 0] < 0) | (found == len(ends)), -1, found)


def membership(of_tokens: Sequence[ndarray], sizes: Sequence[int], length: int) -> Tensor:
    """Return the tokens of units, (B, U, T) of 0 and 1, from the unit of every token and the numbers of units."""
    member = torch.zeros(len(of_tokens), max(sizes), length)
    for row, found in enumerate(of_tokens):
        places = numpy.flatnonzero(found >= 0)
        member[row, found[places], places] = 1
    return member


def between_units(weights: Tensor, member: Tensor) -> Tensor:
    """Return the attention between units, (B, H, U, U): 0 from and to units without a token.

    Args:
        weights: Attention between tokens, (B, H, T, T), rows are queries.
        member: From `membership`, (B, U, T).
    """
    member = member.to(weights)[:, None]  # (B, 1, U, T)
    tokens = member.sum(-1, keepdim=True).clamp(min=1)
    return (member / tokens) @ weights @ member.mT  # mean over queries, sum over keys


OFFSETS = tuple(range(-5, 6))
RARE = ("rarest", "two-rarest")
SELF = ("E", "D")
"""Kinds of sites whose queries and keys are the same tokens, so that relative positions are defined."""

SHORTEST = 3
"""Minimum length of sentences for rare tokens: of two tokens, any is one of the two rarest."""

Heads = Mapping[Site, Sequence[Head]]
"""The remaining heads, by site."""


@dataclass(frozen=True)
class RareTokens:
    """The rare tokens of a batch; sentences that do not count have no query."""

    right: Tensor
    """The rarest, and the two rarest, (2, B, T)."""
    asked: Tensor
    """The queries that count, (B, T)."""

    @classmethod
    def of(cls, batch: MapBatch, frequencies: Tensor, frequent: int) -> "RareTokens":
        """Find rare tokens; of equally frequent tokens the first in the vocabulary counts as more frequent."""
        ordinary = batch.ordinary[batch.reads][0]  # (B, T)
        rank = torch.empty_like(frequencies)
        rank[frequencies.argsort(descending=True, stable=True)] = torch.arange(len(frequencies)).to(frequencies)
        often = frequencies[batch.tokens].masked_fill(~ordinary, torch.iinfo(torch.long).max)
        least = often.sort(-1).values[:, :2]  # (B, 2)
        rarest = rank[batch.tokens].masked_fill(~ordinary, -1).amax(-1)  # (B,)
        counts = (rarest >= frequent) & (ordinary.sum(-1) >= SHORTEST)
        right = torch.stack([(often <= least[:, place, None]) & ordinary for place in (0, 1)])
        return cls(right, ordinary & counts[:, None])

    def chances(self, batch: MapBatch) -> Tensor:
        """Return the expected hits of attention to a random token, the rarest and the two rarest, (2, B).

        The random token is one of all, or in a decoder one of those up to the query.
        """
        keys = batch.ordinary[batch.reads][1]  # (B, T)
        if batch.reads == "D":
            share = self.right.cumsum(-1) / keys.cumsum(-1).clamp(min=1)  # (2, B, T)
            return (share * self.asked).sum(-1)
        return self.right.sum(-1) / keys.sum(-1).clamp(min=1) * self.asked.sum(-1)


class TokenCounts:
    """Counts by sentence and head, summed over batches; of a site that runs several times in a pass, the mean."""

    def __init__(self, *, heads: Heads, examples: int, frequencies: Tensor | None, frequent: int, reads: str) -> None:
        self._reads = reads
        self._frequencies = frequencies
        self._frequent = frequent
        self.numbers = {kind: numpy.zeros(examples) for kind in dict.fromkeys(site.kind for site in heads)}
        self.largest = {site: numpy.zeros((examples, len(names))) for site, names in heads.items()}
        self.offsets = {
            site: numpy.zeros((len(OFFSETS), len(names))) for site, names in heads.items() if site.kind in SELF
        }
        self.with_neighbour = {kind: numpy.zeros(len(OFFSETS)) for kind in self.numbers if kind in SELF}
        self.rare = {
            site: numpy.zeros((2, examples, len(names))) for site, names in heads.items() if site.kind == reads
        }
        self.rare_chance = numpy.zeros((2, examples))
        self.rare_asked = numpy.zeros(examples)

    def add(self, batch: MapBatch) -> None:
        """Run a batch and count."""
        rows = batch.positions
        rare = None
        if self._frequencies is not None:
            rare = RareTokens.of(batch, self._frequencies.to(batch.tokens.device), self._frequent)
            self.rare_asked[rows] = _array(rare.asked.sum(-1))
            self.rare_chance[:, rows] = _array(rare.chances(batch))
        for kind, (queries, keys) in batch.ordinary.items():
            if kind in self.numbers:
                self.numbers[kind][rows] = _array(queries.sum(-1))
            if kind in self.with_neighbour:
                self.with_neighbour[kind] += [_with_neighbour(queries, keys, offset) for offset in OFFSETS]

        def count(site: Site, weights: Tensor) -> None:
            queries, keys = batch.ordinary[site.kind]
            largest, place = weights.masked_fill(~keys[:, None, None], -1).max(-1)  # (B, H, T) each
            asked = queries[:, None]  # (B, 1, T)
            self.largest[site][rows] += _array((largest * asked).sum(-1)) / batch.uses[site]
            if site.kind in SELF:
                self.offsets[site] += _array(_offset_counts(place, asked)) / batch.uses[site]
            if rare is not None and site.kind == self._reads:
                for which, right in enumerate(rare.right):
                    hits = right[:, None].expand_as(place).gather(-1, place) & rare.asked[:, None]
                    self.rare[site][which, rows] += _array(hits.sum(-1)) / batch.uses[site]

        batch.show(count)


@torch.inference_mode()
def token_pointing(
    batches: Sequence[MapBatch],
    heads: Heads,
    *,
    frequencies: Tensor | None,
    frequent: int,
    resamples: int,
    clusters: Sequence[Hashable] | None = None,
) -> list[Measured]:
    """Measure confidence, offsets and rare tokens of every head, on a set.

    Args:
        batches: The set, each example once.
        heads: The heads by site.
        frequencies: The frequency of each token in the training text, (V,); None omits rare tokens.
        frequent: A sentence counts for rare tokens if its rarest is not among this many most frequent ones.
        resamples: Bootstrap samples.
        clusters: As in `measure_pointing`.
    """
    drawn: dict[str, Any] = {"resamples": resamples, "clusters": clusters}
    examples = sum(len(batch.positions) for batch in batches)
    reads = batches[0].reads
    counts = TokenCounts(heads=heads, examples=examples, frequencies=frequencies, frequent=frequent, reads=reads)
    for batch in follow_items(batches, "attention_stats", "batches"):
        counts.add(batch)
    found: list[Measured] = []
    for kind, numbers in counts.numbers.items():  # all heads of a kind in one product with the resamples
        sites = [site for site in heads if site.kind == kind]
        names = [head for site in sites for head in heads[site]]
        largest = numpy.concatenate([counts.largest[site] for site in sites], axis=-1)
        for half in HALVES:
            found += measure_pointing(names, ("confidence", "", "", half), largest, numbers, **drawn)
        if kind in SELF:
            able = counts.with_neighbour[kind]  # (offsets,)
            shares = numpy.concatenate([counts.offsets[site] for site in sites], axis=-1) / able.clip(min=1)[:, None]
            for head, own in zip(names, shares.T.tolist()):
                for offset, share, count in zip(OFFSETS, own, able.astype(int).tolist()):
                    target = f"{offset:+d}" if offset else "0"
                    found.append(Measured(head, "offset", target, "", "all", share, None, None, None, count))
        if kind == reads and frequencies is not None:
            right = numpy.concatenate([counts.rare[site] for site in sites], axis=-1)
            for target, hits, chance in zip(RARE, right, counts.rare_chance):
                name = ("rare", target, "", "all")
                found += measure_pointing(names, name, hits, counts.rare_asked, baseline=chance, **drawn)
    return found


def _with_neighbour(queries: Tensor, keys: Tensor, offset: int) -> int:
    """Return the number of queries (B, T) with a key (B, T) at an offset: only these can point there."""
    length = queries.shape[-1]
    first, last = max(0, -offset), min(length, length - offset)
    if first >= last:
        return 0
    return int((queries[:, first:last] & keys[:, first + offset : last + offset]).sum())


def _offset_counts(place: Tensor, asked: Tensor) -> Tensor:
    """Return the number of queries, (B, 1, T), that point to each of `OFFSETS`, (offsets, H), by `place` (B, H, T)."""
    heads, farthest = place.shape[1], OFFSETS[-1] + 1
    offset = place - torch.arange(place.shape[-1], device=place.device)
    column = offset.clamp(-farthest, farthest) + farthest  # the first and the last column collect farther offsets
    width = 2 * farthest + 1
    cell = column + width * torch.arange(heads, device=place.device)[:, None]
    counts = torch.bincount(cell[asked.expand_as(cell)], minlength=heads * width)
    return counts.view(heads, width)[:, 1:-1].T


def _array(values: Tensor) -> ndarray:
    return values.double().cpu().numpy()
