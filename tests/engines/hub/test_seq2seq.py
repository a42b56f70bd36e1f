"""Encoder-decoders of transformers: translations and tokens are those of the library, reused or not."""

import random

import numpy
import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.core.heads import parse_profile
from headroom.core.interventions import Intervention
from headroom.data.parallel import ParallelText
from headroom.models import translation_scores
from headroom.models.engine import AGAIN
from headroom.models.readout import Reading
from headroom.models.seq2seq import judging
from headroom.models.seq2seq.decoding import attend
from headroom.models.seq2seq.judging import Seq2SeqSet, Verifier
from headroom.models.seq2seq.text import set_languages
from headroom.models.seq2seq.timing import workload
from headroom.models.translation_scores import ReferenceSet, metric_signature
from headroom.preparation import released
from headroom.settings.answers import DecodingSettings
from models import SOURCES, TARGETS, TRANSLATORS, load_translator, write_translator
from oracles import drawn_replacements, of_profiles
from sacrebleu.metrics import BLEU, CHRF
from study import run_stage
from torch import nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

SHORT = DecodingSettings(length_factor=0.5, length_offset=4)
PROFILES = ["E1:1", "E2:4", "A1:1 A1:2 A1:3 A1:4", "A2:3", "D1:2", "D2:1 E2:4", "D2:1 D2:2 D2:3 D2:4"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function from a family to its directory; read-only."""
    place = tmp_path_factory.mktemp("translators")

    def write(family):
        return place / family if (place / family).exists() else write_translator(place / family, family)

    return write


@pytest.fixture(scope="module")
def loaded(written):
    """Return a function from a family to a model, whose heads are not removed."""
    known = {}

    def load(family):
        if family not in known:
            known[family] = load_translator(written(family))
        return known[family]

    return load


@pytest.fixture(params=TRANSLATORS)
def translator(request, loaded):
    return loaded(request.param)


@pytest.fixture(params=["marian", "nllb", "t5"])
def judged_model(request, loaded):
    """A model whose marks differ from those of the others."""
    return loaded(request.param)


def test_translations_are_those_of_the_library(translator):
    batches, begin = translator.batches(SOURCES, sentences=2), translator.words.begin
    prefix = "see: " if translator.tokenizer.name_or_path.endswith("t5") else ""
    texts = [prefix + text for text in SOURCES]
    inputs = translator.tokenizer(texts, padding=True, return_tensors="pt", padding_side="right")
    for beam in (1, 3):
        found = translator.translate_tokens(batches, DecodingSettings(length_factor=0, length_offset=50), beam=beam)
        output = translator.model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            decoder_start_token_id=begin[0],
            forced_bos_token_id=begin[1] if len(begin) > 1 else None,
            num_beams=beam,
            early_stopping=beam > 1,
            max_new_tokens=50 + len(begin),
        )
        for row, mine in zip(output[:, len(begin) :].tolist(), found):
            # a translation that is cut has a last token that the library chooses without a limit
            assert row[: len(mine)][:-1] == mine[:-1]
            assert len(mine) == 50 or row[len(mine)] == translator.words.end


@pytest.mark.parametrize("keys", [8, 13, 15, 16, 30])
def test_keys_that_fill_registers_are_not_attended_to(keys):
    module, options = nn.Module(), {"scaling": 0.5, "dropout": 0.0}
    query, key, value = torch.randn(3, 2, 2, keys, 4, generator=torch.Generator().manual_seed(1))
    for causal, mask in ((True, None), (False, None), (False, torch.arange(keys).lt(5).expand(2, 1, keys, keys))):
        module.is_causal = causal
        mine, theirs = (one(module, query, key, value, mask, **options)[0] for one in (attend, sdpa_attention_forward))
        torch.testing.assert_close(mine, theirs)


def test_no_translation_is_empty_or_longer_than_its_limit(translator):
    batches = translator.batches(SOURCES, sentences=3)
    for beam in (1, 3):
        found = translator.translate_tokens(batches, SHORT, beam=beam)
        for batch in batches:
            limits = translator.limits(batch, SHORT).tolist()
            for place, limit in zip(batch.positions, limits):
                assert 1 <= len(found[place]) <= limit == int(batch.lengths[batch.positions.index(place)] * 0.5) + 4
                assert not {*found[place]} & {translator.words.end, translator.tokenizer.pad_token_id}


def test_spans_are_those_of_the_tokens_that_count(translator):
    sentences = ["the old dog", "one green tree sees birds near the house"]
    for batch in translator.sentence_batches(sentences, 1):
        (place,) = batch.positions
        ordinary = translator.ordinary(batch)["E"][0]
        tokens = translator.tokenizer.convert_ids_to_tokens(batch.source[ordinary].tolist())
        spans = translator.spans(sentences)[place]
        assert [sentences[place][start:end] for start, end in spans] == [token.strip("▁") for token in tokens]


def test_codes_of_languages_are_checked(loaded):
    rows = [
        ("nllb", {"target_code": "deu_Latn"}, "source_code: missing"),
        ("nllb", {"source_code": "eng_Latn", "target_code": "de"}, "target_code: .* no code de"),
        ("m2m100", {"source_code": "en", "target_code": "xx"}, "target_code: .* no code xx"),
        ("marian", {"source_code": "en"}, "source_code: .* no codes of languages"),
    ]
    for family, codes, message in rows:
        with pytest.raises(HeadroomError, match=message):
            set_languages(loaded(family).tokenizer, **codes)


def test_a_released_model_is_imported_with_its_languages(written, tmp_path):
    codes = ["--source-code", "fra_Latn", "--target-code", "eng_Latn", "--prefix", "one "]
    place = ["--released.path", str(written("nllb")), "--checkpoints", str(tmp_path)]
    run_stage(released, ["--engine", "seq2seq", *place, *codes])
    found = load_translator(tmp_path / "epoch1")
    find = found.tokenizer.convert_tokens_to_ids
    (row,) = found.words.read(["two"])
    assert row == find(["fra_Latn", "▁one", "▁two", "</s>"])
    assert found.words.begin == find(["</s>", "eng_Latn"])


def sentences(*, at_once=3):
    short = DecodingSettings(length_factor=0, length_offset=6, sentences_at_once=at_once)
    pairs = ParallelText([*SOURCES, *SOURCES[:2]], [*TARGETS, *TARGETS[1:3]])
    return Seq2SeqSet(name="check", pairs=pairs, settings=short, resamples=5)


def test_few_rows_at_a_time_change_no_answer(judged_model, monkeypatch):
    monkeypatch.setitem(judging.ROWS, "cpu", 2)
    judged, whole, replacements = sentences(), sentences(), drawn_replacements(judged_model.live_sites)
    full = judged.judge(judged_model)
    for one in list(of_profiles(PROFILES, judged_model.sites))[::4]:
        found = judged.judge_under(judged_model, one, full, replacements)
        with judged_model.gates.applied(one, replacements):
            expected = whole.judge(judged_model)
        assert found.answers == expected.answers, one
        losses = (outcome.sample.statistics["loss"][:, 0] for outcome in (found, expected))
        numpy.testing.assert_allclose(*losses, rtol=1e-5)


def test_candidates_give_the_tokens_of_all_logits(judged_model, monkeypatch):
    (batch,) = sentences(at_once=6).batches(judged_model)
    places = batch.taught[1].ge(0)
    (known,) = judged_model.find_candidates([(batch, places)], 2**20)
    assert judged_model.find_candidates([(batch, places)], known.size - 1) == []
    searched, parts = [], Reading.parts
    monkeypatch.setattr(Reading, "parts", lambda own, rows: searched.append(len(rows)) or parts(own, rows))
    with torch.inference_mode():
        judged_model.best_tokens(batch, places, known)
        assert sum(searched) < 0.2 * places.sum()
        for profile in PROFILES:
            with judged_model.gates.applied(Intervention(parse_profile(profile, judged_model.sites))):
                best = judged_model.best_tokens(batch, places)
                assert judged_model.best_tokens(batch, places, known).tolist() == best.tolist()


def test_sentences_generated_again_are_counted_and_differences_found(judged_model, monkeypatch):
    monkeypatch.setattr(translation_scores, "EVERY", 1)
    judged, one = sentences(), Intervention(parse_profile("E1:1 A1:2", judged_model.sites))
    full = judged.judge(judged_model)
    found = judged.judge_under(judged_model, one, full, None)
    assert found.sample.statistics[AGAIN].tolist() == [[1.0, 0.0]] * 6
    monkeypatch.setattr(Verifier, "find_changes", lambda *_: {})  # a shortcut that sees no change
    blind = judged.judge_under(judged_model, one, full, None)
    wrong = [float(row != other) for row, other in zip(found.answers, full.answers)]
    assert blind.sample.statistics[AGAIN][:, 1].tolist() == wrong
    assert any(wrong)


@torch.inference_mode()
def test_translations_are_continued_from_beginnings_of_any_length(judged_model):
    (batch,) = judged_model.batches(SOURCES, sentences=4)
    limits = torch.full((4,), 6)
    whole = judged_model.generate(batch, limits)
    assert max(map(len, whole)) > 2
    for known in ([row[:1] for row in whole], [row[: number % 3] for number, row in enumerate(whole)]):
        assert judged_model.generate(batch, limits, known=known) == whole
    begun = [[other] for other in (7, 8, 9, 10)]
    continued = judged_model.generate(batch, limits, known=begun)
    assert [row[:1] for row in continued] == begun
    taught = judged_model.teach(batch, [[*row, judged_model.words.end] for row in continued])
    places = torch.arange(taught.target.shape[1]) - len(judged_model.words.begin) + 1
    free = taught.target.ge(0) & (places > 0) & (places < 6)
    assert judged_model.best_tokens(taught, free).tolist() == taught.target[free].tolist()


def test_final_scores_search_with_a_beam(loaded):
    judged, model = sentences(), loaded("marian")
    outcome, search, signature = judged.judge_finally(model)
    assert search == "beam5"
    assert signature("loss").endswith("beam:5|lenpen:1.0")
    assert outcome.answers == model.translate_tokens(judged.batches(model), judged.settings, beam=5)


@pytest.mark.parametrize("family", ["marian", "t5", "nllb"])
def test_pairs_longer_than_the_model_reads_are_cut_and_counted(loaded, family, caplog):
    model, sources, targets = loaded(family), [*SOURCES], [*TARGETS]
    plain = Seq2SeqSet(name="test", pairs=ParallelText(sources, targets), settings=DecodingSettings(), resamples=5)
    plain.batches(model)
    assert plain.cut == 0
    assert "are cut" not in caplog.text
    sources[0] = " ".join([sources[0]] * model.longest)
    targets[1] = " ".join([targets[1]] * model.longest)
    judged = Seq2SeqSet(name="test", pairs=ParallelText(sources, targets), settings=DecodingSettings(), resamples=5)
    assert max(batch.source.shape[1] for batch in judged.batches(model)) <= model.longest
    assert judged.cut == 2
    assert "|cut:2|" in judged.signature("bleu")
    assert "set test: 2 examples exceed the positions of the model and are cut" in caplog.text


@torch.inference_mode()
def test_timed_generation_runs_all_steps(loaded):
    translator = loaded("bart")
    work = workload(translator, ParallelText(SOURCES, TARGETS), 3)
    output = work.action(translator, "generation")()
    assert output.shape[1] == 1 + work.shape["steps"]
    rows, source, steps = *work.batch.source.shape, work.batch.taught[0].shape[1]
    widths = {live.site.kind: len(live.kept) * live.head_width for live in translator.live_sites}
    layers = sum(site.kind == "D" for site in translator.sites)
    expected = layers * rows * (widths["D"] * steps + widths["A"] * source) * 2 * 4  # keys and values, float32
    assert work.cache_bytes(translator, "generation") == expected
    assert work.cache_bytes(translator, "encoder") is None
    with pytest.raises(HeadroomError, match="exceeds the 4 examples"):
        workload(translator, ParallelText(SOURCES, TARGETS), 5)


WORDS = ["the", "old", "red", "house", "a", "small", "dog", "sees", "many", "birds", "near", "that", "tree", "one"]
LINES = 160


class TestShiftedText:
    """Released translation models are refused for text that is shifted by a line, before any other job."""

    @pytest.fixture(scope="class")
    def pairs(self, loaded):
        """Sources, and what the model itself makes of them: with random weights, too, it expects them there."""
        draw, model = random.Random(1), loaded("bart")
        sources = [" ".join(draw.choices(WORDS, k=draw.randint(8, 14))) for _ in range(LINES)]
        batches = model.batches(sources, sentences=8)
        tokens = model.translate_tokens(batches, DecodingSettings(length_factor=0.5, length_offset=6))
        return sources, model.texts(tokens)

    @pytest.fixture
    def imported(self, written, tmp_path):
        """Return a function that imports the model with a corpus, whose lines choose and check in turn."""

        def run(sources, targets, *flags):
            for name, lines in {"choose": slice(0, None, 2), "check": slice(1, None, 2), "test": slice(None)}.items():
                write_lines(tmp_path / f"corpus/{name}.source", sources[lines])
                write_lines(tmp_path / f"corpus/{name}.target", targets[lines])
            given = [
                "--engine",
                "seq2seq",
                "--released.path",
                str(written("bart")),
                "--corpus",
                str(tmp_path / "corpus"),
            ]
            run_stage(released, [*given, "--checkpoints", str(tmp_path / "run"), *flags])
            return (tmp_path / "run/epoch1/config.json").is_file()

        return run

    def test_own_lines_are_imported_without_a_word_and_others_with_a_warning(self, imported, pairs, caplog):
        sources, targets = pairs
        assert imported(*pairs)
        assert "neighbouring" not in caplog.text
        assert imported(sources, targets[7:] + targets[:7])
        assert "about as many as by chance" in caplog.text

    def test_text_that_is_shifted_by_a_line_is_refused(self, imported, pairs, tmp_path):
        sources, targets = pairs
        message = r"of \d+ pairs of neighbouring lines of valid \d+ have likelier"
        for lines in (1, -1):
            shifted = targets[lines:] + targets[:lines]
            with pytest.raises(HeadroomError, match=message) as raised:
                imported(sources, shifted)
            assert str(raised.value).count("\n") == 1
            assert not (tmp_path / "run").exists()
        assert imported(sources, shifted, "--below-chance")


REFERENCES = ["the cat sat on the mat .", "a dog , it barks !", "", "naïve „quotes“ 3.5 %", "one two three four five"]
SYSTEMS = [
    REFERENCES,
    ["the cat sat on a mat .", "a dog it barks !", "", "naive quotes 3.5 %", "one two three four"],
    [""] * 5,
    ["x y z"] * 5,
    ["the cat sat on the mat .", "", "something", "3.5 %", "five four three two one"],
    ["", "", "", "", "one t"],  # one sequence of four characters, none of five
]


@pytest.mark.parametrize(
    ("references", "words", "right"),
    [
        (["我昨天在图书馆看了一本关于历史的书。"], "zh", 70),
        (["昨日は図書館で歴史の本を読みました。"], "char", 70),
        (["เมื่อวานฉันอ่านหนังสือประวัติศาสตร์ที่ห้องสมุด"], "char", 70),
        (["어제 도서관에서 역사에 관한 책을 읽었습니다 ."], "13a", 0),
        (["Gestern las ich in der Bibliothek 一 Buch ."], "13a", 0),
    ],
)
def test_words_of_bleu_are_those_of_the_references(references, words, right):
    """One wrong character of text without spaces is one error, not a wrong sentence; the signature says it."""
    hypotheses = [references[0].replace(references[0][3], "x", 1)]
    found = ReferenceSet(references).sample(hypotheses, numpy.ones(1), numpy.ones(1)).scores()
    assert found["bleu"] == BLEU(tokenize=words).corpus_score(hypotheses, [references]).score
    assert found["bleu"] > right
    assert f"tok:{words}" in metric_signature("bleu", words)


def test_scores_of_translations_are_sacrebleus():
    for system in SYSTEMS:
        found = ReferenceSet(REFERENCES).sample(system, numpy.arange(1.0, 6.0), numpy.full(5, 2.0)).scores()
        assert found["bleu"] == pytest.approx(BLEU().corpus_score(system, [REFERENCES]).score, abs=1e-9)
        assert found["chrf"] == pytest.approx(CHRF().corpus_score(system, [REFERENCES]).score, abs=1e-9)
    assert found["exact"] == pytest.approx(20)  # the first alone
    assert found["loss"] == pytest.approx((1 + 2 + 3 + 4 + 5) / 10)
