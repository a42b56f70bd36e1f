"""Speed-up from slicing half of a BERT's heads, compared with the prediction of its multiply-adds (`make bench`).

The model has random weights (time does not depend on them) and the shape of bert-base or of a smaller one. Full, masked
and sliced model take turns on one batch; ratios are within a round, their median with its 95 % bootstrap interval.
"""

import argparse
import os
import tempfile

import torch
from headroom.core.heads import all_heads
from headroom.data.labelled import LabelledText
from headroom.engines.classification.model import ClassificationModel
from headroom.engines.classification.timing import ClassificationWorkload
from headroom.methods.orders import random_order, removed_first
from headroom.methods.timing import interleaved, ratio_summary
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--batch", type=int, default=64, help="examples")
    parser.add_argument("--length", type=int, default=128, help="pieces of every example")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as directory:
        write_encoder(directory, given)
        full, masked, sliced = (ClassificationModel.load(directory, "cpu") for _ in range(3))
    order = random_order(all_heads(full.sites), seed=0)
    gone = removed_first(order, len(order) // 2)
    masked.gates.mask(gone)
    sliced.remove(gone)
    text = LabelledText(["a " * given.length] * given.batch, None, full.labels[:1] * given.batch)
    (batch,) = full.batches(text, examples=given.batch)
    work = ClassificationWorkload(batch)
    models = {"full": full, "masked": masked, "sliced": sliced}
    with torch.inference_mode():
        actions = {name: work.action(model, "model") for name, model in models.items()}
        seconds = interleaved(actions, warmup=2, repeats=given.repeats)
        expected = work.multiply_adds(full, "model") / work.multiply_adds(sliced, "model")
    shape = f"{given.batch} x {work.shape['length']} pieces, {given.threads} threads, {given.repeats} repeats"
    print(f"BERT of {given.layers} x {given.heads} heads, width {given.width}; {shape}")
    for name in ("masked", "sliced"):
        speedup, low, high = ratio_summary(seconds["full"], seconds[name])
        print(f"  {name}: speed multiplied by {speedup:.3f} [{low:.3f}, {high:.3f}]")
    gained = (ratio_summary(seconds["full"], seconds["sliced"])[0] - 1) / (expected - 1)
    print(f"  predicted by multiply-adds: {expected:.3f}; {gained:.0%} of that gain is reached")


def write_encoder(directory: str, given: argparse.Namespace) -> None:
    """Write a random BERT with a tokenizer of one word."""
    words = BertWordPieceTokenizer()
    words.train_from_iterator(["a"], vocab_size=30, show_progress=False)
    tokenizer = BertTokenizerFast(tokenizer_object=words._tokenizer, model_max_length=given.length)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=given.width,
        num_hidden_layers=given.layers,
        num_attention_heads=given.heads,
        intermediate_size=4 * given.width,
    )
    BertForSequenceClassification(config).save_pretrained(directory)
    tokenizer.save_pretrained(directory)


if __name__ == "__main__":
    main()
