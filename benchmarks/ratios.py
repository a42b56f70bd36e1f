"""Guaranteed costs, each as a ratio within one run: `make bench`.

Needs the finished starter study. Pairs are interleaved; the median of the ratios is printed with its
95 % bootstrap interval and the number of repeats.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from headroom.core.heads import all_heads
from headroom.core.interventions import Intervention
from headroom.data.parallel import read_pairs
from headroom.methods.costs import ratio_summary, time_interleaved
from headroom.methods.criteria.gradient import gradient_scores
from headroom.methods.judging import Judge
from headroom.models.seq2seq.judging import Seq2SeqSet
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.settings.answers import DecodingSettings


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="starter", help="a finished study under results/")
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = Path("results") / given.study
    checkpoints = (results / "runs").glob("translation.baseline.seed*/epoch*")
    checkpoint = sorted(checkpoints, key=lambda path: (len(path.name), path.name))[-1]
    model = Seq2SeqModel.load(checkpoint, "cpu")
    scoring(model, results, given.repeats)
    ablating(model, results)


def scoring(model: Seq2SeqModel, results: Path, repeats: int) -> None:
    """Compare one pass of gradient scores, all granularities, with an ordinary forward-backward pass."""
    chosen = judged_set(results, "choose", resamples=1)
    batches = model.batches(chosen.sources, chosen.references.references, sentences=32)

    def ordinary() -> None:
        for batch in batches:
            model.model.zero_grad()
            model.losses(batch)[0].sum().backward()

    def with_parameters(action: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            model.model.requires_grad_(True)
            action()
            model.model.requires_grad_(False)

        return run

    seconds = time_interleaved(
        {"scores": lambda: gradient_scores(model, batches), "ordinary": with_parameters(ordinary)},
        warmup=2,
        repeats=repeats,
    )
    show("gradient scores / forward-backward", *ratio_summary(seconds["scores"], seconds["ordinary"]), repeats)


def judged_set(results: Path, name: str, *, resamples: int) -> Seq2SeqSet:
    """Return an evaluation set of the study."""
    pairs = read_pairs(results / "translation" / "corpus", name)
    return Seq2SeqSet(name=name, pairs=pairs, settings=DecodingSettings(), resamples=resamples)


def ablating(model: Seq2SeqModel, results: Path) -> None:
    """Compare the ablation of all heads with as many plain decodes of the same set."""
    test = judged_set(results, "test", resamples=1000)
    heads = all_heads(model.sites)
    judge = Judge(model, test)
    _ = judge.full
    batches = model.batches(test.sources, sentences=test.settings.sentences_at_once)
    ablations, decodes = [], []
    for head in heads:
        decodes.append(_seconds(lambda: model.translate(batches, test.settings)))
        ablations.append(_seconds(lambda head=head: list(judge.compared(Intervention.without(head)))))
    total = sum(ablations) / sum(decodes)
    print(f"ablation of {len(heads)} heads with losses, metrics and tests / as many plain decodes: {total:.2f}")
    show("  per head", *ratio_summary(ablations, decodes), len(heads))


def show(name: str, median: float, low: float, high: float, repeats: int) -> None:
    """Print one ratio."""
    print(f"{name}: {median:.2f} [{low:.2f}, {high:.2f}] (median of {repeats})")


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
