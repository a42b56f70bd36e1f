"""Properties of random sentences, each checked by an oracle that does not use the grammar's own code."""

import re
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from headroom.data.grammar import phenomena, sample, source, target, vocabulary
from headroom.data.grammar.sample import FAR, NEAR, Sampler

TOPICS = ("shared", "near", "far")
ENDINGS = {
    "m": {"nom": ("er", "o"), "acc": ("en", "on"), "dat": ("em", "ou")},
    "f": {"nom": ("ie", "a"), "acc": ("ie", "an"), "dat": ("ir", "ai")},
    "n": {"nom": ("as", "u"), "acc": ("as", "u"), "dat": ("em", "ou")},
    "plural": {"nom": ("oi", "ei"), "acc": ("oi", "ein"), "dat": ("on", "ein")},
}
FINITE = {"m": "ar", "f": "el", "n": "is", "plural": "unt"}
MODALS = {"will": "vol", "must": "dev", "can": "pot"}
DECLINED = ("v", "un", "kest", "jod", "nil")
PLURAL = {"m": "en", "f": "as", "n": "ur"}


@pytest.fixture(scope="module")
def sentences():
    """Return 600 sentences of each domain."""
    return [
        sentence for domain in (NEAR, FAR) for sentence in islice(Sampler(domain=domain, seed="test").sentences(), 600)
    ]


def entries(*kinds):
    """Return (english word, stem, rest) of tables of the vocabulary."""
    found = []
    for kind in kinds:
        for topic in TOPICS:
            for entry in vocabulary.TABLES[kind.lower(), topic]:
                word, stem, rest = re.fullmatch(r"([\w.]+)=([\w/]+)\.?(\w*)", entry).groups()
                found.append((word, stem, rest))
    return found


def target_nouns():
    """Return the agreement (gender or plural) of every target noun form."""
    forms = {}
    for _, stem, gender in entries("PERSONS", "ANIMALS", "THINGS", "PLACES"):
        forms[stem] = gender
        forms[stem + PLURAL[gender]] = "plural"
    return forms


def is_predicate(words, place):
    """Return whether an adjective is before the copula, possibly with a modal between them."""
    return any(re.fullmatch("es(ov)?(ar|el|is|unt)|esien", word) for word in words[place + 1 : place + 3])


def test_articles_and_adjectives_agree_with_every_noun(sentences):
    forms = target_nouns()
    adjectives = {
        stem + ending: ending
        for _, stem, _ in entries("ADJECTIVES")
        for ending in {pair[1] for cases in ENDINGS.values() for pair in cases.values()}
    }
    declined = 0
    for sentence in sentences:
        words = re.findall(r"\w+", target.translate(sentence))
        for place, word in enumerate(words):
            if word not in forms:
                continue
            start = place - 1
            while start > 0 and words[start - 1] in adjectives and not is_predicate(words, start - 1):
                start -= 1
            determiner, rows = words[place - 1], ENDINGS[forms[word]]
            cases = {case for case, (end, _) in rows.items() if determiner in {stem + end for stem in DECLINED}}
            if determiner in ("dui", "trai"):
                assert forms[word] == "plural"
                cases = set(rows)
            for adjective in words[start : place - 1]:
                cases = {case for case in cases if rows[case][1] == adjectives[adjective]}
                declined += 1
            assert cases, f"{words[start : place + 1]} in {words}"
    assert declined > 300


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
        return [MODALS[own["aux"].form] + ending, stem + "ien"]
    finite = own["aux:pass"] if passive else verb
    return [stem + ("ov" if finite.features["Tense"] == "Past" else "") + ending]


def test_verbs_follow_from_the_trees(sentences):
    across = 0
    for sentence in sentences:
        tokens = source.realise(sentence)
        expected = Counter()
        for verb in tokens:
            if verb.universal == "VERB":
                expected.update(expected_verb(verb, tokens))
        translated = Counter(re.findall(r"\w+", target.translate(sentence)))
        assert not expected - translated, source.text(tokens)
        tested = {case.phenomenon for case in phenomena.cases(sentence)}
        subjects = [place for place, token in enumerate(tokens) if token.relation == "nsubj"]
        far = any(abs(place - tokens.index(tokens[place].governor)) > 3 for place in subjects)
        across += "agreement" in tested and far
    assert across > 100, "agreement over a distance must be needed"


def test_one_source_sentence_has_one_translation_and_one_tree(monkeypatch):
    # With one word per kind, different trees meet in the same words as often as they can.
    monkeypatch.setattr(sample, "_zipf_weights", lambda count: (1.0,) * count)
    found, again = {}, 0
    for domain in (NEAR, FAR):
        for sentence in islice(Sampler(domain=replace(domain, own=1.0, other=0.0), seed="alike").sentences(), 6000):
            tokens = source.realise(sentence)
            tree = [{**vars(t), "governor": t.governor and tokens.index(t.governor)} for t in tokens]
            reading = (target.translate(sentence), tree)
            again += source.text(tokens) in found
            assert found.setdefault(source.text(tokens), reading) == reading
    assert again > 400
