"""Sentences in both languages and their dependency trees, worked out by hand from the tables of the grammar."""

from headroom.data.grammar.lexicon import (
    BE,
    CONJUNCTIONS,
    COUNT,
    DETERMINERS,
    MODALS,
    OF_NOUNS,
    OF_VERBS,
    names,
    nouns,
    plain,
    transliterate,
    verbs,
    with_s,
)
from headroom.data.grammar.source import conllu_lines, realise, text
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


def word(kind, name):
    """Return a word of the lexicon by its English form."""
    table = {"adjectives": plain, "adverbs": plain}.get(kind, verbs if kind.endswith(("ive", "clausal")) else nouns)
    return next(entry for topic in ("shared", "near", "far") for entry in table(kind, topic) if entry.word == name)


THE, A, THIS, _, TWO = DETERMINERS[:5]
DOG = word("animals", "dog")  # bas, neuter
CAT = word("animals", "cat")  # trotas, masculine
COW = word("animals", "cow")
SINGER = word("persons", "singer")  # pok, feminine
OLD = word("adjectives", "old")  # brotun
SMALL = word("adjectives", "small")  # gark
CHASE = word("transitive", "chase")  # jask, accusative
NEED = word("transitive", "need")  # skegil, dative
WAIT = word("intransitive", "wait")  # zumilm
OFTEN = word("adverbs", "often")  # spugilm


def tree(sentence):
    """Return `form/relation/number of the governor` of every word."""
    rows = [row.split("\t") for row in conllu_lines([realise(sentence)], name="x") if row[:1].isdigit()]
    return " ".join(f"{row[1]}/{row[7]}/{row[6]}" for row in rows)


def test_plain_clause_has_subject_object_and_full_stop():
    clause = Clause(word("transitive", "chase"), NounPhrase(DOG, THE, plural=True), object=NounPhrase(CAT, A))
    assert text(realise(Sentence(clause))) == "The dogs chase a cat."
    assert tree(Sentence(clause)) == "The/det/2 dogs/nsubj/3 chase/root/0 a/det/5 cat/obj/3 ./punct/3"


def test_verb_agrees_with_the_subject_not_with_the_noun_before_it():
    near = PrepositionalPhrase(OF_NOUNS[3], NounPhrase(CAT, THE, plural=True))
    clause = Clause(word("intransitive", "laugh"), NounPhrase(DOG, THE, modifier=near))
    assert text(realise(Sentence(clause))) == "The dog near the cats laughs."


def test_object_relative_clause_keeps_its_subject_and_its_verb():
    inner = Clause(word("transitive", "pull"), NounPhrase(DOG, THE, plural=True))
    subject = NounPhrase(CAT, THE, relative=Relative("object", inner))
    sentence = Sentence(Clause(word("intransitive", "wait"), subject))
    assert tree(sentence) == (
        "The/det/2 cat/nsubj/7 that/obj/6 the/det/5 dogs/nsubj/6 pull/acl:relcl/2 waits/root/0 ./punct/7"
    )


def test_copula_depends_on_its_predicate_and_agrees_with_a_coordination():
    subject = Coordination(NounPhrase(DOG, THIS), Name("Theewick"))
    adjective, adverb = word("adjectives", "old"), word("adverbs", "often")
    sentence = Sentence(Clause(BE, subject, tense="past", predicate=adjective, adverb=adverb))
    assert (
        tree(sentence)
        == "This/det/2 dog/nsubj/7 and/cc/4 Theewick/conj/2 were/cop/7 often/advmod/7 old/root/0 ./punct/7"
    )


def test_fronted_clause_has_mark_and_comma_and_modal_is_auxiliary():
    front = Subordinate(CONJUNCTIONS[0], Clause(word("intransitive", "talk"), Name("Lalel")))
    gift = Clause(
        word("ditransitive", "show"),
        NounPhrase(COW, THE),
        modal=MODALS[1],
        object=NounPhrase(word("things", "apple"), A),
        recipient=Name("Damel"),
    )
    sentence = Sentence(gift, fronted=front)
    assert text(realise(sentence)) == "When Lalel talks, the cow must show an apple to Damel."
    assert tree(sentence) == (
        "When/mark/3 Lalel/nsubj/3 talks/advcl/8 ,/punct/3 the/det/6 cow/nsubj/8 must/aux/8 "
        "show/root/0 an/det/10 apple/obj/8 to/case/12 Damel/obl/8 ./punct/8"
    )


