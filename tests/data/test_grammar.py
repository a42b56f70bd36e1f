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
    Pronoun,
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
CHASE = word("transitive", "chase")  # jask, krut of several, accusative; with `away` plad
NEED = word("transitive", "need")  # skegil, treirel of several, dative
LAMP = word("things", "lamp")  # fivon, feminine
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


def test_a_passive_has_its_object_as_subject_and_who_acts_after_by():
    inner = Clause(CHASE, NounPhrase(CAT, THE, plural=True), passive=True)
    dog = NounPhrase(DOG, THE, relative=Relative("object", inner))
    clause = Clause(CHASE, NounPhrase(SINGER, A), object=dog, tense="past", passive=True, adverb=OFTEN)
    assert tree(Sentence(clause)) == (
        "The/det/2 dog/nsubj:pass/11 that/nsubj:pass/5 is/aux:pass/5 chased/acl:relcl/2 by/case/8 the/det/8 "
        "cats/obl:agent/5 was/aux:pass/11 often/advmod/11 chased/root/0 by/case/14 a/det/14 singer/obl:agent/11 "
        "./punct/11"
    )


def test_a_particle_and_a_late_adverb_follow_the_object():
    dogs = NounPhrase(DOG, THE, plural=True, modifier=PrepositionalPhrase(OF_NOUNS[3], NounPhrase(CAT, THE)))
    clause = Clause(CHASE, NounPhrase(SINGER, THE), object=dogs, particle="away", adverb=OFTEN, late=True)
    assert tree(Sentence(clause)) == (
        "The/det/2 singer/nsubj/3 chases/root/0 the/det/5 dogs/obj/3 near/case/8 the/det/8 cat/nmod/5 "
        "away/compound:prt/3 often/advmod/3 ./punct/3"
    )


def test_they_take_a_plural_verb_in_the_source_language():
    because = Subordinate(CONJUNCTIONS[1], Clause(BE, Pronoun("f"), predicate=OLD))
    sentence = Sentence(Clause(WAIT, NounPhrase(SINGER, THE)), trailing=because)
    assert text(realise(sentence)) == "The singer waits because they are old."


def test_articles_and_adjectives_agree_in_gender_number_and_case():
    singer = NounPhrase(SINGER, A, adjectives=(OLD, SMALL))
    cat = NounPhrase(CAT, THE, adjectives=(OLD,))
    assert translate(Sentence(Clause(CHASE, singer, object=cat))) == (
        "jaskel brotuna garka unie pok brotunon ven trotas."
    )
    singers = NounPhrase(SINGER, A, plural=True, adjectives=(OLD,))
    assert translate(Sentence(Clause(NEED, cat, object=singers))) == (
        "treirelar brotuno ver trotas brotunein unon pokas."
    )


def test_verb_and_predicate_agree_with_the_subject_across_a_phrase():
    near = PrepositionalPhrase(OF_NOUNS[3], NounPhrase(SINGER, TWO, plural=True))
    dog = NounPhrase(DOG, THE, modifier=near)
    assert translate(Sentence(Clause(WAIT, dog, tense="past"))) == "zumilmovis vas bas apu dui pokas."
    assert translate(Sentence(Clause(BE, dog, predicate=OLD))) == "brotunu esis vas bas apu dui pokas."
    assert translate(Sentence(Clause(BE, dog, predicate=OLD, modal=MODALS[0]))) == (
        "brotunu volis esien vas bas apu dui pokas."
    )


def test_adverbs_open_the_clause_and_agree_with_its_tense():
    clause = Clause(CHASE, Name("Shaweck"), object=NounPhrase(CAT, THE), tense="past")
    assert translate(Sentence(clause)) == "jaskovar Sjavek ven trotas."
    assert translate(Sentence(clause, fronted=OFTEN)) == "spugilmo jaskovar Sjavek ven trotas."
    late = Clause(WAIT, Name("Shaweck"), adverb=OFTEN, late=True)
    assert translate(Sentence(late)) == "spugilmi zumilmar Sjavek."


def test_infinitive_follows_the_modal():
    oblique = PrepositionalPhrase(OF_VERBS[0], Name("Yothton"))
    cat = NounPhrase(CAT, THE)
    clause = Clause(CHASE, cat, modal=MODALS[0], object=cat, adverb=OFTEN, oblique=oblique)
    assert translate(Sentence(clause)) == "spugilmu volar jaskien ver trotas ven trotas en Jotton."


def test_an_adverbial_clause_precedes_the_main_clause():
    inner = Clause(CHASE, NounPhrase(DOG, THE), modal=MODALS[2], object=NounPhrase(CAT, THE))
    because = Subordinate(CONJUNCTIONS[1], inner)
    main = Clause(WAIT, NounPhrase(CAT, THE, plural=True))
    expected = "pork potis jaskien vas bas ven trotas, zumilmunt voi trotasen."
    assert translate(Sentence(main, trailing=because)) == expected
    assert translate(Sentence(main, fronted=because)) == expected


