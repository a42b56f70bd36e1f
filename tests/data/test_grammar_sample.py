"""Properties of random sentences, each checked by an oracle that does not use the grammar's own code."""

import re
from collections import Counter
from itertools import islice

import pytest
from headroom.data.grammar import lexicon, sample, source, target, vocabulary
from headroom.data.grammar.lexicon import names, transliterate
from headroom.data.grammar.sample import FAR, NEAR, Sampler

TOPICS = ("shared", "near", "far")
ENDINGS = {
    "m": {"nom": ("er", "o"), "acc": ("en", "on"), "dat": ("em", "ou")},
    "f": {"nom": ("e", "a"), "acc": ("e", "an"), "dat": ("er", "ai")},
    "n": {"nom": ("as", "u"), "acc": ("as", "u"), "dat": ("em", "ou")},
    "plural": {"nom": ("i", "ei"), "acc": ("i", "ein"), "dat": ("en", "ein")},
}
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
                word, stem, rest = re.fullmatch(r"(\w+)=(\w+)\.?(\w*)", entry).groups()
                found.append((word, stem, rest))
    return found


def target_nouns():
    """Return the agreement (gender or plural) of every target noun form."""
    forms = {}
    for _, stem, gender in entries("PERSONS", "ANIMALS", "THINGS", "PLACES"):
        forms[stem] = gender
        forms[stem + PLURAL[gender]] = "plural"
    return forms


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
        words[0] = words[0].lower()
        for place, word in enumerate(words):
            if word not in forms:
                continue
            start = place - 1
            while words[start] in adjectives and start > 0:
                start -= 1
            determiner, rows = words[start], ENDINGS[forms[word]]
            cases = {case for case, (end, _) in rows.items() if determiner in {stem + end for stem in DECLINED}}
            if determiner in ("dui", "trai"):
                assert forms[word] == "plural"
                cases = set(rows)
            for adjective in words[start + 1 : place]:
                cases = {case for case in cases if rows[case][1] == adjectives[adjective]}
                declined += 1
            assert cases, f"{words[start : place + 1]} in {words}"
    assert declined > 300


def subject_numbers(tokens):
    """Return (lemma, plural) of every finite verb that is not a copula, by looking only at the tree."""
    found = []
    for verb in tokens:
        features = verb.features.get("VerbForm")
        if verb.universal != "VERB":
            continue
        subject = next(t for t in tokens if t.governor is verb and t.relation == "nsubj")
        modal = any(t.governor is verb and t.relation == "aux" for t in tokens)
        assert features == ("Inf" if modal else "Fin")
        if subject.universal == "PRON":
            subject = verb.governor
            joined = False
        else:
            joined = any(t.governor is subject and t.relation == "conj" for t in tokens)
        found.append((verb, joined or subject.features["Number"] == "Plur", modal))
    return found


def test_verbs_agree_with_their_subjects_in_both_languages(sentences):
    stems = dict(entry[:2] for entry in entries("TRANSITIVE", "INTRANSITIVE", "DITRANSITIVE", "CLAUSAL"))
    across = 0
    for sentence in sentences:
        tokens = source.realise(sentence)
        expected = Counter()
        for verb, plural, modal in subject_numbers(tokens):
            tense = verb.features.get("Tense")
            if tense == "Pres":
                assert (verb.form == verb.lemma) == plural, source.text(tokens)
            if modal:
                expected[stems[verb.lemma] + "are"] += 1
            else:
                ending = {"Pres": ("it", "int"), "Past": ("ov", "oven")}[tense][plural]
                expected[stems[verb.lemma] + ending] += 1
            before = tokens[tokens.index(verb) - 1]
            across += before.features.get("Number", "Sing") != ("Plur" if plural else "Sing")
        translated = Counter(re.findall(r"\w+", target.translate(sentence)))
        assert not expected - translated, source.text(tokens)
    assert across > 20, "agreement across an intervening noun of the other number must be needed"


def test_every_name_is_transliterated(sentences):
    known = {*names("person"), *names("town")}
    used = 0
    for sentence in sentences:
        words = [token.form for token in source.realise(sentence) if token.universal == "PROPN"]
        translated = re.findall(r"\w+", target.translate(sentence))
        assert set(words) <= known
        for name in words:
            assert transliterate(name) in translated
        used += len(words)
    assert used > 100


def test_one_source_sentence_has_one_translation_and_one_tree(monkeypatch):
    # With one word per table, different trees meet in the same words as often as they can.
    monkeypatch.setattr(sample, "_zipf_weights", lambda count: (1.0,) * count)
    found, again = {}, 0
    for domain in (NEAR, FAR):
        for sentence in islice(Sampler(domain=domain, seed="ambiguous").sentences(), 6000):
            tokens = source.realise(sentence)
            tree = [{**vars(t), "governor": t.governor and tokens.index(t.governor)} for t in tokens]
            reading = (target.translate(sentence), tree)
            again += source.text(tokens) in found
            assert found.setdefault(source.text(tokens), reading) == reading
    assert again > 300


def test_no_word_form_is_shared_by_two_words():
    forms = Counter()
    for topic in TOPICS:
        for kind in ("persons", "animals", "things", "places"):
            for noun in lexicon.nouns(kind, topic):
                forms.update({noun.source(False), noun.source(True)})
        for kind in ("transitive", "intransitive", "ditransitive", "clausal"):
            for verb in lexicon.verbs(kind, topic):
                forms.update({verb.source("present", False), verb.source("present", True), verb.source("past", True)})
        for kind in ("adjectives", "adverbs"):
            forms.update(entry.word for entry in lexicon.plain(kind, topic))
    assert [form for form, count in forms.items() if count > 1] == []
    kinds = ("PERSONS", "ANIMALS", "THINGS", "PLACES", "TRANSITIVE", "INTRANSITIVE", "DITRANSITIVE", "CLAUSAL")
    stems = [stem for _, stem, _ in entries(*kinds, "ADJECTIVES", "ADVERBS")]
    assert len(set(stems)) == len(stems)


def test_names_are_a_long_tail():
    drawn = islice(Sampler(domain=NEAR, seed="tail").sentences(), 3000)
    counts = Counter(t.form for s in drawn for t in source.realise(s) if t.universal == "PROPN")
    once = sum(count == 1 for count in counts.values())
    assert once > len(counts) / 2
    assert counts.most_common(1)[0][1] > 25
