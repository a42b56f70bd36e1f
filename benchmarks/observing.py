"""Cost of attention statistics: confidence and roles compared with forward passes with attention weights.

Needs the finished starter study. Both use the same 1,000 sentence pairs, teacher-forced, and the trees of their
sources, through the encoder, in the same batches: one only runs the model and computes attention weights at every
site; the other computes all measures of the stage `attention_stats`, including intervals. They are interleaved; the
median of the ratios is printed with its 95 % bootstrap interval.
"""

import argparse
from pathlib import Path

import torch
from headroom.data.parallel import ParallelText
from headroom.data.trees import read_trees
from headroom.engines.translation.engine import TranslationEngine, read_pairs
from headroom.methods.pointing import piece_pointing
from headroom.methods.syntax import relation_pointing
from headroom.methods.timing import interleaved, ratio_summary
from headroom.settings.functions import AttentionStatsSettings

SETS = ("choose", "check")
BAR = 2.0


def main() -> None:
    """Measure and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="starter", help="a finished study under results/")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = given.results / given.study
    given.corpus, given.vocabulary, given.device = (
        results / "translation/corpus",
        results / "translation/binarised",
        "cpu",
    )
    checkpoints = (results / "runs").glob("translation.baseline.seed*/epoch*.pt")
    given.checkpoint = sorted(checkpoints, key=lambda path: (len(path.name), path.name))[-1]
    measure(given)


def measure(given: argparse.Namespace) -> None:
    """Measure on all sentences of `SETS`."""
    settings, engine = AttentionStatsSettings(), TranslationEngine(given)
    model = engine.load(given.checkpoint, maps=True)
    pairs = [read_pairs(given.corpus, name) for name in SETS]
    examples = ParallelText(pairs[0].source + pairs[1].source, pairs[0].target + pairs[1].target)
    treebank = [sentence for name in SETS for sentence in read_trees(given.corpus / f"{name}.conllu")]
    heads = {live.site: live.kept_heads() for live in model.live_sites}
    batches = engine.example_batches(model, examples, settings.batch_examples)
    frequencies = engine.frequencies(model)

    sentences = engine.sentence_batches(model, examples.source, settings.batch_examples)

    @torch.inference_mode()
    def forward() -> None:
        for batch in (*batches, *sentences):
            batch.show(lambda *_: None)

    def observe() -> None:
        piece_pointing(batches, heads, frequencies=frequencies, frequent=settings.frequent_tokens, resamples=1000)
        relation_pointing(sentences, treebank, heads, relations=settings.relations, resamples=1000)

    seconds = interleaved({"observe": observe, "forward": forward}, warmup=2, repeats=given.repeats)
    median, low, high = ratio_summary(seconds["observe"], seconds["forward"])
    print(f"confidence and roles of {len(examples)} sentences / forward passes with attention weights: ", end="")
    print(f"{median:.2f} [{low:.2f}, {high:.2f}] (median of {given.repeats}, bar {BAR:g})")


if __name__ == "__main__":
    main()
