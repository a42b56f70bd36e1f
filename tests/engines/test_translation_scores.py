"""Statistics per sentence add up to sacrebleu's scores, cached or not."""

import numpy
import pytest
from headroom.engines.translation_scores import ReferenceSet
from sacrebleu.metrics import BLEU, CHRF

REFERENCES = ["the cat sat on the mat .", "a dog , it barks !", "", "naïve „quotes“ 3.5 %", "one two three four five"]
SYSTEMS = {
    "equal": REFERENCES,
    "close": ["the cat sat on a mat .", "a dog it barks !", "", "naive quotes 3.5 %", "one two three four"],
    "empty": [""] * 5,
    "other": ["x y z"] * 5,
    "partly": ["the cat sat on the mat .", "", "something", "3.5 %", "five four three two one"],
}


def scores(references, hypotheses):
    return references.sample(hypotheses, numpy.arange(1.0, 6.0), numpy.full(5, 2.0)).scores()


@pytest.mark.parametrize("name", SYSTEMS)
def test_scores_are_sacrebleus(name):
    found = scores(ReferenceSet(REFERENCES), SYSTEMS[name])
    assert found["bleu"] == pytest.approx(BLEU().corpus_score(SYSTEMS[name], [REFERENCES]).score, abs=1e-9)
    assert found["chrf"] == pytest.approx(CHRF().corpus_score(SYSTEMS[name], [REFERENCES]).score, abs=1e-9)


def test_exact_sentences_and_loss_by_hand():
    found = scores(ReferenceSet(REFERENCES), SYSTEMS["partly"])
    assert found["exact"] == pytest.approx(20)  # the first alone
    assert found["loss"] == pytest.approx((1 + 2 + 3 + 4 + 5) / 10)
