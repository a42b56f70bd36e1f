"""Sweeps over language models: answers and losses are those of whole passes, for all units and replacements."""

from string import ascii_lowercase

import numpy
import pytest
import torch
from headroom.core.interventions import Intervention
from headroom.engines.hub.causal.judging import WindowSet
from headroom.engines.hub.causal.model import CausalModel
from headroom.engines.hub.causal.windows import Window, Windows
from models import build_small, letter_tokenizer, write_language_model
from oracles import drawn_replacements, of_every_form

LENGTHS = (9, 4, 7, 2, 9)
FAMILIES = ["gpt2", "gpt-neox", "llama", "qwen3", "cohere", "granite"]


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tmp_path_factory):
    made, tokenizer = build_small(request.param), letter_tokenizer(ascii_lowercase)
    made.config.pad_token_id = tokenizer.pad_token_id
    return CausalModel.load(write_language_model(tmp_path_factory.mktemp("model"), made, tokenizer), "cpu")


def windows():
    rows = [[3 + (5 * row + place * place) % 20 for place in range(length)] for row, length in enumerate(LENGTHS)]
    return Windows([Window(pieces, 1 + row % 2 * (len(pieces) > 4), "", 1) for row, pieces in enumerate(rows)])


@torch.inference_mode()
def judge_whole(model, one, replacements, batches):
    """Return the losses and next pieces of windows from whole logits."""
    answers, nats = {}, {}
    with model.gates.applied(one, replacements):
        for batch in batches:
            logits = model.model(**batch.inputs, use_cache=False).logits
            for row, place in enumerate(batch.positions):
                own = logits[row, :-1][batch.predicted[row, 1:]]
                wanted = batch.pieces[row, 1:][batch.predicted[row, 1:]]
                nats[place] = float(torch.nn.functional.cross_entropy(own, wanted, reduction="sum"))
                answers[place] = own.argmax(-1).tolist()
    return [[found[place] for place in range(len(LENGTHS))] for found in (answers, nats)]


@pytest.mark.parametrize("unit", ["head", "group"])
def test_sweeps_give_what_whole_passes_give(model, unit):
    judged = WindowSet(name="text", windows=windows(), windows_at_once=2, resamples=2, about="")
    full, replacements = judged.judge(model), drawn_replacements(model.live_sites)
    batches, units = judged.batches(model), model.units(unit)
    tried = [one for heads in units[:: len(units) // 4] for one in of_every_form(heads, model.sites)]
    tried += [Intervention(frozenset(heads), replacement="resample") for heads in units[::3]]
    for one in [*tried, *tried[::7]]:
        found = judged.judge_under(model, one, full, replacements)
        answers, nats = judge_whole(model, one, replacements, batches)
        assert found.answers == answers, one
        numpy.testing.assert_allclose(found.sample.statistics["loss"][:, 0], nats, rtol=1e-5)
        assert not numpy.allclose(nats, full.sample.statistics["loss"][:, 0], rtol=1e-4)
