"""Parts of hand-made sentences of the generated language, by their English words."""

from headroom.data.grammar import lexicon, logic
from headroom.data.grammar.lexicon import DETERMINERS, OF_NOUNS, OF_VERBS, Plain
from headroom.data.grammar.tree import NounPhrase, PrepositionalPhrase


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
    return NounPhrase(table[noun][0], found, table[noun][1], tuple(map(logic.adjective, adjectives)), modifier)


def adverb(word: str) -> Plain:
    """Return an adverb."""
    return next(one for topic in lexicon.TOPICS for one in lexicon.plain("adverbs", topic) if one.word == word)


def place(words: str) -> PrepositionalPhrase:
    """Return the prepositional phrase of e.g. `near the old dogs`."""
    preposition, rest = words.split(maxsplit=1)
    return PrepositionalPhrase(next(one for one in (*OF_NOUNS, *OF_VERBS) if one.word == preposition), phrase(rest))
