"""Scores on halves: of gradients the examples of a half alone, of ablation the metric of a half alone."""

import pytest
from headroom.core.heads import all_heads
from headroom.core.interventions import Intervention
from headroom.data.parallel import ParallelText
from headroom.engines.translation.judging import TranslatedSet
from headroom.methods.criteria.gradient import gradient_scores
from headroom.methods.judging import Judge
from headroom.settings.experiments import DecodingSettings
from headroom.stages.ablation import effects_on_halves

LIMITS = DecodingSettings(length_factor=0, length_offset=8)


def every_second(texts, start):
    return [side[start::2] for side in texts]


@pytest.mark.parametrize("half", [0, 1])
def test_gradients_of_a_half_are_those_of_its_examples_alone(lively, texts, half):
    batches = lively.batches(*texts, sentences=5)
    alone = lively.batches(*every_second(texts, half), sentences=5)
    found, expected = gradient_scores(lively, batches, half=half), gradient_scores(lively, alone)
    for criterion in ("gradient-token", "gradient-example", "gradient-squared"):
        for head, value in expected[criterion].items():
            assert found[criterion][head] == pytest.approx(value, rel=1e-4)


def test_ablation_of_a_half_is_that_of_its_examples_alone(lively, texts):
    heads = all_heads(lively.sites)[:3]

    def judge(sources, references):
        judged = TranslatedSet(name="choose", pairs=ParallelText(sources, references), settings=LIMITS, resamples=2)
        return Judge(lively, judged)

    found = {(row["head"], row["half"]): row["value"] for row in effects_on_halves(judge(*texts), heads)}
    assert len(found) == 6
    for start, half in enumerate(("choose", "score")):
        alone = judge(*every_second(texts, start))
        for head in heads:
            without = alone.outcome(Intervention.without(head)).scores["bleu"]
            assert found[head.head, half] == pytest.approx(alone.full.scores["bleu"] - without, abs=1e-6)
    assert any(found.values())
