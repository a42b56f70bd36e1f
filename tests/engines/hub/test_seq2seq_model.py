"""Encoder-decoders of transformers: losses, translations and pieces are those of the library, in any batch."""

from itertools import chain

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import all_heads, parse_profile
from headroom.engines.hub.seq2seq.batches import IGNORED
from headroom.engines.hub.seq2seq.text import set_languages
from headroom.preparation import released
from headroom.settings.answers import DecodingSettings
from models import SOURCES, TARGETS, TRANSLATORS, load_translator, write_translator

SHORT = DecodingSettings(length_factor=0.5, length_offset=4)
LEFT = "E1:1 E2:1 E2:2 E2:3 E2:4 A2:3 D1:1 D1:2 D1:3 D1:4"
GIVEN = {"bart": 1, "nllb": 1, "m2m100": 1}
"""The number of given pieces with which the labels of a family begin."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function from a family to its directory; read-only."""
    place = tmp_path_factory.mktemp("translators")

    def write(family):
        return place / family if (place / family).exists() else write_translator(place / family, family)

    return write


@pytest.fixture(scope="module", params=TRANSLATORS)
def translator(request, written):
    """A model of a family; its heads are not removed."""
    return load_translator(written(request.param))


def family_of(translator):
    return translator.tokenizer.name_or_path.rsplit("/", 1)[-1]


def as_in_the_library(translator):
    """Return the inputs that a user of transformers gives to the model, with labels."""
    prefix = "see: " if family_of(translator) == "t5" else ""
    tokenizer = translator.tokenizer
    inputs = tokenizer([prefix + text for text in SOURCES], padding=True, return_tensors="pt", padding_side="right")
    labels = tokenizer(text_target=TARGETS)["input_ids"]
    longest = max(map(len, labels))
    padded = torch.tensor([[*row, *[IGNORED] * (longest - len(row))] for row in labels])
    return {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}, padded


@torch.no_grad()
def test_losses_are_those_of_the_library(translator):
    (batch,) = translator.batches(SOURCES, TARGETS, sentences=4)
    inputs, labels = as_in_the_library(translator)
    logits = translator.model(**inputs, labels=labels).logits
    nats = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    nats[:, : GIVEN.get(family_of(translator), 0)] = 0
    counts = (labels != IGNORED).sum(1) - GIVEN.get(family_of(translator), 0)
    if family_of(translator) == "mbart":  # the code of the language follows the end mark
        nats[torch.arange(4), counts - 1] = 0
        counts -= 1
    losses, targets = translator.losses(batch)
    torch.testing.assert_close(losses, nats.sum(1)[batch.positions], rtol=1e-5, atol=1e-5)
    assert targets.tolist() == counts[batch.positions].tolist()


def test_translations_are_those_of_the_library(translator):
    batches = translator.batches(SOURCES, sentences=2)
    begin = translator.words.begin
    inputs, _ = as_in_the_library(translator)
    for beam in (1, 3):
        found = translator.translate_pieces(batches, DecodingSettings(length_factor=0, length_offset=50), beam=beam)
        output = translator.model.generate(
            **inputs,
            decoder_start_token_id=begin[0],
            forced_bos_token_id=begin[1] if len(begin) > 1 else None,
            num_beams=beam,
            early_stopping=beam > 1,
            max_new_tokens=50 + len(begin),
        )
        for row, mine in zip(output[:, len(begin) :].tolist(), found):
            # a translation that is cut has a last piece that the library chooses without a limit
            assert row[: len(mine)][:-1] == mine[:-1]
            assert len(mine) == 50 or row[len(mine)] == translator.words.end


def test_batches_change_no_answer(translator):
    whole = dict(zip(SOURCES, zip(TARGETS, translator.translate(translator.batches(SOURCES, sentences=4), SHORT))))
    losses = {}
    for sentences, order in ((1, 1), (3, 1), (4, -1)):
        batches = translator.batches(SOURCES[::order], TARGETS[::order], sentences=sentences)
        assert sorted(chain.from_iterable(batch.positions for batch in batches)) == [0, 1, 2, 3]
        found = translator.translate(batches, SHORT)
        assert dict(zip(SOURCES[::order], zip(TARGETS[::order], found))) == whole
        nats = {
            SOURCES[::order][place]: value
            for batch in batches
            for place, value in zip(batch.positions, translator.losses(batch)[0].tolist())
        }
        losses = losses or nats
        assert nats == pytest.approx(losses, rel=1e-6)


