"""A census of types of models: what is found in each, in which of its layers, and why not more."""

import pytest
from headroom.families import FamiliesJob, run
from headroom.models.census import take_census

CAUSAL, CLASSIFIER = "AutoModelForCausalLM", "AutoModelForSequenceClassification"
EXPECTED = [
    # layers that share keys and values, keys that are values, gated outputs, hybrids, latent attention, sinks
    (CAUSAL, "gemma4_text", "exact", "1, 2, 3, 4, 5, 6 of 6", ""),
    (CAUSAL, "qwen3_next", "exact", "4 of 4", ""),
    (CAUSAL, "falcon_h1", "exact", "1, 2 of 2", ""),
    (CAUSAL, "lfm2", "exact", None, ""),
    (CAUSAL, "deepseek_v3", "exact", "1, 2 of 2", ""),
    (CAUSAL, "gpt_oss", "exact", "1, 2 of 2", ""),
    (CAUSAL, "mamba", "refused", "", "no module in it has projections"),
    (CAUSAL, "olmo2", "gates", "1, 2 of 2", "normalised over all heads"),
    (CAUSAL, "bert", "exact", "1, 2 of 2", ""),
    (CLASSIFIER, "qwen2", "exact", "1, 2 of 2", ""),
    (CLASSIFIER, "xlnet", "refused", "", "one parameter"),
    ("AutoModelForSeq2SeqLM", "t5", "exact", "1, 2 of 2", ""),
    ("AutoModelForMaskedLM", "modernbert", "exact", None, ""),
]


@pytest.mark.long
@pytest.mark.parametrize(("task", "name", "found", "layers", "reason"), EXPECTED)
def test_what_is_found_in_a_type(task, name, found, layers, reason):
    (verdict,) = take_census(task, [name])
    assert (verdict.type, verdict.found) == (name, found), verdict
    assert layers in (None, verdict.layers)
    assert reason in verdict.reason


def test_verdicts_are_printed(capsys):
    run(FamiliesJob(types=("distilbert",)))
    assert capsys.readouterr().out.count("| distilbert | exact | 1, 2 of 2 |  |") == 2
