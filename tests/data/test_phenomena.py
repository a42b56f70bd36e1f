"""The words that test phenomena, worked out by hand, and their properties in random sentences."""

import csv
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from headroom.data.grammar import target
from headroom.data.grammar.lexicon import BE, CONJUNCTIONS, MODALS, OF_NOUNS
from headroom.data.grammar.logic import adjective, verb
from headroom.data.grammar.phenomena import PHENOMENA, Case, cases, csv_lines
from headroom.data.grammar.sample import FAR, NEAR, Sampler
from headroom.data.grammar.tree import (
    Clause,
    Name,
    PrepositionalPhrase,
    Pronoun,
    Relative,
    Sentence,
    Subordinate,
)
from planted import adverb, phrase

DOG, SINGERS, LAMP = phrase("the dog"), phrase("the singers"), phrase("the lamp")  # bas, neuter; pok, fivon, feminine
OLD, OFTEN = adjective("old"), adverb("often")  # brotun, spugilm
CHASE, WAIT = verb("chase"), verb("wait")  # jask, krut of several, chase off fel, chase away plad; zumilm


@pytest.fixture(scope="module")
def sentences():
    """Return 500 sentences of each domain."""
    return [one for domain in (NEAR, FAR) for one in islice(Sampler(domain=domain, seed="cases").sentences(), 500)]


def test_agreement_is_tested_if_another_noun_agrees_otherwise():
    near = PrepositionalPhrase(OF_NOUNS[3], SINGERS)
    assert cases(Sentence(Clause(WAIT, DOG))) == []
    # The dog near the singers waits. zumilmis vas bas apu voi pokas.
    assert cases(Sentence(Clause(WAIT, replace(DOG, modifier=near)))) == [
        Case("agreement", 0, "zumilmis", ("zumilmar", "zumilmel", "zumilmunt"))
    ]
    # The dog near the singers is old. brotunu esis vas bas apu voi pokas.
    assert cases(Sentence(Clause(BE, replace(DOG, modifier=near), predicate=OLD))) == [
        Case("predicate", 0, "brotunu", ("brotuno", "brotuna", "brotunei"))
    ]


def test_passive_object_and_particle_of_a_verb():
    # The lamp was chased by the singers. jaskovunt voi pokas vie fivon.
    assert cases(Sentence(Clause(CHASE, SINGERS, object=LAMP, tense="past", passive=True))) == [
        Case("passive", 0, "jaskovunt", ("jaskovar", "jaskovel", "jaskovis")),
        Case("object", 0, "jaskovunt", ("krutovunt",)),
    ]
    # The singers will chase the lamp off. volunt felien voi pokas vie fivon.
    off = Clause(CHASE, SINGERS, object=LAMP, modal=MODALS[0], particle="off")
    assert cases(Sentence(off))[1:] == [Case("particle", 1, "felien", ("jaskien", "krutien", "pladien"))]


def test_pronoun_concord_relative_and_name():
    # Yothton often waited because they will chase the lamp that the singers chase.
    # pork volar jaskien ler vie fivon kvie jaskunt voi pokas, spugilmo zumilmovar Jotton.
    lamp = replace(LAMP, relative=Relative("object", Clause(CHASE, SINGERS)))
    because = Subordinate(CONJUNCTIONS[1], Clause(CHASE, Pronoun("m"), modal=MODALS[0], object=lamp))
    sentence = Sentence(Clause(WAIT, Name("Yothton"), tense="past", adverb=OFTEN), trailing=because)
    found = {(case.phenomenon, case.word): case for case in cases(sentence)}
    assert found["pronoun", 1] == Case("pronoun", 1, "volar", ("volel", "volis", "volunt"))
    assert found["relative", 6] == Case("relative", 6, "kvie", ("kver", "kven", "kvem", "kvir", "kvas", "kvoi", "kvon"))
    assert found["concord", 10] == Case("concord", 10, "spugilmo", ("spugilmi", "spugilmu"))
    assert found["name", 12] == Case("name", 12, "Jotton", ())


def test_cases_are_words_of_the_translation_and_no_form_begins_another(sentences):
    count = Counter()
    for sentence in sentences:
        words = [word.rstrip(".,") for word in target.translate(sentence).split(" ")]
        for case in cases(sentence):
            assert words[case.word] == case.expected
            forms = (case.expected, *case.wrong)
            assert len(set(forms)) == len(forms)
            assert not any(one != other and one.startswith(other) for one in forms for other in forms)
            count[case.phenomenon] += 1
    assert set(count) == set(PHENOMENA)
    assert min(count.values()) > 50


def test_cases_are_written_with_the_number_of_their_sentence():
    rows = [*csv.DictReader(csv_lines([[], [Case("object", 2, "a", ("b", "c"))]]))]
    assert rows == [{"sentence": "1", "phenomenon": "object", "word": "2", "expected": "a", "wrong": "b c"}]
