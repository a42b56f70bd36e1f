"""Sentences of both languages and their relations, worked out by hand from the tables of the grammar."""

from dataclasses import replace

import pytest
from headroom.data.grammar.lexicon import BE, CONJUNCTIONS, MODALS, OF_NOUNS, OF_VERBS
from headroom.data.grammar.logic import adjective, verb
from headroom.data.grammar.source import conllu_lines, realise, text
from headroom.data.grammar.target import translate
from headroom.data.grammar.tree import (
    Clause,
    Coordination,
    Name,
    PrepositionalPhrase,
    Pronoun,
    Relative,
    Sentence,
    Subordinate,
)
from planted import adverb, phrase, place

WILL, _, CAN = MODALS
BECAUSE = CONJUNCTIONS[1]
CHASE, WAIT = verb("chase"), verb("wait")  # jask, krut of several, plad with `away`; zumilm
CAT, DOGS = phrase("the cat"), phrase("the dogs")  # trotas, masculine; bas, neuter
SINGER, LAMPS = phrase("the singer"), phrase("the lamps")  # pok, fivon, feminine
OLD, OFTEN = adjective("old"), adverb("often")  # brotun, spugilm
NEAR = phrase("the dog", place("near two singers"))
CHASED = Clause(CHASE, Name("Shaweck"), object=CAT, tense="past")
WAITING = Clause(WAIT, phrase("the cats"))
REASON = Subordinate(BECAUSE, Clause(CHASE, phrase("the dog"), modal=CAN, object=CAT))
THEY = Subordinate(BECAUSE, Clause(BE, Pronoun("n"), tense="past", predicate=OLD))
BY_SINGERS = Clause(CHASE, phrase("the singers"), object=phrase("the dog"), tense="past", passive=True)
BY_SINGER = Relative("object", Clause(CHASE, SINGER, passive=True))
NEEDED = Relative("object", Clause(verb("need"), SINGER))
CHASING = Relative("subject", Clause(CHASE, None, object=SINGER, gap="plural", tense="past"))
IN_TOWN = PrepositionalPhrase(OF_VERBS[0], Name("Yothton"))
OF_NAME = PrepositionalPhrase(OF_NOUNS[0], Name("Wosa"))
SHOWN = Clause(verb("show"), Name("Damel"), object=phrase("a lamp"), recipient=phrase("the old singer"))
AWAY = Clause(CHASE, SINGER, object=LAMPS, particle="away", modal=WILL)
LAMP_DOGS = replace(phrase("some old dogs"), compound=LAMPS.noun)
APPLE_CAT = replace(phrase("a cat"), compound=phrase("the apple").noun)


@pytest.mark.parametrize(
    ("sentence", "source", "translation"),
    [
        (Sentence(Clause(CHASE, phrase("a old small singer"), object=phrase("the old cat"))),
         "An old small singer chases the old cat.", "jaskel brotuna garka unie pok brotunon ven trotas."),
        (Sentence(Clause(verb("need"), phrase("the old cat"), object=phrase("some old singers"))),
         "The old cat needs some old singers.", "treirelar brotuno ver trotas brotunein unon pokas."),
        (Sentence(Clause(WAIT, NEAR, tense="past")),
         "The dog near two singers waited.", "zumilmovis vas bas apu dui pokas."),
        (Sentence(Clause(BE, NEAR, predicate=OLD, modal=WILL)),
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
        (Sentence(Clause(CHASE, SINGER, object=Coordination(Name("Damel"), phrase("the lamp")))),
         "The singer chases Damel and the lamp.", "krutel vie pok Damel ed vie fivon."),
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
        (Sentence(Clause(BE, Coordination(phrase("the dog"), SINGER), predicate=OLD)),
         "The dog and the singer are old.", "brotunei esunt vas bas ed vie pok."),
        (Sentence(Clause(WAIT, replace(CAT, modifier=OF_NAME))), "The cat of Wosa waits.",
         "zumilmar ver trotas de Vosa."),
        (Sentence(Clause(verb("hope"), SINGER, content=SHOWN)),
         "The singer hopes that Damel shows a lamp to the old singer.",
         "spudumel vie pok ke pantar Damel brotunai vir pok unie fivon."),
    ],
)  # fmt: skip
def test_sentences_and_their_translations(sentence, source, translation):
    assert text(realise(sentence)) == source
    assert translate(sentence) == translation


@pytest.mark.parametrize(
    ("sentence", "tree"),
    [
        (Sentence(Clause(WAIT, replace(LAMPS, relative=BY_SINGER), adverb=OFTEN, late=True)),
         "The/det/2 lamps/nsubj/9 that/nsubj:pass/5 are/aux:pass/5 chased/acl:relcl/2 by/case/8 the/det/8 "
         "singer/obl:agent/5 wait/root/0 often/advmod/9 ./punct/9"),
        (Sentence(AWAY, fronted=Subordinate(CONJUNCTIONS[0], Clause(BE, Name("Lalel"), predicate=OLD))),
         "When/mark/4 Lalel/nsubj/4 is/cop/4 old/advcl/9 ,/punct/4 the/det/7 singer/nsubj/9 will/aux/9 chase/root/0 "
         "the/det/11 lamps/obj/9 away/compound:prt/9 ./punct/9"),
        (Sentence(Clause(verb("hope"), replace(DOGS, modifier=OF_NAME), content=SHOWN)),
         "The/det/2 dogs/nsubj/5 of/case/4 Wosa/nmod/2 hope/root/0 that/mark/8 Damel/nsubj/8 shows/ccomp/5 a/det/10 "
         "lamp/obj/8 to/case/14 the/det/14 old/amod/14 singer/obl/8 ./punct/5"),
    ],
)  # fmt: skip
def test_every_word_depends_on_its_governor(sentence, tree):
    rows = [row.split("\t") for row in conllu_lines([realise(sentence)], name="x") if row[:1].isdigit()]
    assert " ".join(f"{row[1]}/{row[7]}/{row[6]}" for row in rows) == tree
