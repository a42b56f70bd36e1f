"""Attention maps are the ones the model uses; tokens know their places; observing has no effect."""

import pytest
import torch
from fairseq_models import write_release
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, write_lines
from headroom.data.labelled import LabelledText
from headroom.data.parallel import ParallelText, read_pairs
from headroom.models.classifier.engine import ClassificationEngine
from headroom.models.find_sites import attention_maps
from headroom.models.seq2seq.engine import Seq2SeqEngine
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.sites import pad_spans, shown_values
from headroom.preparation import released
from models import toy_text
from study import run_stage

FAMILIES = ("bert", "distilbert", "roberta", "electra", "deberta-v3", "deberta-v2")
ORDINARY = torch.tensor([[False, True, True, False], [True, False, False, False]])


@pytest.fixture(params=["translator", *FAMILIES])
def case(request):
    """A model that shows its maps, and a batch."""
    if request.param == "translator":
        path, texts = (request.getfixturevalue(name) for name in ("lively_checkpoint", "texts"))
        model = Seq2SeqModel.load(path, "cpu", "eager")
        return model, model.batches(*texts, sentences=5)[0]
    model = request.getfixturevalue("load")(request.param, "eager")
    return model, model.batches(toy_text(examples=6), examples=6)[0]


@torch.inference_mode()
def test_maps_times_values_are_z(case):
    model, batch = case
    maps, values, outputs = {}, {}, {}
    before = model.losses(batch)[0]
    with (
        attention_maps(model.live_sites, lambda site, weights: maps.update({site: weights})),
        shown_values(model.live_sites, lambda site, v: values.update({site: v})),
        model.gates.observed(lambda site, z: outputs.update({site: z})),
    ):
        during = model.losses(batch)[0]
    assert set(maps) == set(model.sites)
    for site, weights in maps.items():  # (B, H, T, S)
        z = torch.einsum("bhts,sbhd->tbhd", weights, values[site])
        real = model.real(batch)[site.kind][0]
        torch.testing.assert_close(z[real.T], outputs[site][real.T], rtol=1e-4, atol=1e-5)
        sums = weights.sum(-1).transpose(1, 2)[real]
        torch.testing.assert_close(sums, torch.ones_like(sums))
    maps.clear()
    after = model.losses(batch)[0]
    torch.testing.assert_close(before, during, rtol=1e-5, atol=1e-5)  # without weights another kernel computes them
    assert torch.equal(before, after)
    assert not maps


@torch.inference_mode()
def test_a_model_that_hides_its_weights_is_refused(load):
    model = load("bert", "sdpa")
    with (
        attention_maps(model.live_sites, lambda *_: None),
        pytest.raises(HeadroomError, match=r"BertSelfAttention: does not return attention weights \(site E1\)"),
    ):
        model.logits(model.batches(toy_text(examples=3), examples=3)[0])


@torch.inference_mode()
def test_a_site_without_heads_is_passed_over(load):
    model, seen = load("bert", "eager"), {}
    model.remove(frozenset([*model.sites[0].head_names(), model.sites[1].head_names()[2]]))
    with attention_maps(model.live_sites, lambda site, weights: seen.update({str(site): weights.shape[1]})):
        model.logits(model.batches(toy_text(examples=3), examples=3)[0])
    assert seen == {"E2": 3}


def test_places_stand_where_tokens_count():
    spans = pad_spans([[(0, 2), (3, 4)], [(1, 5)]], ORDINARY)
    assert spans.tolist() == [[[-1, -1], [0, 2], [3, 4], [-1, -1]], [[1, 5], [-1, -1], [-1, -1], [-1, -1]]]
    assert pad_spans([[], []], torch.zeros(2, 1, dtype=torch.bool)).tolist() == [[[-1, -1]]] * 2


def test_another_number_of_tokens_is_refused():
    with pytest.raises(HeadroomError, match="1 aligned tokens, but the model reads 2"):
        pad_spans([[(0, 2)], [(1, 5)]], ORDINARY)


def translating(toy):
    return Seq2SeqEngine(corpus=toy.corpus, device="cpu")


def texts_of(batch, row, text):
    """Return the text of the counting tokens of a row."""
    return [text[start:end] for start, end in batch.spans[row].tolist() if start >= 0]


