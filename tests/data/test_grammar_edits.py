"""Edits against hand-made sentences, and against truth in small worlds."""

from itertools import islice

import pytest
from headroom.data.grammar.changes import changes, denials, exclusions
from headroom.data.grammar.donor_phrases import DonorPhrases
from headroom.data.grammar.edits import stronger, weaker
from headroom.data.grammar.pairs import _is_clear, build_text
from headroom.data.grammar.sample import FAR, NEAR, Sampler
from small_worlds import World, is_true

WORLDS = 12


@pytest.fixture(scope="module")
def sentences():
    """Return 30 clear sentences of each domain, the far ones with relative and adverbial clauses."""
    found = []
    for domain in (NEAR, FAR):
        drawn = Sampler(domain=domain.literal(), seed="worlds").sentences()
        short = (s for s in drawn if len(build_text(s).split()) <= 10)
        found += islice((s for s in short if _is_clear(s) and "when" not in str(s) and "while" not in str(s)), 30)
    return found


@pytest.mark.parametrize(
    ("edits", "impossible", "seen"),
    [
        (stronger, (True, False), 200),
        (weaker, (False, True), 60),
        (lambda given: [*denials(given), *exclusions(given)], (True, True), 20),
    ],
)
def test_truth_in_small_worlds(sentences, edits, impossible, seen):
    """Of an edited and its original sentence, some truth values never come together."""
    parts = DonorPhrases(domain=NEAR, seed="worlds")
    true = 0
    for given in sentences[::2]:
        for edit in edits(given):
            edited = edit.apply(parts)
            for number in range(WORLDS):
                world = World((given, edited), number)
                values = (is_true(edited, world), is_true(given, world))
                assert values != impossible, f"{build_text(edited)} | {build_text(given)}"
                true += values[0]
    assert true > seen


@pytest.mark.parametrize("edits", [changes, weaker])
def test_neither_weaker_nor_changed_sentences_entail(sentences, edits):
    """Of every kind of edit that is frequent, some result is true together with its original and some without it."""
    parts = DonorPhrases(domain=NEAR, seed="worlds")
    kinds = {}
    for given in sentences:
        for edit in edits(given):
            edited = edit.apply(parts)
            worlds = [World((given, edited), number) for number in range(WORLDS)]
            values = {(is_true(edited, world), is_true(given, world)) for world in worlds}
            kinds.setdefault((edit.how, edit.part), []).append(values)
    frequent = {kind: set.union(*values) for kind, values in kinds.items() if len(values) >= 8}
    assert len(frequent) >= 5
    for kind, values in frequent.items():
        assert {(True, True), (True, False)} <= values, kind
