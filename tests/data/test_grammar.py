"""The generated language: sentences worked out by hand from its tables, and properties of random ones.

The properties are checked by an oracle that does not use the grammar's own code.
"""

import csv
import re
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from headroom.data.grammar import lexicon, sample, source, target
from headroom.data.grammar.lexicon import BE, CONJUNCTIONS, DETERMINERS, MODALS, OF_NOUNS, OF_VERBS, Plain, Verb
from headroom.data.grammar.phenomena import PHENOMENA, Case, cases, csv_lines
from headroom.data.grammar.sample import FAR, NEAR, Sampler
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
from headroom.data.providers.generated import generate_sets
from headroom.settings.parallel import GeneratedCorpus


def phrase(words: str, modifier: PrepositionalPhrase | None = None) -> NounPhrase:
    """Return the noun phrase of e.g. `the old dogs`."""
    determiner, *adjectives, noun = words.split()
    found = next(d for d in DETERMINERS if determiner in (d.singular, d.plural))
    table = {
        one.source(plural): (one, plural)
        for kind in ("persons", "animals", "things", "places")
        for topic in lexicon.TOPICS
        for one in lexicon.nouns(kind, topic)
        for plural in (False, True)
    }
    return NounPhrase(table[noun][0], found, table[noun][1], tuple(map(adjective, adjectives)), modifier)


def plain(kind: str, word: str) -> Plain:
    return next(one for topic in lexicon.TOPICS for one in lexicon.plain(kind, topic) if one.word == word)


def adjective(word: str) -> Plain:
    return plain("adjectives", word)


def verb(word: str) -> Verb:
    kinds = ("transitive", "intransitive", "ditransitive", "clausal")
    tables = (lexicon.verbs(kind, topic) for kind in kinds for topic in lexicon.TOPICS)
    return next(one for table in tables for one in table if one.word == word)


def place(words: str) -> PrepositionalPhrase:
    """Return the prepositional phrase of e.g. `near the old dogs`."""
    preposition, rest = words.split(maxsplit=1)
    return PrepositionalPhrase(next(one for one in (*OF_NOUNS, *OF_VERBS) if one.word == preposition), phrase(rest))


WILL, _, CAN = MODALS
BECAUSE = CONJUNCTIONS[1]
CHASE, WAIT = verb("chase"), verb("wait")  # jask, krut of several, plad with `away`, fel with `off`; zumilm
CAT, DOG, DOGS = phrase("the cat"), phrase("the dog"), phrase("the dogs")  # trotas, masculine; bas, neuter
SINGER, SINGERS = phrase("the singer"), phrase("the singers")  # pok, feminine
LAMP, LAMPS = phrase("the lamp"), phrase("the lamps")  # fivon, feminine
OLD, OFTEN = adjective("old"), plain("adverbs", "often")  # brotun, spugilm
TWO_NEAR = phrase("the dog", place("near two singers"))
CHASED = Clause(CHASE, Name("Shaweck"), object=CAT, tense="past")
WAITING = Clause(WAIT, phrase("the cats"))
REASON = Subordinate(BECAUSE, Clause(CHASE, DOG, modal=CAN, object=CAT))
THEY = Subordinate(BECAUSE, Clause(BE, Pronoun("n"), tense="past", predicate=OLD))
BY_SINGERS = Clause(CHASE, SINGERS, object=DOG, tense="past", passive=True)
BY_SINGER = Relative("object", Clause(CHASE, SINGER, passive=True))
NEEDED = Relative("object", Clause(verb("need"), SINGER))
CHASING = Relative("subject", Clause(CHASE, None, object=SINGER, gap="plural", tense="past"))
IN_TOWN = PrepositionalPhrase(OF_VERBS[0], Name("Yothton"))
OF_NAME = PrepositionalPhrase(OF_NOUNS[0], Name("Wosa"))
SHOWN = Clause(verb("show"), Name("Damel"), object=phrase("a lamp"), recipient=phrase("the old singer"))
AWAY = Clause(CHASE, SINGER, object=LAMPS, particle="away", modal=WILL)
LAMP_DOGS = replace(phrase("some old dogs"), compound=LAMPS.noun)
APPLE_CAT = replace(phrase("a cat"), compound=phrase("the apple").noun)


