"""The timed work of encoder-decoders: multiply-adds agree with torch's own count, generation does not stop early."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.data.parallel import ParallelText
from headroom.engines.hub.seq2seq.timing import PARTS, workload
from models import SOURCES, TARGETS, load_translator, write_translator
from torch.utils.flop_counter import FlopCounterMode

TEXT = ParallelText(SOURCES, TARGETS)


def counted(action):
    """Return the multiply-adds of all matrix products of a call."""
    with FlopCounterMode(display=False) as counter:
        action()
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("family", ["marian", "t5"])
@torch.inference_mode()
def test_multiply_adds_are_those_that_torch_counts(tmp_path, family):
    """Attention step by step is made of plain matrix products."""
    translator = load_translator(write_translator(tmp_path / family, family), attention="eager")
    for removed in ("", "E1:1 A1:1 A1:2 D1:1 D1:2 D1:3 D1:4 D2:2"):
        translator.remove(parse_profile(removed, translator.sites))
        work = workload(translator, TEXT, 2)
        for part in PARTS:
            assert work.multiply_adds(translator, part) == counted(work.action(translator, part)), (removed, part)


@torch.inference_mode()
def test_generation_runs_all_steps(tmp_path):
    translator = load_translator(write_translator(tmp_path / "bart", "bart"))
    work = workload(translator, TEXT, 3)
    output = work.action(translator, "generation")()
    assert output.shape[1] == 1 + work.shape["steps"]
    rows, source, steps = *work.batch.source.shape, work.batch.taught[0].shape[1]
    widths = {live.site.kind: len(live.kept) * live.head_width for live in translator.live_sites}
    layers = sum(site.kind == "D" for site in translator.sites)
    expected = layers * rows * (widths["D"] * steps + widths["A"] * source) * 2 * 4  # keys and values, float32
    assert work.cache_bytes(translator, "generation") == expected
    assert work.cache_bytes(translator, "encoder") is None
    with pytest.raises(HeadroomError, match="exceeds the 4 examples"):
        workload(translator, TEXT, 5)
