"""Sentence pairs split into sets by connected component, so that no sentence of an evaluation set occurs in training.

In collections of translations one sentence has several translations, and these have others again. Pairs that share a
sentence of either side, directly or over further pairs, are one component.
"""

import random
from collections.abc import Mapping, Sequence

from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from headroom.core.errors import HeadroomError
from headroom.data.parallel import ParallelText

_SEED = "pairs held out"


def held_out(text: ParallelText, sizes: Mapping[str, int]) -> dict[str, ParallelText]:
    """Return train and the held-out sets of these sizes, always the same for the same text.

    A held-out set has one pair of each of its components, so that its examples are independent; the other pairs
    of these components are left out. Train has all other pairs in random order.

    Raises:
        HeadroomError: If there are not more components than held-out pairs.
    """
    groups: dict[int, list[int]] = {}
    for pair, component in enumerate(components(text)):
        groups.setdefault(component, []).append(pair)
    if len(groups) <= (wanted := sum(sizes.values())):
        raise HeadroomError(
            f"{len(groups)} groups of pairs without a common sentence are too few to hold out {wanted}; hold out fewer"
        )
    source = random.Random(_SEED)
    order = [groups[component] for component in sorted(groups)]
    source.shuffle(order)
    taken: dict[str, ParallelText] = {}
    for name, size in sizes.items():
        taken[name] = _take_text(text, [source.choice(group) for group in order[:size]])
        order = order[size:]
    rest = [pair for group in order for pair in group]
    source.shuffle(rest)
    return {"train": _take_text(text, rest), **taken}


def components(text: ParallelText) -> list[int]:
    """Return the number of the connected component of every pair."""
    sides = [_number_sentences(text.source), _number_sentences(text.target)]
    first = len(set(sides[0]))
    count = first + len(set(sides[1]))
    targets = [first + number for number in sides[1]]
    graph = coo_array(([True] * len(text), (sides[0], targets)), shape=(count, count))
    _, labels = connected_components(graph, directed=False)
    return [int(labels[number]) for number in sides[0]]


def _number_sentences(sentences: Sequence[str]) -> list[int]:
    """Return a number per distinct sentence, in the order of first occurrence."""
    numbers = {sentence: number for number, sentence in enumerate(dict.fromkeys(sentences))}
    return [numbers[sentence] for sentence in sentences]


def _take_text(text: ParallelText, places: Sequence[int]) -> ParallelText:
    return ParallelText([text.source[place] for place in places], [text.target[place] for place in places])
