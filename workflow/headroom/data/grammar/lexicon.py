"""Words with their inflection in both languages: open classes by topic, closed classes, and names.

The source language inflects nouns for number and verbs for tense and number as English does. The invented
target language has three genders and three cases; articles and adjectives agree with their noun.
"""

import random
import re
from dataclasses import dataclass
from functools import cache

TOPICS = ("shared", "near", "far")
"""Words of every domain, words that mark the near domain, words that mark the far domain."""

AGREEMENTS = ("m", "f", "n", "plural")
"""What other words agree with in a noun: its gender in the singular, or plural."""

CASES = ("nom", "acc", "dat")
TENSES = ("present", "past", "modal")

_PLURAL = {"m": "en", "f": "as", "n": "ur"}
_FINITE = {"m": "ar", "f": "el", "n": "is", "plural": "unt"}
_PAST = "ov"
_CONCORD = {"present": "i", "past": "o", "modal": "u"}

# One row per agreement, one column per case. As in German, endings repeat across the table, so that an ending does not
# determine the case. No ending is the beginning of another one of its column: of two forms, each has its own score.
_DETERMINER = {
    "m": ("er", "en", "em"),
    "f": ("ie", "ie", "ir"),
    "n": ("as", "as", "em"),
    "plural": ("oi", "oi", "on"),
}
_ADJECTIVE = {
    "m": ("o", "on", "ou"),
    "f": ("a", "an", "ai"),
    "n": ("u", "u", "ou"),
    "plural": ("ei", "ein", "ein"),
}


@dataclass(frozen=True)
class Noun:
    """A noun: its source word, target stem and gender (m, f, n)."""

    word: str
    stem: str
    gender: str

    def source(self, plural: bool) -> str:
        """Return the source form."""
        return with_s(self.word) if plural else self.word

    def target(self, plural: bool) -> str:
        """Return the target form; the plural ending depends on the gender."""
        return self.stem + _PLURAL[self.gender] if plural else self.stem

    @property
    def modifying(self) -> str:
        """The target form of a noun that modifies another one."""
        return self.stem + "ia"


@dataclass(frozen=True)
class Verb:
    """A verb: its source word, target stem, the case of its object, and the stem with more than one object."""

    word: str
    stem: str
    government: str = "acc"
    of_many: str = ""

    def source(self, tense: str, plural: bool) -> str:
        """Return the finite source form; only the present singular shows agreement."""
        if tense == "past":
            return self.participle
        return self.word if plural else with_s(self.word)

    @property
    def participle(self) -> str:
        """The source participle, which equals the past tense."""
        return self.word + ("d" if self.word.endswith("e") else "ed")


@dataclass(frozen=True)
class Copula(Verb):
    """The verb `be`, irregular in the source language."""

    def source(self, tense: str, plural: bool) -> str:
        """Return is, are, was or were."""
        return {"present": ("is", "are"), "past": ("was", "were")}[tense][plural]


@dataclass(frozen=True)
class Plain:
    """An adjective or adverb: its source word and target stem."""

    word: str
    stem: str


@dataclass(frozen=True)
class Determiner:
    """A determiner: source words for singular and plural (None if missing) and the target stem."""

    singular: str | None
    plural: str | None
    stem: str
    declines: bool = True
    universal: str = "DET"

    def source(self, plural: bool) -> str | None:
        """Return the source word, or None if the determiner has no such form."""
        return self.plural if plural else self.singular

    def target(self, agreement: str, case: str) -> str:
        """Return the target form for a gender (m, f, n) or `plural`, and a case."""
        return self.stem + determiner_ending(agreement, case) if self.declines else self.stem


@dataclass(frozen=True)
class Preposition:
    """A preposition: source word, target word and the case it governs."""

    word: str
    target: str
    case: str


@dataclass(frozen=True)
class Word:
    """A word that does not inflect in the source language: its target word or stem."""

    word: str
    target: str


BE = Copula("be", "es")
DETERMINERS = (
    Determiner("the", "the", "v"),
    Determiner("a", "some", "un"),
    Determiner("this", "these", "kest"),
    Determiner("every", None, "jod"),
    Determiner(None, "two", "dui", declines=False, universal="NUM"),
    Determiner(None, "three", "trai", declines=False, universal="NUM"),
    Determiner("no", "no", "nil"),
)

# The preposition determines the attachment of its phrase, which is therefore unambiguous.
OF_NOUNS = (
    Preposition("of", "de", "dat"),
    Preposition("from", "ab", "dat"),
    Preposition("with", "kum", "dat"),
    Preposition("near", "apu", "acc"),
    Preposition("without", "sanu", "acc"),
)
OF_VERBS = (
    Preposition("in", "en", "dat"),
    Preposition("behind", "post", "acc"),
    Preposition("through", "tra", "acc"),
    Preposition("before", "prei", "dat"),
    Preposition("outside", "ekst", "acc"),
)
CONJUNCTIONS = (Word("when", "kand"), Word("because", "pork"), Word("while", "dum"), Word("although", "obgal"))
MODALS = (Word("will", "vol"), Word("must", "dev"), Word("can", "pot"))
AND, THAT, TO, BY = Word("and", "ed"), Word("that", "ke"), Word("to", ""), Word("by", "")
THEY = "they"
RELATIVE_STEM, PRONOUN_STEM = "kv", "l"


