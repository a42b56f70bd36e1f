"""Subword pieces: SentencePiece, Moses tokens with byte-pair codes, WordPiece, and places of pieces in the text."""

import json
import os
import subprocess
import sys

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.providers.generated import generate_sets
from headroom.data.subwords import CODES, MosesPieces, Pieces, piece_spans, train_pieces
from headroom.settings.models import MosesSettings
from headroom.settings.parallel import GeneratedCorpus, VocabularySettings
from headroom.training.classifier.encoder import learn_wordpieces
from headroom.training.fairseq import library as _engine  # noqa: F401
from study import ROOT

from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig  # isort: skip
from fairseq.data.encoders.subword_nmt_bpe import SubwordNMTBPE, SubwordNMTBPEConfig  # isort: skip

FEW = ["the dog sleeps", "a cat waits"]


@pytest.fixture(scope="module")
def text():
    pairs = generate_sets(GeneratedCorpus(train=600, valid=2, test=100, far=100))
    return pairs["train"], pairs["far"]


@pytest.fixture(scope="module")
def model(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "sentencepiece.model"
    train_pieces(text[0].source + text[0].target, path, VocabularySettings(size=300))
    return path


def test_round_trip_gives_every_sentence_back(text, model):
    pieces = Pieces(model)
    for sentence in text[1].source + text[1].target:
        assert pieces.decode(pieces.encode(sentence)) == sentence
    lines = pieces.encode_lines(text[1].target)
    assert [pieces.decode(line.split(" ")) for line in lines] == text[1].target
    assert lines[0].split(" ") == pieces.encode(text[1].target[0])


def test_too_large_a_vocabulary_names_the_key_and_the_largest_size(tmp_path):
    path = tmp_path / "sentencepiece.model"
    for model_type in ("bpe", "unigram"):
        with pytest.raises(HeadroomError, match=r"vocabulary\.size: 900 tokens, .* at most (\d+);") as caught:
            train_pieces(FEW, path, VocabularySettings(size=900, model_type=model_type))
        assert list(tmp_path.iterdir()) == []
        largest = int(str(caught.value).rsplit(" ", 3)[-3])
        train_pieces(FEW, path, VocabularySettings(size=largest, model_type=model_type))
        path.unlink()


def test_word_pieces_of_the_same_text_have_the_same_numbers_in_every_process():
    """Hash maps of the library differ between processes, so this asks another one."""
    script = (
        "import json, sys; from headroom.training.classifier.encoder import learn_wordpieces; "
        "print(json.dumps(learn_wordpieces(json.load(sys.stdin), 150)))"
    )
    sentences = [f"{a}{b}{c}{a} {c}{b}" for a in "abcdef" for b in "ghijkl" for c in "mnopq"]  # ties everywhere
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    command, given = [sys.executable, "-c", script], json.dumps(sentences)
    found = subprocess.run(command, input=given, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    own = learn_wordpieces(sentences, 150)
    assert len(own) == 150
    assert json.loads(found.stdout) == own


PLAIN = MosesSettings(normalise=False)
ENGLISH = [
    "The man's well-known \"dog\" didn't bark at 5,300 cats [off] | <x> & co.",
    "He said: “It’s late” – or not… (really?)",
    "Mr. Smith, of the U.S., paid 3.50 dollars.",
]
FRENCH = [
    "L'homme n'a pas « vu » l’eau : c'est-à-dire, 5 000 € !",
    "Qu'est-ce que c'est ?",
    "Aujourd'hui, M. Dupont dort.",
]


@pytest.fixture
def codes(tmp_path):
    path = tmp_path / CODES
    path.write_text("#version: 0.2\nt h\nth e</w>\nth e\n@ -\n@- @</w>\n", "utf-8")
    return path


def tokens(pieces):
    """Return the tokens that pieces are cut from."""
    return (" ".join(pieces) + " ").replace("@@ ", "").strip()


def test_tokens_are_those_of_the_moses_scripts(codes):
    joined = PLAIN.model_copy(update={"split_hyphens": False})
    for language, sentence, settings, expected in (
        ("en", "It isn't a well-known dog's.", PLAIN, "It isn &apos;t a well @-@ known dog &apos;s ."),
        ("en", "a well-known dog", joined, "a well-known dog"),
        ("fr", "L'eau n'a pas [5,3] lu.", PLAIN, "L&apos; eau n&apos; a pas &#91; 5,3 &#93; lu ."),
        ("fr", "«\u00a0vu\u00a0»", MosesSettings(), "&quot; vu &quot;"),
        ("en", "“it’s–so…”", MosesSettings(), "&quot; it &apos;s @-@ so ... &quot;"),
        ("en", "“it’s", PLAIN, "“ it ’ s"),
        ("en", "a\u200bb\u0085c", MosesSettings(), "a b c"),
    ):
        assert tokens(MosesPieces(codes, language, settings).encode(sentence)) == expected


@pytest.mark.parametrize(("language", "sentences"), [("en", ENGLISH), ("fr", FRENCH)])
def test_fairseqs_own_encoders_agree(codes, language, sentences):
    """Those that `fairseq-interactive --tokenizer moses --bpe subword_nmt` uses."""
    moses = MosesTokenizer(MosesTokenizerConfig(source_lang=language, target_lang=language))
    bpe = SubwordNMTBPE(SubwordNMTBPEConfig(bpe_codes=str(codes)))
    pieces = MosesPieces(codes, language, PLAIN)
    for sentence in sentences:
        line = bpe.encode(moses.encode(sentence))
        assert pieces.encode_lines([sentence]) == [line]
        assert pieces.decode(line.split(" ")) == moses.decode(bpe.decode(line))
    for sentence in {"en": ENGLISH[2:], "fr": FRENCH[1:]}[language]:  # plain ones come back
        assert pieces.decode(pieces.encode(sentence)) == sentence


@pytest.mark.parametrize("kind", ["sentencepiece", "plain", "normalised"])
def test_lines_of_pieces_have_no_line_break_of_any_kind(codes, model, kind):
    settings = MosesSettings(normalise=kind == "normalised")
    pieces = Pieces(model) if kind == "sentencepiece" else MosesPieces(codes, "en", settings)
    for sentence in ("a\u0085b", "a\u2028b", "a\rb", "a\x0bb", "a\u3000b", "a\u200bb", "a\x1cb", "\u0085", "\xa0a"):
        line = pieces.encode_lines([sentence])[0]
        assert len(line.splitlines()) <= 1, repr(line)
        assert line.split() == [piece for piece in line.split(" ") if piece], repr(line)


PLACES = [
    (["▁The", "▁", "c", "at", "▁is▁out", "."], "The cat is out.",
     [(0, 3), (4, 4), (4, 5), (5, 7), (8, 14), (14, 15)]),
    (["▁a", "▁b"], " a \u00a0 b ", [(1, 2), (5, 6)]),
    (["▁x", "...", "▁fi", "sh"], "x… \ufb01sh", [(0, 1), (1, 2), (3, 4), (4, 6)]),
    (["a", "&@@", "quot@@", ";@@", "b"], "a ”b", [(0, 1), (2, 3), (2, 3), (2, 3), (3, 4)]),
    (["well", "@@@", "-@@", "@", "known"], "well-known", [(0, 4), (4, 5), (4, 5), (4, 5), (5, 10)]),
    (["&quot;", "why", "?", "&quot;"], "“why?”", [(0, 1), (1, 4), (4, 5), (5, 6)]),
    (["..."], "…", [(0, 1)]),
    (["-", "-"], "–", [(0, 1), (0, 1)]),
    (["▁a", "&quot;", "@-@"], "a&quot;@-@", [(0, 1), (1, 7), (7, 10)]),  # no escape to SentencePiece
    (["the", "&quot;", "well@@", "-@@", "known", "&quot;", "dog", "&apos;s", "ta@@", "il"],
     "the “well-known” dog's tail",
     [(0, 3), (4, 5), (5, 9), (9, 10), (10, 15), (15, 16), (17, 20), (20, 22), (23, 25), (25, 27)]),
]  # fmt: skip


def test_pieces_have_places_in_the_text():
    for pieces, text, expected in PLACES:
        assert piece_spans(pieces, text) == expected


def test_spans_of_real_vocabularies_cover_the_text_in_order(text, model, codes):
    for line in text[1].source:
        for subwords in (Pieces(model), MosesPieces(codes, "en", MosesSettings())):
            spans = piece_spans(subwords.encode(line), line)
            assert "".join(line[start:end] for start, end in spans) == line.replace(" ", "")
