"""What words mean for each other: which exclude each other, and which may be true of the same thing."""

from functools import cache

from headroom.data.grammar import lexicon

_EXCLUSIVE = (
    "red black green",
    "old young",
    "old new",
    "small big",
    "wooden golden",
    "secret famous",
    "in outside",
    "before behind",
    "with without",
    "arrive depart wait",
    "arrive vanish",
    "wait vanish",
    "push pull",
    "attack defend",
    "accuse defend",
    *(
        f"snore {waking}"
        for waking in ("laugh", "talk", "dance", "work", "stumble", "limp", "protest", "depart", "arrive")
    ),
)
_RELATED = (
    "gather collect",
    "wash clean",
    "watch inspect examine",
    "follow chase",
    "offer show pass toss deliver return entrust",
    "protest talk",
    "depart vanish",
    "accuse attack",
    "young new",
    "big fat",
    "bird hen gull parrot",
    "room kitchen cabin",
    "house barn palace cabin",
    "garden orchard",
    "street village town market",
    "contract treaty",
    "captain sailor soldier",
)
_NOUN_KINDS = ("persons", "animals", "things", "places")
_VERB_KINDS = ("transitive", "intransitive", "ditransitive", "clausal")


def exclusive(word: str) -> tuple[str, ...]:
    """Return the words of which none can be true together with this one, of the same thing at the same time."""
    return _partners(_EXCLUSIVE).get(word, ())


def unrelated(word: str, other: str) -> bool:
    """Return whether one word says nothing about the other: they may hold together, neither follows from the other."""
    return word != other and other not in exclusive(word) and other not in _partners(_RELATED).get(word, ())


@cache
def noun_kind(noun: lexicon.Noun) -> str:
    """Return the table that a noun is in: persons, animals, things or places."""
    return next(kind for kind in _NOUN_KINDS for topic in lexicon.TOPICS if noun in lexicon.nouns(kind, topic))


@cache
def verb_kind(verb: lexicon.Verb) -> str:
    """Return the table that a verb is in: transitive, intransitive, ditransitive, clausal; `copula` for `be`."""
    found = (kind for kind in _VERB_KINDS for topic in lexicon.TOPICS if verb in lexicon.verbs(kind, topic))
    return next(found, "copula")


@cache
def adjective(word: str) -> lexicon.Plain:
    """Return an adjective of the lexicon by its source word."""
    return next(one for topic in lexicon.TOPICS for one in lexicon.plain("adjectives", topic) if one.word == word)


@cache
def verb(word: str) -> lexicon.Verb:
    """Return a verb of the lexicon by its source word."""
    tables = (lexicon.verbs(kind, topic) for kind in _VERB_KINDS for topic in lexicon.TOPICS)
    return next(one for table in tables for one in table if one.word == word)


@cache
def _partners(groups: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return for each word the other words of its groups, in the order of the groups."""
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for word in group.split():
            found[word] = found.get(word, ()) + tuple(other for other in group.split() if other != word)
    return found
