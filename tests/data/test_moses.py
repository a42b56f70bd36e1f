"""Moses tokens and byte-pair codes: by hand, against fairseq's own encoders, and every way in which files can fail."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.moses import CODES, MosesPieces, read_moses, write_moses
from headroom.data.pieces import Pieces, train_pieces
from headroom.data.subwords import load_subwords
from headroom.engines.translation import fairseq as _engine  # noqa: F401
from headroom.settings.models import MosesSettings
from headroom.settings.parallel import VocabularySettings

from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig  # isort: skip
from fairseq.data.encoders.subword_nmt_bpe import SubwordNMTBPE, SubwordNMTBPEConfig  # isort: skip

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


def test_codes_are_applied_in_their_order(codes):
    pieces = MosesPieces(codes, "en", PLAIN)
    assert pieces.encode("the them a-b") == ["the", "the@@", "m", "a", "@-@", "b"]
    assert pieces.encode_lines(["the b", ""]) == ["the b", ""]
    assert pieces.decode_line("the the@@ m a @-@ b") == "the them a-b"


@pytest.mark.parametrize(
    ("language", "sentence", "settings", "expected"),
    [
        ("en", "It isn't a well-known dog's.", PLAIN, "It isn &apos;t a well @-@ known dog &apos;s ."),
        ("en", "a well-known dog", PLAIN.model_copy(update={"split_hyphens": False}), "a well-known dog"),
        ("fr", "L'eau n'a pas [5,3] lu.", PLAIN, "L&apos; eau n&apos; a pas &#91; 5,3 &#93; lu ."),
        ("fr", "«\u00a0vu\u00a0»", MosesSettings(), "&quot; vu &quot;"),
        ("en", "“it’s–so…”", MosesSettings(), "&quot; it &apos;s @-@ so ... &quot;"),
        ("en", "“it’s", PLAIN, "“ it ’ s"),
        ("en", "a\u200bb\u0085c", MosesSettings(), "a b c"),
    ],
)
def test_tokens_are_those_of_the_moses_scripts(codes, language, sentence, settings, expected):
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
        assert pieces.decode_line(line) == moses.decode(bpe.decode(line))


@pytest.mark.parametrize(("language", "sentences"), [("en", ENGLISH[2:]), ("fr", FRENCH[1:])])
def test_plain_sentences_come_back(codes, language, sentences):
    pieces = MosesPieces(codes, language, MosesSettings())
    for sentence in sentences:
        assert pieces.decode(pieces.encode(sentence)) == sentence


@pytest.mark.parametrize("settings", [PLAIN, MosesSettings()], ids=["plain", "normalised"])
def test_lines_of_pieces_have_no_line_break_of_any_kind(codes, settings):
    for sentence in ("a\u0085b", "a\u2028b", "a\rb", "a\x0bb", "a\u3000b", "a\x1cb", "\u0085", "\xa0a"):
        line = MosesPieces(codes, "en", settings).encode_lines([sentence])[0]
        assert len(line.splitlines()) <= 1, repr(line)
        assert line.split() == [piece for piece in line.split(" ") if piece], repr(line)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "bpecodes is empty"),
        ("#version: 0.2\na b\nc\n", r"bpecodes, line 3: expected two subword units \('c'\)"),
        ("a b 12\n", r"bpecodes, line 1: expected two subword units"),
        ("#version: 9.1\na b\n", r"bpecodes, line 1: byte-pair codes of an unknown version"),
    ],
)
def test_what_are_no_codes_is_named(codes, content, message):
    codes.write_text(content)
    with pytest.raises(HeadroomError, match=message):
        MosesPieces(codes, "en", PLAIN)
    codes.unlink()
    with pytest.raises(HeadroomError, match="bpecodes"):
        MosesPieces(codes, "en", PLAIN)


def test_a_vocabulary_is_of_the_kind_of_its_files(codes, tmp_path):
    settings = MosesSettings(source_language="de", target_language="fr", normalise=False)
    write_moses(tmp_path, settings)
    assert read_moses(tmp_path) == settings
    source, target = load_subwords(tmp_path)
    assert tokens(source.encode("l'a")) == "l ' a".replace("'", "&apos;")
    assert tokens(target.encode("l'a")) == "l&apos; a"
    (tmp_path / "moses.json").write_text('{"source_language": 3}')
    with pytest.raises(HeadroomError, match=r"moses\.json is damaged"):
        load_subwords(tmp_path)


def test_a_vocabulary_without_moses_is_of_sentencepiece(tmp_path):
    train_pieces(["the dog sleeps", "a cat waits"], tmp_path / "sentencepiece.model", VocabularySettings(size=22))
    source, target = load_subwords(tmp_path)
    assert isinstance(source, Pieces)
    assert source is target