def showing(subject, thing, recipient):
    return Sentence(Clause(verb("show"), phrase(subject), object=phrase(thing), recipient=phrase(recipient)))


TRANSLATED = [
    # every gender and the plural as subject, object and recipient
    (showing("the old cat", "a old lamp", "every old dog"), "The old cat shows an old lamp to every old dog.",
     "pantar brotuno ver trotas brotunou jodem bas brotunan unie fivon."),
    (showing("this old lamp", "no old dog", "the old cats"), "This old lamp shows no old dog to the old cats.",
     "pantel brotuna kestie fivon brotunein von trotasen brotunu nilas bas."),
    (showing("every old dog", "some old cats", "a old lamp"), "Every old dog shows some old cats to an old lamp.",
     "pantis brotunu jodas bas brotunai unir fivon brotunein unoi trotasen."),
    (showing("no old cats", "this old cat", "no old cat"), "No old cats show this old cat to no old cat.",
     "pantunt brotunei niloi trotasen brotunou nilem trotas brotunon kesten trotas."),
    (Sentence(Clause(CHASE, phrase("a old small singer"), object=phrase("the old cat"))),
     "An old small singer chases the old cat.", "jaskel brotuna garka unie pok brotunon ven trotas."),
    (Sentence(Clause(BE, TWO_NEAR, predicate=OLD, modal=WILL)),
     "The dog near two singers will be old.", "brotunu volis esien vas bas apu dui pokas."),
    (Sentence(CHASED, fronted=OFTEN), "Often Shaweck chased the cat.", "spugilmo jaskovar Sjavek ven trotas."),
    (Sentence(Clause(WAIT, Name("Shaweck"), adverb=OFTEN, late=True)),
     "Shaweck waits often.", "spugilmi zumilmar Sjavek."),
    (Sentence(Clause(CHASE, CAT, modal=WILL, object=CAT, adverb=OFTEN, oblique=IN_TOWN)),
     "The cat will often chase the cat in Yothton.", "spugilmu volar jaskien ver trotas ven trotas en Jotton."),
    (Sentence(WAITING, trailing=REASON), "The cats wait because the dog can chase the cat.",
     "pork potis jaskien vas bas ven trotas, zumilmunt voi trotasen."),
    (Sentence(WAITING, fronted=REASON), "Because the dog can chase the cat, the cats wait.",
     "pork potis jaskien vas bas ven trotas, zumilmunt voi trotasen."),
    (Sentence(AWAY), "The singer will chase the lamps away.", "volel pladien vie pok voi fivonas."),
    (Sentence(Clause(WAIT, replace(LAMPS, relative=BY_SINGER))),
     "The lamps that are chased by the singer wait.", "zumilmunt voi fivonas kvoi krutel vie pok."),
    (Sentence(Clause(WAIT, replace(CAT, relative=NEEDED))),
     "The cat that the singer needs waits.", "zumilmar ver trotas kvem skegilel vie pok."),
    (Sentence(Clause(CHASE, SINGER, object=replace(DOGS, relative=CHASING))),
     "The singer chases the dogs that chased the singer.", "krutel vie pok voi basur kvoi jaskovunt vie pok."),
    (Sentence(Clause(CHASE, LAMP_DOGS, object=APPLE_CAT)),
     "Some old lamp dogs chase an apple cat.", "jaskunt brotunei unoi basur fivonia unen trotas faria."),
    (Sentence(BY_SINGERS, trailing=THEY), "The dog was chased by the singers because they were old.",
     "pork brotunu esovis las, jaskovunt voi pokas vas bas."),
    (Sentence(Clause(BE, Coordination(DOG, SINGER), predicate=OLD)),
     "The dog and the singer are old.", "brotunei esunt vas bas ed vie pok."),
    (Sentence(Clause(verb("hope"), SINGER, content=SHOWN)),
     "The singer hopes that Damel shows a lamp to the old singer.",
     "spudumel vie pok ke pantar Damel brotunai vir pok unie fivon."),
]  # fmt: skip
PARSED = [
    (Sentence(Clause(WAIT, replace(LAMPS, relative=BY_SINGER), adverb=OFTEN, late=True)),
     "The/det/2 lamps/nsubj/9 that/nsubj:pass/5 are/aux:pass/5 chased/acl:relcl/2 by/case/8 the/det/8 "
     "singer/obl:agent/5 wait/root/0 often/advmod/9 ./punct/9"),
    (Sentence(AWAY, fronted=Subordinate(CONJUNCTIONS[0], Clause(BE, Name("Lalel"), predicate=OLD))),
     "When/mark/4 Lalel/nsubj/4 is/cop/4 old/advcl/9 ,/punct/4 the/det/7 singer/nsubj/9 will/aux/9 chase/root/0 "
     "the/det/11 lamps/obj/9 away/compound:prt/9 ./punct/9"),
    (Sentence(Clause(verb("hope"), replace(DOGS, modifier=OF_NAME), content=SHOWN)),
     "The/det/2 dogs/nsubj/5 of/case/4 Wosa/nmod/2 hope/root/0 that/mark/8 Damel/nsubj/8 shows/ccomp/5 a/det/10 "
     "lamp/obj/8 to/case/14 the/det/14 old/amod/14 singer/obl/8 ./punct/5"),
]  # fmt: skip


