"""Texts longer than a model of transformers reads are cut as before, and counted."""

import pytest
from headroom.data.labelled import LabelledText
from headroom.data.parallel import ParallelText
from headroom.engines.hub.classifier.judging import LabelledSet
from headroom.engines.hub.seq2seq.judging import Seq2SeqSet
from headroom.settings.answers import DecodingSettings
from models import SOURCES, TARGETS, load_translator, write_translator


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v3"])
@pytest.mark.parametrize("pairs", [False, True])
def test_examples_of_a_classifier(load, family, pairs):
    model = load(family)
    word = "dog "
    first = [word * 3, word * (model.longest + 5), word * (model.longest // 2 + 2)]
    second = [word, word, word * (model.longest // 2)] if pairs else None
    text = LabelledText(first, second, [model.labels[0], model.labels[1], model.labels[0]])
    judged = LabelledSet(name="test", text=text, metrics=["accuracy"], examples_at_once=7, resamples=5)
    batches = judged.batches(model)
    assert max(batch.pieces.shape[1] for batch in batches) == model.longest
    assert judged.cut == (2 if pairs else 1)
    assert f"|cut:{judged.cut}|" in judged.signature("accuracy")


@pytest.mark.parametrize("family", ["marian", "t5", "nllb"])
def test_pairs_of_a_translation_model(tmp_path, family, caplog):
    model = load_translator(write_translator(tmp_path / family, family))
    sources, targets = [*SOURCES], [*TARGETS]
    plain = Seq2SeqSet(name="test", pairs=ParallelText(sources, targets), settings=DecodingSettings(), resamples=5)
    plain.batches(model)
    assert plain.cut == 0
    assert not caplog.text
    sources[0] = " ".join([sources[0]] * model.longest)
    targets[1] = " ".join([targets[1]] * model.longest)
    judged = Seq2SeqSet(name="test", pairs=ParallelText(sources, targets), settings=DecodingSettings(), resamples=5)
    assert max(batch.source.shape[1] for batch in judged.batches(model)) <= model.longest
    assert judged.cut == 2
    assert "|cut:2|" in judged.signature("bleu")
    assert "set test: 2 examples exceed the positions of the model and are cut" in caplog.text