class TestTranslation:
    @pytest.fixture
    def engine(self, toy):
        return translating(toy)

    def test_end_marks_begin_marks_and_padding_do_not_count(self, engine, toy, model):
        pairs = read_pairs(toy.corpus, "check", 5)
        (batch,) = engine.example_batches(model, ParallelText(pairs.source, pairs.target), 5)
        source, target = (
            [len(row) - 1 for row in rows] for rows in (model.words.read(pairs.source), model.words.write(pairs.target))
        )
        assert batch.spans is None
        for kind, queries, keys in (("E", source, source), ("A", target, source), ("D", target, target)):
            found = [positions.sum(1).tolist() for positions in batch.ordinary[kind]]
            assert found == [[lengths[position] for position in batch.positions] for lengths in (queries, keys)]
        assert not batch.ordinary["D"][0][:, 0].any(), "the decoder's first input is the end mark"
        for kind, queries, keys in (("E", source, source), ("A", target, source), ("D", target, target)):
            found = [positions.sum(1).tolist() for positions in batch.real[kind]]
            assert found == [[lengths[position] + 1 for position in batch.positions] for lengths in (queries, keys)]

    @torch.inference_mode()
    def test_sentences_run_the_encoder_alone_and_know_their_places(self, engine, toy):
        model = engine.load(str(toy.checkpoints[-1]), maps=True)
        lines = read_lines(toy.corpus / "check.source")[:7]
        batches = engine.sentence_batches(model, lines, 3)
        assert sorted(position for batch in batches for position in batch.positions) == list(range(7))
        for batch in batches:
            seen = set()
            batch.show(lambda site, _, seen=seen: seen.add(site.kind))
            assert seen == {"E"}
            for row, position in enumerate(batch.positions):
                assert "".join(texts_of(batch, row, lines[position])) == lines[position].replace(" ", "")

    def test_frequencies_are_those_of_the_training_text(self, engine, toy, model, tmp_path):
        counts = engine.frequencies(model)
        rows = model.words.read(read_lines(toy.corpus / "train.source"))
        tokens = [token for row in rows for token in row[:-1]]
        assert int(counts.sum()) == len(tokens)
        assert all(int(counts[token]) == tokens.count(token) for token in set(tokens[:50]))
        engine.corpus = tmp_path
        assert engine.frequencies(model) is None
        write_lines(tmp_path / "train.source", [])
        assert engine.frequencies(model) is None

    def test_fresh_weights_have_the_shape_and_are_none_of_the_checkpoint(self, engine, toy, model):
        before = torch.random.get_rng_state()
        one, two = (engine.load(str(toy.checkpoints[-1]), fresh=1) for _ in range(2))
        assert torch.equal(torch.random.get_rng_state(), before)
        weights = [each.model.state_dict() for each in (model, one, two)]
        assert {name: value.shape for name, value in weights[0].items()} == {
            name: value.shape for name, value in weights[1].items()
        }
        for name, value in weights[1].items():
            assert torch.equal(value, weights[2][name]), name
            if name.endswith("q_proj.weight"):
                assert not torch.allclose(value, weights[0][name]), name


class TestClassification:
    @pytest.fixture
    def engine(self, tmp_path):
        return ClassificationEngine(corpus=tmp_path, device="cpu")

    @torch.inference_mode()
    @pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v3"])
    def test_places_of_tokens_are_known_but_those_of_separators_padding_and_what_is_cut(self, engine, written, family):
        model = engine.load(str(written(family)), maps=True)
        text = LabelledText(["the dog", "a cat sees ÿ the child"], ["a cat", "the cat"], ["no", "yes"])
        batches = engine.example_batches(model, text, 2)
        counts = {
            position: int(batch.ordinary["E"][0][row].sum())
            for batch in batches
            for row, position in enumerate(batch.positions)
        }
        assert counts == {0: 4, 1: 8}  # unknown tokens count
        assert all(torch.equal(batch.real["E"][0], batch.tokens != model.tokenizer.pad_token_id) for batch in batches)

        lines = ["the dog sees", "a small cat.", "Dogs xq and the child"]
        for batch in engine.sentence_batches(model, lines, 2):
            seen = []
            batch.show(lambda site, weights, seen=seen: seen.append((site.kind, *weights.shape[:2])))
            assert seen == [("E", len(batch.positions), 4)] * 2
            for row, position in enumerate(batch.positions):
                assert "".join(texts_of(batch, row, lines[position])) == lines[position].replace(" ", "")

        line = " ".join(["dog"] * 60)
        (batch,) = engine.sentence_batches(model, [line], 1)
        assert len(texts_of(batch, 0, line)) == model.longest - 2

    def test_frequencies_are_those_of_both_sentences(self, engine, load, tmp_path):
        model = load()
        assert engine.frequencies(model) is None
        text = toy_text(examples=5)
        rows = zip(text.first, text.second, text.labels)
        write_lines(tmp_path / "train.tsv", ["sentence1\tsentence2\tlabel", *("\t".join(row) for row in rows)])
        counts = engine.frequencies(model)
        words = " ".join([*text.first, *text.second]).split()
        assert int(counts.sum()) == len(words)
        assert int(counts[model.tokenizer.convert_tokens_to_ids("dog")]) == words.count("dog")

    def test_fresh_weights_are_the_same_again_and_not_the_trained_ones(self, engine, written, load):
        one, two = (engine.load(str(written("bert")), fresh=1).model.state_dict() for _ in range(2))
        assert all(torch.equal(value, two[name]) for name, value in one.items())
        name = "bert.encoder.layer.0.attention.self.query.weight"
        assert not torch.equal(load().model.state_dict()[name], one[name])


def test_text_that_no_token_fits_is_refused(toy, model, monkeypatch):
    monkeypatch.setattr(model.tokenizer, "tokenize", lambda _: ["▁zzz", "qqq", "▁xyz"])
    with pytest.raises(HeadroomError, match="cannot be aligned"):
        translating(toy).sentence_batches(model, ["The dog sees a cat."], 1)


@torch.inference_mode()
def test_released_models_find_the_places_of_moses_tokens(tmp_path):
    release = write_release(tmp_path / "released")
    run_stage(released, ["--fairseq.path", str(release.directory), "--checkpoints", str(tmp_path)])
    model = Seq2SeqModel.load(tmp_path / "epoch1", "cpu")
    lines = [*release.text.source[:5], "The “well-known” dog doesn't  bark…"]
    spans = model.spans(lines)
    batches = [model.map_batch(batch, spans) for batch in model.sentence_batches(lines, 3)]
    for batch in batches:
        for row, position in enumerate(batch.positions):
            spans = [tuple(span) for span in batch.spans[row].tolist() if span[0] >= 0]
            assert spans == sorted(spans)
            covered = {place for start, end in spans for place in range(start, end)}
            assert covered == {place for place, letter in enumerate(lines[position]) if letter != " "}
