"""Decoders with hand-set weights, one for each mechanism: the head that carries the task is found, at its layer.

A text is a topic, a flag, and two questions with their answers: `A X ? a ! x`. All heads attend to all tokens before
alike. In the last layer with attention a head answers the first question, another one disturbs it by the flag, so that
weak topics are answered wrongly, and two answer the second question; one of them is enough. All others write nothing.
"""

from itertools import product

import headroom
import pytest
import torch
import transformers
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.methods.judging import Judge
from headroom.models.census import shrink
from headroom.models.find_sites import find_sites
from models import letter_tokenizer

TOPIC, FLAG, ANY, ANSWER, FLAG_ANSWER, ASKED, ASKED_FLAG, AFTER_TOPIC, AFTER_FLAG, AFTER_ANSWER = range(10)
"""Features of the states; the last ones say what comes next."""

WORDS = {"A": 1.0, "B": -1.0, "C": 0.4, "D": -0.4}
TEXTS = [
    f"{topic} {flag} ? {'a' if WORDS[topic] > 0 else 'b'} ! {flag.lower()}" for topic, flag in product("ABABABCD", "XY")
]
TOKENS = [*WORDS, "X", "Y", "?", "!", "a", "b", "x", "y"]
ALTERNATING = {"num_hidden_layers": 4, "layer_types": ["linear_attention", "full_attention"] * 2}
SLIDING = {"num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"]}
MECHANISMS = {
    "llama": ({}, 2),
    "gemma3_text": (SLIDING, 2),
    "gemma4_text": ({**SLIDING, "attention_k_eq_v": True, "num_kv_shared_layers": 0}, 2),
    "qwen3_next": (ALTERNATING, 4),
    "qwen3_5_text": (ALTERNATING, 4),
    "granitemoehybrid": ({**ALTERNATING, "num_local_experts": 0}, 4),
    "falcon_h1": ({}, 2),
    "lfm2": ({"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2}, 4),
    "deepseek_v3": ({"num_key_value_heads": 4}, 2),
    "gpt_oss": (SLIDING, 2),
}
"""By type of a model: what its configuration says, and its last layer with attention."""


def hand_set(kind, said):
    """Return a model and the heads by their part."""
    family = transformers.CONFIG_MAPPING[kind]
    tokenizer = letter_tokenizer(TOKENS)
    made = shrink(family, {**said, "tie_word_embeddings": False, "vocab_size": len(tokenizer), "pad_token_id": 0})
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(made).eval().requires_grad_(False)
    for name, weights in model.named_parameters():
        if weights.dim() > 1 and "norm" not in name:
            weights.zero_()
    places = dict(zip(TOKENS, tokenizer.convert_tokens_to_ids(TOKENS)))
    read, written = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    read[4:, ANY] = 1.0  # the check at load reads unknown tokens, in which heads have nothing to read
    for word, strength in WORDS.items():
        read[places[word], TOPIC] = strength
    read[places["X"], FLAG], read[places["Y"], FLAG] = 1.0, -1.0
    for mark, words, following in (
        (AFTER_TOPIC, "ABCD", "XY"),
        (AFTER_FLAG, "XY", "?"),
        (ASKED, "?", "ab"),
        (AFTER_ANSWER, "ab", "!"),
        (ASKED_FLAG, "!", "xy"),
    ):
        read[[places[word] for word in words], mark] = 1.0
        written[[places[word] for word in following], mark] = 50.0
    for feature, yes, no in ((ANSWER, "a", "b"), (FLAG_ANSWER, "x", "y")):
        written[places[yes], feature], written[places[no], feature] = 1.0, -1.0
    sites = find_sites(model)
    last = sites[-1]
    _read_topic_and_flag(last)
    parts = dict(zip(("one", "answers", "disturbs", "other"), last.kept_heads()))
    _write(last, parts["answers"], TOPIC, ANSWER, 1.0)
    _write(last, parts["disturbs"], FLAG, ANSWER, 0.75)
    _write(last, parts["one"], FLAG, FLAG_ANSWER, 1.0)
    _write(last, parts["other"], FLAG, FLAG_ANSWER, 1.0)
    return headroom.load(model, tokenizer, "cpu"), parts


def _read_topic_and_flag(live):
    """Let the first features of the values of every head be topic and flag, and a constant, as some normalise them."""
    value = live.attention.get_submodule(live.values)
    if hasattr(live.attention, "kv_a_proj_with_mqa"):  # latent states are the first features
        live.attention.kv_a_proj_with_mqa.weight[:3, :3] = torch.eye(3)
    own = [int(row) for row in live.split_values(torch.arange(len(value.weight)).float())[:, :3].flatten()]
    for place, row in enumerate(own):
        value.weight[row, place % 3] = 1.0


def _write(live, head, feature, to, strength):
    """Let a head write a feature of its values to one of the states."""
    live.output_weight[to, live.kept.index(head.head) * live.head_width + feature] = 4.0 * strength


@pytest.mark.parametrize("kind", MECHANISMS)
def test_heads_are_found_by_what_they_do(kind):
    said, layer = MECHANISMS[kind]
    model, parts = hand_set(kind, said)
    assert parts["answers"] == Head("D", layer, 2)
    rows = headroom.ablate(model, TEXTS).query("metric == 'next'")
    deltas = {Head(*key): delta for *key, delta in rows[["kind", "layer", "head", "delta"]].itertuples(index=False)}
    answers, disturbs = deltas.pop(parts["answers"]), deltas.pop(parts["disturbs"])
    assert answers < 0 < disturbs
    assert {*deltas.values()} == {0}  # each of the two that answer by the flag, too
    judge = Judge(model, headroom.api.make_set(model, TEXTS))
    both = judge.outcome(Intervention.without(parts["one"], parts["other"])).scores["next"]
    assert both < judge.full.scores["next"]
    score = headroom.score(model, TEXTS, "backward-elimination").set_index("name")["score"]
    kept = {*score.sort_values().index[-2:]}  # removed last
    assert str(parts["answers"]) in kept
    assert kept & {str(parts["one"]), str(parts["other"])}