@pytest.mark.parametrize("family", TRANSLATORS)
def test_a_saved_model_is_complete(written, tmp_path, family):
    """Codes of languages, the prefix, marks, forbidden pieces and uneven heads survive."""
    translator = load_translator(written(family))
    batches = translator.batches(SOURCES, TARGETS, sentences=4)
    for removed in ("", LEFT):
        translator.remove(parse_profile(removed, translator.sites))
        translator.save(tmp_path / "saved")
        again = load_translator(tmp_path / "saved")
        assert (again.removed, again.words.begin) == (translator.removed, translator.words.begin)
        assert again.forbidden == translator.forbidden
        for one, other in zip(batches, again.batches(SOURCES, TARGETS, sentences=4)):
            assert torch.equal(one.source, other.source)
            torch.testing.assert_close(translator.losses(one)[0], again.losses(other)[0], rtol=1e-6, atol=1e-6)
        assert again.translate_pieces(batches, SHORT, beam=2) == translator.translate_pieces(batches, SHORT, beam=2)


def test_every_site_is_found_and_every_head_matters(translator):
    assert [str(site) for site in translator.sites] == ["E1", "E2", "A1", "A2", "D1", "D2"]
    (batch,) = translator.batches(SOURCES, TARGETS, sentences=4)
    plain = translator.logits(batch)[batch.read]
    for head in all_heads(translator.sites):
        with translator.gates.masked([head]):
            assert (translator.logits(batch)[batch.read] - plain).abs().max() > 1e-3, head


@pytest.mark.parametrize("beam", [1, 3])
def test_no_translation_is_empty_or_longer_than_its_limit(translator, beam):
    batches = translator.batches(SOURCES, sentences=3)
    found = translator.translate_pieces(batches, SHORT, beam=beam)
    for batch in batches:
        limits = translator.limits(batch, SHORT).tolist()
        for place, limit in zip(batch.positions, limits):
            assert 1 <= len(found[place]) <= limit == int(batch.lengths[batch.positions.index(place)] * 0.5) + 4
            assert not {*found[place]} & {translator.words.end, translator.tokenizer.pad_token_id}


def test_spans_are_those_of_the_pieces_that_count(translator):
    sentences = ["the old dog", "one green tree sees birds near the house"]
    for batch in translator.sentence_batches(sentences, 1):
        (place,) = batch.positions
        ordinary = translator.ordinary(batch)["E"][0]
        pieces = translator.tokenizer.convert_ids_to_tokens(batch.source[ordinary].tolist())
        spans = translator.spans(sentences)[place]
        assert [sentences[place][start:end] for start, end in spans] == [piece.strip("▁") for piece in pieces]


@pytest.mark.parametrize(
    ("family", "codes", "message"),
    [
        ("nllb", {"target_code": "deu_Latn"}, "source_code: missing"),
        ("nllb", {"source_code": "eng_Latn", "target_code": "de"}, "target_code: .* no code de"),
        ("m2m100", {"source_code": "en", "target_code": "xx"}, "target_code: .* no code xx"),
        ("marian", {"source_code": "en"}, "source_code: .* no codes of languages"),
    ],
)
def test_codes_of_languages_are_checked(written, family, codes, message):
    with pytest.raises(HeadroomError, match=message):
        set_languages(load_translator(written(family)).tokenizer, **codes)


def test_a_released_model_is_imported_with_its_languages(written, tmp_path):
    codes = ["--source-code", "fra_Latn", "--target-code", "eng_Latn", "--prefix", "one "]
    place = ["--path", str(written("nllb")), "--checkpoint", str(tmp_path / "epoch1")]
    released.main(["--engine", "seq2seq", *place, *codes])
    found = load_translator(tmp_path / "epoch1")
    find = found.tokenizer.convert_tokens_to_ids
    (row,) = found.words.read(["two"])
    assert row == find(["fra_Latn", "▁one", "▁two", "</s>"])
    assert found.words.begin == find(["</s>", "eng_Latn"])
