"""Cost of a sweep over all heads of a BERT, compared with as many forward passes over the set (`make bench`).

The model has random weights (time does not depend on them); sentences have the lengths of English text. Every
intervention, with its metrics and resamples, takes turns with a forward pass of the plain model.
"""

import argparse
import tempfile

import numpy
import torch
from headroom.core.heads import Head, all_heads
from headroom.core.interventions import Intervention
from headroom.data.labelled import LabelledText
from headroom.engines.classification.judging import LabelledSet
from headroom.engines.classification.model import ClassificationModel
from headroom.methods.judging import Judge
from headroom.methods.timing import interleaved, ratio_summary
from sliced_encoder import write_encoder


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=64, help="examples")
    parser.add_argument("--length", type=int, default=60, help="pieces of the longest sentences")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as directory:
        write_encoder(directory, given)
        model = ClassificationModel.load(directory, "cpu")
    text = sentences(given, model.labels)
    judged = LabelledSet(name="test", text=text, metrics=["accuracy"], examples_at_once=given.batch, resamples=1000)
    judge = Judge(model, judged)
    _ = judge.full
    batches = judged.batches(model)
    passes: list[float] = []
    own: dict[Head, float] = {}

    @torch.inference_mode()
    def forward_pass() -> None:
        for batch in batches:
            model.logits(batch)

    for head in all_heads(model.sites):
        actions = {"own": lambda head=head: list(judge.compared(Intervention.without(head))), "pass": forward_pass}
        seconds = interleaved(actions, warmup=0, repeats=1)  # an intervention is evaluated once
        own[head] = seconds["own"][0]
        passes += seconds["pass"]
    pieces = sum(int(batch.inputs["attention_mask"].sum()) for batch in batches)
    size = f"{len(judged.text)} sentences, {pieces} pieces, {given.threads} threads"
    print(f"BERT of {given.layers} x {given.heads} heads, width {given.width}; {size}")
    print(f"sweep over {len(own)} heads / as many forward passes: {sum(own.values()) / sum(passes):.3f}")
    for site in model.sites:
        mine = [place for place, head in enumerate(own) if head in site.head_names()]
        ratio, low, high = ratio_summary([[*own.values()][place] for place in mine], [passes[place] for place in mine])
        print(f"  a head of layer {site.layer}: {ratio:.3f} [{low:.3f}, {high:.3f}] of a pass (median of {len(mine)})")


def sentences(given: argparse.Namespace, labels: list[str]) -> LabelledText:
    """Return sentences whose lengths in pieces are log-normal with median 20, as in English text."""
    drawn = numpy.random.default_rng(0).lognormal(numpy.log(20), 0.5, given.sentences)
    lengths = drawn.round().clip(1, given.length - 2).astype(int)
    gold = [labels[place % len(labels)] for place in range(given.sentences)]
    return LabelledText(["a " * length for length in lengths], None, gold)


if __name__ == "__main__":
    main()
