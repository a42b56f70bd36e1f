"""Translations worked out by hand from the tables of the grammar."""

from headroom.data.grammar import function_words as closed
from headroom.data.grammar.lexicon import BE, nouns, plain, verbs
from headroom.data.grammar.names import COUNT, names, transliterate
from headroom.data.grammar.target import translate
from headroom.data.grammar.tree import (
    Clause,
    Coordination,
    Name,
    NounPhrase,
    PrepositionalPhrase,
    Relative,
    Sentence,
    Subordinate,
)


def _find(words, name):
    return next(word for word in words if word.word == name)


THE, A = closed.DETERMINERS[:2]
TWO = closed.DETERMINERS[4]
DOG = _find(nouns("animals", "shared"), "dog")  # bas, neuter
CAT = _find(nouns("animals", "shared"), "cat")  # trotas, masculine
SINGER = _find(nouns("persons", "shared"), "singer")  # pok, feminine
OLD = _find(plain("adjectives", "shared"), "old")  # brotun
SMALL = _find(plain("adjectives", "shared"), "small")  # gark
CHASE = _find(verbs("transitive", "near"), "chase")  # jask, accusative
NEED = _find(verbs("transitive", "shared"), "need")  # skegil, dative
WAIT = _find(verbs("intransitive", "shared"), "wait")  # zumilm
OFTEN = _find(plain("adverbs", "shared"), "often")  # spugilm


def test_articles_and_adjectives_agree_in_gender_number_and_case():
    singer = NounPhrase(SINGER, A, adjectives=(OLD, SMALL))
    cat = NounPhrase(CAT, THE, adjectives=(OLD,))
    assert translate(Sentence(Clause(CHASE, singer, object=cat))) == (
        "Une brotuna garka pok jaskit ven brotunon trotas."
    )
    singers = NounPhrase(SINGER, A, plural=True, adjectives=(OLD,))
    assert translate(Sentence(Clause(NEED, cat, object=singers))) == (
        "Ver brotuno trotas skegilit unen brotunein pokas."
    )


def test_verb_and_predicate_agree_with_the_subject_across_a_phrase():
    near = PrepositionalPhrase(closed.OF_NOUNS[3], NounPhrase(SINGER, TWO, plural=True))
    dog = NounPhrase(DOG, THE, modifier=near)
    assert translate(Sentence(Clause(WAIT, dog, tense="past"))) == "Vas bas apu dui pokas zumilmov."
    assert translate(Sentence(Clause(BE, dog, predicate=OLD))) == "Vas bas apu dui pokas est brotunu."


def test_verb_stands_second_after_a_fronted_adverb():
    clause = Clause(CHASE, Name("Shaweck"), object=NounPhrase(CAT, THE), tense="past")
    assert translate(Sentence(clause)) == "Sjavek jaskov ven trotas."
    assert translate(Sentence(clause, fronted=OFTEN)) == "Spugilm jaskov Sjavek ven trotas."


def test_modal_stands_second_and_the_infinitive_last():
    oblique = PrepositionalPhrase(closed.OF_VERBS[0], Name("Yothton"))
    cat = NounPhrase(CAT, THE)
    clause = Clause(CHASE, cat, modal=closed.MODALS[0], object=cat, adverb=OFTEN, oblique=oblique)
    assert translate(Sentence(clause)) == "Ver trotas volet spugilm ven trotas en Jotton jaskare."


def test_verb_stands_last_in_subordinate_clauses():
    inner = Clause(CHASE, NounPhrase(DOG, THE), modal=closed.MODALS[2], object=NounPhrase(CAT, THE))
    because = Subordinate(closed.CONJUNCTIONS[1], inner)
    main = Clause(WAIT, NounPhrase(CAT, THE, plural=True))
    assert translate(Sentence(main, trailing=because)) == (
        "Vi trotasen zumilmint pork vas bas ven trotas jaskare potet."
    )
    assert translate(Sentence(main, fronted=because)) == (
        "Pork vas bas ven trotas jaskare potet, zumilmint vi trotasen."
    )


def test_relative_pronoun_has_the_gender_of_its_noun_and_the_case_of_its_role():
    singer = NounPhrase(SINGER, THE)
    of_object = Relative("object", Clause(NEED, singer))
    cat = NounPhrase(CAT, THE, relative=of_object)
    assert translate(Sentence(Clause(WAIT, cat))) == "Ver trotas kvem ve pok skegilit zumilmit."
    of_subject = Relative("subject", Clause(CHASE, None, object=singer, gap="plural", tense="past"))
    dogs = NounPhrase(DOG, THE, plural=True, relative=of_subject)
    assert translate(Sentence(Clause(CHASE, singer, object=dogs))) == ("Ve pok jaskit vi basur kvi ve pok jaskoven.")


def test_coordinated_subject_takes_a_plural_verb_and_names_have_a_gender():
    of = PrepositionalPhrase(closed.OF_NOUNS[0], Name("Wosa"))
    both = Coordination(NounPhrase(DOG, THE), NounPhrase(SINGER, THE))
    assert translate(Sentence(Clause(BE, both, predicate=OLD))) == "Vas bas ed ve pok sent brotunei."
    assert translate(Sentence(Clause(BE, Name("Wosa"), predicate=OLD))) == "Vosa est brotuna."
    assert translate(Sentence(Clause(WAIT, NounPhrase(CAT, THE, modifier=of)))) == "Ver trotas de Vosa zumilmit."


def test_recipient_stands_before_the_object_in_the_dative():
    show = _find(verbs("ditransitive", "shared"), "show")  # pant
    lamp = NounPhrase(_find(nouns("things", "shared"), "lamp"), A)  # fivon, feminine
    clause = Clause(show, Name("Damel"), object=lamp, recipient=NounPhrase(SINGER, THE, adjectives=(OLD,)))
    assert translate(Sentence(clause)) == "Damel pantit ver brotunai pok une fivon."


def test_names_are_transliterated_by_letter_rules():
    assert transliterate("Thewick") == "Tevik"
    assert transliterate("Shoyath") == "Sjojat"
    assert transliterate("Coca") == "Koka"
    for kind in ("person", "town"):
        assert len(set(names(kind))) == COUNT
    assert not set(names("person")) & set(names("town"))
