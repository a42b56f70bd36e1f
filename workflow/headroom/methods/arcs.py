"""Dependency relations as pairs of places in a sentence, in both directions, and their control without syntax.

An arc set says, of one relation in one direction, which units (see `headroom.methods.words`) of a sentence are asked,
and which ones each of them should point to: `nsubj:to-dependent` asks the governor for its subjects,
`nsubj:to-governor` asks the subject for its governor. A unit is asked once, however many answers are right.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence, Set

from headroom.data.trees import ParsedSentence
from headroom.methods.words import units

DIRECTIONS = ("to-dependent", "to-governor")

SHUFFLE_SEED = 1

Arcs = Mapping[int, frozenset[int]]
"""From each unit asked to the units that are right."""


def targets(relations: Sequence[str]) -> list[str]:
    """Return the names of relations in both directions, as they stand in tables."""
    return [f"{relation}:{direction}" for relation in relations for direction in DIRECTIONS]


def arcs_of(sentence: ParsedSentence, target: str, present: Set[int]) -> dict[int, frozenset[int]]:
    """Return the arcs of a relation in one direction.

    Args:
        sentence: The sentence with its tree.
        target: Relation and direction, e.g. `nsubj:to-dependent`.
        present: The units that the model has pieces of; others are neither asked nor right. Arcs within a unit are
            left out, too.
    """
    relation, _, direction = target.rpartition(":")
    related = [(number, word.governor) for number, word in enumerate(sentence.words) if word.relation == relation]
    of_word = units(sentence)[0] if related else []
    found: dict[int, set[int]] = {}
    for number, place in related:
        if place is not None:
            dependent, governor = of_word[number], of_word[place]
            if dependent != governor and {dependent, governor} <= present:
                asked, right = (governor, dependent) if direction == DIRECTIONS[0] else (dependent, governor)
                found.setdefault(asked, set()).add(right)
    return {asked: frozenset(right) for asked, right in sorted(found.items())}


def moved(arcs: Arcs, present: Set[int], draw: random.Random) -> dict[int, frozenset[int]]:
    """Return arcs at other places of their sentence, each with the distances it had.

    The control for syntax: words and order stay, and so does the distribution of relative positions, on which the
    baseline rests; only which words are related is chance. (Trees exchanged among sentences of equal length would not
    do for generated text, in which such sentences are often built alike.) An arc that fits nowhere else is left out.

    Args:
        arcs: The arcs of one relation in one direction.
        present: The units that an arc can be moved to.
        draw: Where chance comes from.
    """
    found: dict[int, frozenset[int]] = {}
    for asked, right in arcs.items():
        offsets = [other - asked for other in sorted(right)]
        places = [
            place
            for place in sorted(present)
            if place != asked and place not in found and all(place + offset in present for offset in offsets)
        ]
        if places:
            place = draw.choice(places)
            found[place] = frozenset(place + offset for offset in offsets)
    return found


def best_offset(sentences: Sequence[Arcs]) -> int | None:
    """Return the relative position at which most of the units asked find a right one; None if none is asked.

    Of equals the nearest is taken, and to the left before to the right.
    """
    counts = Counter(other - asked for arcs in sentences for asked, right in arcs.items() for other in right)
    return min(counts, key=lambda offset: (-counts[offset], abs(offset), offset)) if counts else None


def hits_at(arcs: Arcs, offset: int) -> int:
    """Return how many of the units asked have a right one at a relative position."""
    return sum(asked + offset in right for asked, right in arcs.items())