def test_sentences_and_their_translations_by_hand():
    found = [(one, source.text(source.realise(one)), target.translate(one)) for one, *_ in TRANSLATED]
    assert not [row[1:] for row, expected in zip(found, TRANSLATED, strict=True) if row != expected]


def test_every_word_depends_on_its_governor():
    for sentence, tree in PARSED:
        rows = source.conllu_lines([source.realise(sentence)], name="x")
        words = [row.split("\t") for row in rows if row[:1].isdigit()]
        assert " ".join(f"{word[1]}/{word[7]}/{word[6]}" for word in words) == tree


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


@pytest.fixture(scope="module")
def sentences():
    """Return 600 sentences of each domain."""
    return [
        sentence for domain in (NEAR, FAR) for sentence in islice(Sampler(domain=domain, seed="test").sentences(), 600)
    ]


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


TOPICS = ("shared", "near", "far")
FINITE = {"m": "ar", "f": "el", "n": "is", "plural": "unt"}
MODAL_STEMS = {"will": "vol", "must": "dev", "can": "pot"}


def entries(*kinds):
    """Return (english word, stem, rest) of tables of the lexicon."""
    found = []
    for kind in kinds:
        for topic in TOPICS:
            for entry in lexicon.TABLES[kind.lower(), topic]:
                word, stem, rest = re.fullmatch(r"([\w.]+)=([\w/]+)\.?(\w*)", entry).groups()
                found.append((word, stem, rest))
    return found


def resolved(token, tokens):
    """Return the noun that a token stands for: of a relative pronoun its antecedent, of `they` the main subject."""
    if token.features.get("PronType") == "Rel":
        return token.governor.governor
    if token.universal == "PRON":
        (root,) = (t for t in tokens if t.governor is None)
        (token,) = (t for t in tokens if t.governor is root and t.relation in ("nsubj", "nsubj:pass"))
    return token


def agreement(noun, tokens):
    genders = {word: gender for word, _, gender in entries("PERSONS", "ANIMALS", "THINGS", "PLACES")}
    if noun.features["Number"] == "Plur" or any(t.governor is noun and t.relation == "conj" for t in tokens):
        return "plural"
    return genders[noun.lemma] if noun.universal == "NOUN" else "f" if noun.form.endswith("a") else "m"