def test_content_clause_and_trailing_clause():
    content = Clause(word("intransitive", "wait"), Name("Lalel"), tense="past")
    saying = Sentence(Clause(word("clausal", "hope"), Name("Damel"), content=content))
    assert tree(saying) == "Damel/nsubj/2 hopes/root/0 that/mark/5 Lalel/nsubj/5 waited/ccomp/2 ./punct/2"
    because = Subordinate(CONJUNCTIONS[1], content)
    assert text(realise(Sentence(content, trailing=because))) == "Lalel waited because Lalel waited."


def test_english_endings():
    pairs = {"dog": "dogs", "box": "boxes", "pass": "passes", "wash": "washes", "treaty": "treaties", "envoy": "envoys"}
    assert {singular: with_s(singular) for singular in pairs} == pairs
    assert word("transitive", "chase").source("past", False) == "chased"
    assert word("transitive", "pull").source("past", True) == "pulled"


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
    near = PrepositionalPhrase(OF_NOUNS[3], NounPhrase(SINGER, TWO, plural=True))
    dog = NounPhrase(DOG, THE, modifier=near)
    assert translate(Sentence(Clause(WAIT, dog, tense="past"))) == "Vas bas apu dui pokas zumilmov."
    assert translate(Sentence(Clause(BE, dog, predicate=OLD))) == "Vas bas apu dui pokas est brotunu."


def test_verb_stands_second_after_a_fronted_adverb():
    clause = Clause(CHASE, Name("Shaweck"), object=NounPhrase(CAT, THE), tense="past")
    assert translate(Sentence(clause)) == "Sjavek jaskov ven trotas."
    assert translate(Sentence(clause, fronted=OFTEN)) == "Spugilm jaskov Sjavek ven trotas."


def test_modal_stands_second_and_the_infinitive_last():
    oblique = PrepositionalPhrase(OF_VERBS[0], Name("Yothton"))
    cat = NounPhrase(CAT, THE)
    clause = Clause(CHASE, cat, modal=MODALS[0], object=cat, adverb=OFTEN, oblique=oblique)
    assert translate(Sentence(clause)) == "Ver trotas volet spugilm ven trotas en Jotton jaskare."


def test_verb_stands_last_in_subordinate_clauses():
    inner = Clause(CHASE, NounPhrase(DOG, THE), modal=MODALS[2], object=NounPhrase(CAT, THE))
    because = Subordinate(CONJUNCTIONS[1], inner)
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
    of = PrepositionalPhrase(OF_NOUNS[0], Name("Wosa"))
    both = Coordination(NounPhrase(DOG, THE), NounPhrase(SINGER, THE))
    assert translate(Sentence(Clause(BE, both, predicate=OLD))) == "Vas bas ed ve pok sent brotunei."
    assert translate(Sentence(Clause(BE, Name("Wosa"), predicate=OLD))) == "Vosa est brotuna."
    assert translate(Sentence(Clause(WAIT, NounPhrase(CAT, THE, modifier=of)))) == "Ver trotas de Vosa zumilmit."


def test_recipient_stands_before_the_object_in_the_dative():
    show = word("ditransitive", "show")  # pant
    lamp = NounPhrase(word("things", "lamp"), A)  # fivon, feminine
    clause = Clause(show, Name("Damel"), object=lamp, recipient=NounPhrase(SINGER, THE, adjectives=(OLD,)))
    assert translate(Sentence(clause)) == "Damel pantit ver brotunai pok une fivon."


def test_names_are_transliterated_by_letter_rules():
    assert transliterate("Thewick") == "Tevik"
    assert transliterate("Shoyath") == "Sjojat"
    assert transliterate("Coca") == "Koka"
    for kind in ("person", "town"):
        assert len(set(names(kind))) == COUNT
    assert not set(names("person")) & set(names("town"))
