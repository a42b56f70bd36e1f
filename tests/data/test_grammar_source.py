"""Source sentences and their dependency trees, worked out by hand."""

from headroom.data.grammar import function_words as closed
from headroom.data.grammar.conllu_lines import conllu_lines
from headroom.data.grammar.lexicon import BE, nouns, plain, verbs, with_s
from headroom.data.grammar.source import realise, text
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


def word(kind, name):
    """Return a word of the lexicon by its English form."""
    table = {"adjectives": plain, "adverbs": plain}.get(kind, verbs if kind.endswith("ive") else nouns)
    return _find([entry for topic in ("shared", "near", "far") for entry in table(kind, topic)], name)


THE, A, THIS = closed.DETERMINERS[:3]
DOG, CAT, COW = (word("animals", name) for name in ("dog", "cat", "cow"))


def tree(sentence):
    """Return (form, relation, governor's number) of every word."""
    rows = [row.split("\t") for row in conllu_lines([realise(sentence)], name="x") if row[:1].isdigit()]
    return [(row[1], row[7], int(row[6])) for row in rows]


def test_plain_clause_has_subject_object_and_full_stop():
    clause = Clause(word("transitive", "chase"), NounPhrase(DOG, THE, plural=True), object=NounPhrase(CAT, A))
    assert text(realise(Sentence(clause))) == "The dogs chase a cat."
    assert tree(Sentence(clause)) == [
        ("The", "det", 2),
        ("dogs", "nsubj", 3),
        ("chase", "root", 0),
        ("a", "det", 5),
        ("cat", "obj", 3),
        (".", "punct", 3),
    ]


def test_verb_agrees_with_the_subject_not_with_the_noun_before_it():
    near = PrepositionalPhrase(closed.OF_NOUNS[3], NounPhrase(CAT, THE, plural=True))
    clause = Clause(word("intransitive", "laugh"), NounPhrase(DOG, THE, modifier=near))
    assert text(realise(Sentence(clause))) == "The dog near the cats laughs."


def test_object_relative_clause_keeps_its_subject_and_its_verb():
    inner = Clause(word("transitive", "pull"), NounPhrase(DOG, THE, plural=True))
    subject = NounPhrase(CAT, THE, relative=Relative("object", inner))
    sentence = Sentence(Clause(word("intransitive", "wait"), subject))
    assert tree(sentence) == [
        ("The", "det", 2),
        ("cat", "nsubj", 7),
        ("that", "obj", 6),
        ("the", "det", 5),
        ("dogs", "nsubj", 6),
        ("pull", "acl:relcl", 2),
        ("waits", "root", 0),
        (".", "punct", 7),
    ]


def test_copula_depends_on_its_predicate_and_agrees_with_a_coordination():
    subject = Coordination(NounPhrase(DOG, THIS), Name("Theewick"))
    adjective, adverb = word("adjectives", "old"), word("adverbs", "often")
    sentence = Sentence(Clause(BE, subject, tense="past", predicate=adjective, adverb=adverb))
    assert tree(sentence) == [
        ("This", "det", 2),
        ("dog", "nsubj", 7),
        ("and", "cc", 4),
        ("Theewick", "conj", 2),
        ("were", "cop", 7),
        ("often", "advmod", 7),
        ("old", "root", 0),
        (".", "punct", 7),
    ]


def test_fronted_clause_has_mark_and_comma_and_modal_is_auxiliary():
    front = Subordinate(closed.CONJUNCTIONS[0], Clause(word("intransitive", "talk"), Name("Lalel")))
    gift = Clause(
        word("ditransitive", "show"),
        NounPhrase(COW, THE),
        modal=closed.MODALS[1],
        object=NounPhrase(word("things", "apple"), A),
        recipient=Name("Damel"),
    )
    sentence = Sentence(gift, fronted=front)
    assert text(realise(sentence)) == "When Lalel talks, the cow must show an apple to Damel."
    assert tree(sentence) == [
        ("When", "mark", 3),
        ("Lalel", "nsubj", 3),
        ("talks", "advcl", 8),
        (",", "punct", 3),
        ("the", "det", 6),
        ("cow", "nsubj", 8),
        ("must", "aux", 8),
        ("show", "root", 0),
        ("an", "det", 10),
        ("apple", "obj", 8),
        ("to", "case", 12),
        ("Damel", "obl", 8),
        (".", "punct", 8),
    ]


def test_content_clause_and_trailing_clause():
    content = Clause(word("intransitive", "wait"), Name("Lalel"), tense="past")
    saying = Sentence(Clause(_find(verbs("clausal", "shared"), "hope"), Name("Damel"), content=content))
    assert [row[1:] for row in tree(saying)] == [
        ("nsubj", 2),
        ("root", 0),
        ("mark", 5),
        ("nsubj", 5),
        ("ccomp", 2),
        ("punct", 2),
    ]
    because = Subordinate(closed.CONJUNCTIONS[1], content)
    assert text(realise(Sentence(content, trailing=because))) == "Lalel waited because Lalel waited."


def test_english_endings():
    pairs = {"dog": "dogs", "box": "boxes", "pass": "passes", "wash": "washes", "treaty": "treaties", "envoy": "envoys"}
    assert {singular: with_s(singular) for singular in pairs} == pairs
    assert word("transitive", "chase").source("past", False) == "chased"
    assert word("transitive", "pull").source("past", True) == "pulled"