def expected_verb(verb, tokens):
    """Return the target forms of a verb by looking only at the tree and at the tables."""
    stems = {word: stem for word, stem, _ in entries("TRANSITIVE", "INTRANSITIVE", "DITRANSITIVE", "CLAUSAL")}
    own = {t.relation: t for t in tokens if t.governor is verb}
    passive = "nsubj:pass" in own
    who = resolved(own["obl:agent" if passive else "nsubj"], tokens)
    stem, _, of_many = stems[verb.lemma].partition("/")
    if of_many:
        what = resolved(own["nsubj:pass" if passive else "obj"], tokens)
        stem = of_many if agreement(what, tokens) == "plural" else stem
    if "compound:prt" in own:
        stem = {word: stem for word, stem, _ in entries("PARTICLED")}[f"{verb.lemma}.{own['compound:prt'].form}"]
    ending = FINITE[agreement(who, tokens)]
    if "aux" in own:
        return [MODAL_STEMS[own["aux"].form] + ending, stem + "ien"]
    finite = own["aux:pass"] if passive else verb
    return [stem + ("ov" if finite.features["Tense"] == "Past" else "") + ending]


def test_verbs_follow_from_the_trees(sentences):
    across = 0
    for sentence in sentences:
        tokens = source.realise(sentence)
        expected = Counter()
        for token in tokens:
            if token.universal == "VERB":
                expected.update(expected_verb(token, tokens))
        translated = Counter(re.findall(r"\w+", target.translate(sentence)))
        assert not expected - translated, source.text(tokens)
        tested = {case.phenomenon for case in cases(sentence)}
        subjects = [place for place, token in enumerate(tokens) if token.relation == "nsubj"]
        far = any(abs(place - tokens.index(tokens[place].governor)) > 3 for place in subjects)
        across += "agreement" in tested and far
    assert across > 100, "agreement over a distance must be needed"


def test_one_source_sentence_has_one_translation_and_one_tree(monkeypatch):
    # With one word per kind, different trees meet in the same words as often as they can.
    monkeypatch.setattr(sample, "_zipf_weights", lambda count: (1.0,) * count)
    found, again = {}, 0
    for domain in (NEAR, FAR):
        for sentence in islice(Sampler(domain=replace(domain, own=1.0, other=0.0), seed="alike").sentences(), 2000):
            tokens = source.realise(sentence)
            tree = [{**vars(t), "governor": t.governor and tokens.index(t.governor)} for t in tokens]
            reading = (target.translate(sentence), tree)
            again += source.text(tokens) in found
            assert found.setdefault(source.text(tokens), reading) == reading
    assert again > 50


@pytest.fixture(scope="module")
def sets():
    return generate_sets(GeneratedCorpus(seed=3, train=1500, valid=201, test=150, far=150))


def test_no_sentence_occurs_twice_anywhere(sets):
    sentences = [line for pair in sets.values() for line in pair.source]
    assert len(set(sentences)) == len(sentences)


def test_more_training_text_leaves_the_evaluation_sets_alone_and_another_seed_changes_all():
    few = GeneratedCorpus(seed=3, train=60, valid=21, test=30, far=30)
    sets, larger, other = (generate_sets(few.model_copy(update=one)) for one in ({}, {"train": 90}, {"seed": 4}))
    for name in ("choose", "check", "test", "far"):
        assert larger[name].parts == sets[name].parts
        assert larger[name].files("x") == sets[name].files("x")
        assert len({*other[name].parts[0]} & {*sets[name].parts[0]}) < 0.2 * len(sets[name])
    assert [side[:60] for side in larger["train"].parts] == [*sets["train"].parts]


def test_the_far_domain_is_longer_with_other_words_and_constructions(sets):
    near, far = ([token for tree in sets[name].trees for token in tree] for name in ("train", "far"))
    length, longer = (len(tokens) / len(sets[name]) for name, tokens in (("train", near), ("far", far)))
    assert longer > 1.2 * length
    for relation in ("acl:relcl", "ccomp", "conj", "amod"):
        in_near, in_far = (sum(token.relation == relation for token in tokens) for tokens in (near, far))
        assert in_far / len(sets["far"]) > 1.3 * in_near / len(sets["train"])
    known, new = (
        Counter(token.lemma for token in tokens if token.universal in ("NOUN", "VERB", "ADJ")) for tokens in (near, far)
    )
    assert sum(count / known.total() > 2 * new[word] / new.total() for word, count in known.most_common(100)) > 10
    assert len({*new} - {*known}) < 0.05 * len(new), "words of the far domain occur in training"