def test_a_passive_is_translated_as_an_active():
    clause = Clause(CHASE, NounPhrase(SINGER, A), object=NounPhrase(DOG, THE, plural=True), tense="past", passive=True)
    assert text(realise(Sentence(clause))) == "The dogs were chased by a singer."
    assert translate(Sentence(clause)) == "krutovel unie pok voi basur."


def test_a_verb_has_another_stem_with_more_than_one_object_and_with_a_particle():
    singer, lamps = NounPhrase(SINGER, THE), NounPhrase(LAMP, THE, plural=True)
    assert translate(Sentence(Clause(CHASE, singer, object=lamps))) == "krutel vie pok voi fivonas."
    both = Coordination(Name("Damel"), NounPhrase(LAMP, THE))
    assert translate(Sentence(Clause(CHASE, singer, object=both))) == "krutel vie pok Damel ed vie fivon."
    away = Clause(CHASE, singer, object=lamps, particle="away", modal=MODALS[0])
    assert text(realise(Sentence(away))) == "The singer will chase the lamps away."
    assert translate(Sentence(away)) == "volel pladien vie pok voi fivonas."
    lamps = NounPhrase(LAMP, THE, plural=True, relative=Relative("object", Clause(CHASE, singer, passive=True)))
    assert text(realise(Sentence(Clause(WAIT, lamps)))) == "The lamps that are chased by the singer wait."
    assert translate(Sentence(Clause(WAIT, lamps))) == "zumilmunt voi fivonas kvoi krutel vie pok."


def test_a_noun_before_another_one_agrees_with_no_word():
    dogs = NounPhrase(DOG, A, plural=True, adjectives=(OLD,), compound=LAMP)
    clause = Clause(CHASE, dogs, object=NounPhrase(CAT, A, compound=word("things", "apple")))  # far
    assert tree(Sentence(clause)) == (
        "Some/det/4 old/amod/4 lamp/compound/4 dogs/nsubj/5 chase/root/0 an/det/8 apple/compound/8 cat/obj/5 ./punct/5"
    )
    assert translate(Sentence(clause)) == "jaskunt brotunei unoi basur fivonia unen trotas faria."


def test_they_are_the_grammatical_subject_of_the_main_clause():
    old = Subordinate(CONJUNCTIONS[1], Clause(BE, Pronoun("n"), tense="past", predicate=OLD))
    clause = Clause(
        CHASE, NounPhrase(SINGER, THE, plural=True), object=NounPhrase(DOG, THE), tense="past", passive=True
    )
    sentence = Sentence(clause, trailing=old)
    assert text(realise(sentence)) == "The dog was chased by the singers because they were old."
    assert translate(sentence) == "pork brotunu esovis las, jaskovunt voi pokas vas bas."


def test_relative_pronoun_has_the_gender_of_its_noun_and_the_case_of_its_role():
    singer = NounPhrase(SINGER, THE)
    of_object = Relative("object", Clause(NEED, singer))
    cat = NounPhrase(CAT, THE, relative=of_object)
    assert translate(Sentence(Clause(WAIT, cat))) == "zumilmar ver trotas kvem skegilel vie pok."
    of_subject = Relative("subject", Clause(CHASE, None, object=singer, gap="plural", tense="past"))
    dogs = NounPhrase(DOG, THE, plural=True, relative=of_subject)
    assert translate(Sentence(Clause(CHASE, singer, object=dogs))) == "krutel vie pok voi basur kvoi jaskovunt vie pok."


def test_coordinated_subject_takes_a_plural_verb_and_names_have_a_gender():
    of = PrepositionalPhrase(OF_NOUNS[0], Name("Wosa"))
    both = Coordination(NounPhrase(DOG, THE), NounPhrase(SINGER, THE))
    assert translate(Sentence(Clause(BE, both, predicate=OLD))) == "brotunei esunt vas bas ed vie pok."
    assert translate(Sentence(Clause(BE, Name("Wosa"), predicate=OLD))) == "brotuna esel Vosa."
    assert translate(Sentence(Clause(WAIT, NounPhrase(CAT, THE, modifier=of)))) == "zumilmar ver trotas de Vosa."


def test_content_clause_is_last_and_recipient_stands_before_the_object_in_the_dative():
    show = word("ditransitive", "show")  # pant
    lamp = NounPhrase(LAMP, A)
    clause = Clause(show, Name("Damel"), object=lamp, recipient=NounPhrase(SINGER, THE, adjectives=(OLD,)))
    assert translate(Sentence(clause)) == "pantar Damel brotunai vir pok unie fivon."
    hope = Clause(word("clausal", "hope"), NounPhrase(SINGER, THE), content=clause)  # spudum
    assert translate(Sentence(hope)) == "spudumel vie pok ke pantar Damel brotunai vir pok unie fivon."


def test_names_are_transliterated_by_letter_rules():
    assert transliterate("Thewick") == "Tevik"
    assert transliterate("Shoyath") == "Sjojat"
    assert transliterate("Coca") == "Koka"
    for kind in ("person", "town"):
        assert len(set(names(kind))) == COUNT
    assert not set(names("person")) & set(names("town"))