def with_s(word: str) -> str:
    """Return an English word with the ending of plural nouns or of verbs in the present singular."""
    if word.endswith(("s", "x", "sh", "ch")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def determiner_ending(agreement: str, case: str) -> str:
    """Return the ending of determiners and relative pronouns for a gender or `plural`, and a case."""
    return _DETERMINER[agreement][CASES.index(case)]


def adjective_ending(agreement: str, case: str) -> str:
    """Return the ending of adjectives for a gender or `plural`, and a case."""
    return _ADJECTIVE[agreement][CASES.index(case)]


def finite(stem: str, tense: str, agreement: str) -> str:
    """Return the finite target form of a stem in the present or past, which agrees with the subject."""
    return stem + (_PAST if tense == "past" else "") + _FINITE[agreement]


def infinitive(stem: str) -> str:
    """Return the target infinitive of a stem."""
    return stem + "ien"


def adverb_form(adverb: Plain, tense: str) -> str:
    """Return the target form of an adverb: it agrees with the tense of its verb, `modal` with a modal."""
    return adverb.stem + _CONCORD[tense]


@cache
def nouns(kind: str, topic: str) -> tuple[Noun, ...]:
    """Return the nouns of a kind (persons, animals, things, places) and topic, the most frequent first."""
    return tuple(Noun(word, *rest.split(".")) for word, rest in _entries(kind, topic))


@cache
def verbs(kind: str, topic: str) -> tuple[Verb, ...]:
    """Return the verbs of a kind (transitive, intransitive, ditransitive, clausal) and topic."""
    return tuple(_verb(word, *rest.split(".")) for word, rest in _entries(kind, topic))


def _verb(word: str, stems: str, government: str = "acc") -> Verb:
    stem, _, of_many = stems.partition("/")
    return Verb(word, stem, government, of_many)


@cache
def list_particle_stems() -> dict[str, dict[str, str]]:
    """Return for each verb with particles the stem with each particle, which has nothing of the verb's own."""
    found: dict[str, dict[str, str]] = {}
    for topic in TOPICS:
        for entry, stem in _entries("particled", topic):
            verb, particle = entry.split(".")
            found.setdefault(verb, {})[particle] = stem
    return found


@cache
def plain(kind: str, topic: str) -> tuple[Plain, ...]:
    """Return the adjectives or adverbs of a topic."""
    return tuple(Plain(word, stem) for word, stem in _entries(kind, topic))


def _entries(kind: str, topic: str) -> list[tuple[str, str]]:
    pairs = (entry.split("=") for entry in TABLES[kind, topic])
    return [(word, rest) for word, rest in pairs]


COUNT = 1000
"""Names of each kind. With Zipf frequencies many of those in a test set never occur in training."""

_ONSETS = (*"bcdfghklmnprstvwy", "th", "sh")
_VOWELS = ("a", "e", "i", "o", "u")
_PERSON_ENDINGS = ("a", "an", "el", "in", "or", "us", "is", "o")
_TOWN_ENDINGS = ("ham", "ford", "wick", "ton", "by")
_LETTERS = {"th": "t", "sh": "sj", "ck": "k", "c": "k", "w": "v", "y": "j"}


@cache
def names(kind: str) -> tuple[str, ...]:
    """Return the names of a kind (`person`, `town`), the most frequent first; always the same."""
    source = random.Random(f"names of kind {kind}")
    endings = _PERSON_ENDINGS if kind == "person" else _TOWN_ENDINGS
    found: dict[str, None] = {}
    while len(found) < COUNT:
        stem = "".join(source.choice(_ONSETS) + source.choice(_VOWELS) for _ in range(source.choice((1, 1, 2))))
        ending = source.choice(endings)
        joint = source.choice("lmnrst") if kind == "person" else ""
        found[(stem + joint + ending).capitalize()] = None
    return tuple(found)


def transliterate(name: str) -> str:
    """Return a name in the target language's spelling: `Thewick` becomes `Tevik`.

    Two-letter groups are replaced before single letters, from left to right.
    """
    rest, spelt = name.lower(), ""
    while rest:
        size = 2 if rest[:2] in _LETTERS else 1
        spelt += _LETTERS.get(rest[:size], rest[:size])
        rest = rest[size:]
    return spelt.capitalize()


_ENTRIES = """
persons shared: friend=jaular.f teacher=plalald.m doctor=glabalm.n neighbour=robilm.m guest=punirk.n
    stranger=trobost.m singer=pok.f painter=sisk.n
persons near: farmer=datarn.f shepherd=josk.m baker=tragark.n miller=pleirk.n gardener=kluver.f hunter=brerirn.m
    widow=flinund.n beggar=kreint.m carpenter=fagern.n weaver=flekirt.m
persons far: captain=kiveisk.f sailor=metorn.n judge=flidel.n merchant=heind.n lawyer=kurirt.n minister=glok.m
    soldier=trik.n clerk=melurn.f banker=gosk.n printer=kaurarn.m
animals shared: dog=bas.n cat=trotas.m horse=bur.n bird=spauruk.m
animals near: goat=grebeld.m cow=bruvold.n lamb=filut.n hen=bunir.n donkey=bredir.n rabbit=bremil.m
animals far: gull=nund.n seal=zaus.f parrot=drigen.m whale=senaust.m
things shared: book=grulm.n letter=drigut.n chair=dodil.f coin=jimalm.m cloak=denes.f basket=vund.f lamp=fivon.f
    bell=brumel.n
things near: apple=far.m bucket=grasok.f ladder=litund.m plough=barilm.f cart=drorn.n seed=trurk.n cheese=geigast.m
    blanket=trasim.m spoon=surk.n barrel=glonask.m
things far: map=zont.f contract=speibom.n compass=zidal.n anchor=plulm.m cannon=klul.n flag=polin.n treaty=nudarn.f
    sail=taresk.f engine=vegem.n mirror=ronerk.n
places shared: house=pland.f street=fond.m market=skevit.m town=monint.f room=drutur.m
places near: village=din.f garden=krond.m barn=brunend.f meadow=neld.m orchard=todin.m forest=spis.n river=vedarn.f
    kitchen=jegelm.f
places far: harbour=glek.m ship=spudend.f palace=statak.m court=grugirk.m prison=plidusk.m bank=tadeir.n
    island=skosk.m cabin=punem.n
transitive shared: call=heitolm/rem.acc watch=glikork/graubuk.acc help=gild/vesul.acc follow=glolm/kleilul.acc
    need=skegil/treirel.dat love=sturerk/baud.acc visit=pririm/gaum.acc greet=fuleis/leisk.acc
    remember=skaton/plimask.acc
transitive near: chase=jask/krut.acc wash=sort/maur.acc pull=dratir/krinor.acc collect=stesuld/vavisk.acc
    clean=skivest/tritund.acc push=magom/gukad.acc kick=land/lurist.acc gather=dusem/draurort.acc
transitive far: arrest=ston/mauvus.acc accuse=glask/nol.acc attack=klurn/feig.acc reward=mark/trel.acc
    appoint=statin/fotil.acc inspect=klomorn/glaund.acc defend=jameind/gran.acc examine=gavas/flivad.acc
particled shared: call.up=gund call.off=keilelm call.down=stol watch.out=raum help.up=kraud help.out=fisk
    follow.up=geiguk greet.down=kakol
particled near: chase.away=plad chase.off=fel pull.down=zenir pull.up=skaug wash.off=kir push.away=spegust
    push.down=kofil kick.out=maul kick.off=treilam clean.up=gor
particled far: attack.down=flikan defend.off=skeimolm inspect.up=snipam examine.out=plururt
intransitive shared: laugh=grererk wait=zumilm arrive=nir smile=rililm talk=trisem
intransitive near: snore=gok dance=desk work=prel stumble=drost sneeze=galend limp=brok
intransitive far: depart=dern surrender=dis hesitate=rint vanish=skerk protest=krast tremble=rek
ditransitive shared: offer=plunam show=pant return=dit
ditransitive near: pass=fenaur toss=harn
ditransitive far: entrust=jant deliver=dut
clausal shared: believe=rukok claim=trim hope=spudum
clausal near: whisper=subirk guess=rild
clausal far: declare=kloval suspect=tramast
adjectives shared: old=brotun young=bros small=gark big=turast new=probesk good=fern red=golm black=jekand
adjectives near: hungry=rusk muddy=pir wooden=greint lazy=sputost round=jonom fat=hugeirt green=spaneld
adjectives far: royal=konalm secret=skagand famous=klum loyal=praulm golden=fludat foreign=glar heavy=bok
    brave=figild
adverbs shared: often=spugilm never=drer today=jund soon=skald always=susek
adverbs near: slowly=dusuk happily=flokelm early=mul
adverbs far: secretly=prot bravely=fabaust rarely=fonom
"""

TABLES: dict[tuple[str, str], list[str]] = {
    (kind, topic): entries.split()
    for kind, topic, entries in re.findall(r"^(\w+) (\w+):(.*(?:\n +.*)*)", _ENTRIES, flags=re.M)
}
"""The entries by kind and topic."""
