"""The same work by headroom and by what people use instead, side by side: `python benchmarks/peers.py`.

Makes an environment of its own with TransformerLens and captum beside the libraries of this one. Models have random
weights and the sizes of GPT-2, BERT and OPUS-MT. All programs of a comparison work on the same model, text and heads;
their numbers are compared, and they are timed in turns on one thread. Medians of ratios have 95 % bootstrap intervals.
Memory is the largest that a program takes beyond what was loaded. What a sweep does once for all heads and all text, a
check on two examples that states can be reused, is not timed.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

PEERS = ("transformer-lens>=4.3,<5", "captum>=0.9,<1")
INSIDE = "HEADROOM_PEERS"
TOLERANCE = 1e-4
"""The largest difference of a number from headroom's, as a share of the largest number."""

HEADS = 6
"""Heads of a sweep that is timed."""

STEPS = 16
"""Points of an integral."""

Program = Callable[[], Sequence[float]]
"""Computes a number for every head."""


def main() -> None:
    """Compare, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", type=Path, default=Path("work/peers"), help="where it is made")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--windows", type=int, default=4, help="of 128 tokens, of the decoder")
    parser.add_argument("--sentences", type=int, default=64, help="of 24 words, of the encoder-decoder")
    parser.add_argument("--only", nargs="+", choices=list(COMPARISONS), default=list(COMPARISONS))
    given = parser.parse_args()
    enter_environment(given.environment.absolute())
    import torch

    torch.set_num_threads(1)
    for name in given.only:
        COMPARISONS[name](name, given)


def enter_environment(place: Path) -> None:
    """Run this program again in an environment with the peers, which is made if it is not there."""
    if INSIDE in os.environ:
        return
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True, clear=True)
        own = sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)})
        package = Path(__file__).parents[1] / "workflow"
        Path(own, "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n{package}\n")
        lock = Path(__file__).parents[1] / "envs" / "workflow.txt"
        subprocess.run([python, "-m", "pip", "install", "-qq", "-c", lock, *PEERS], check=True)
        (place / "ready").touch()
    os.execve(python, [str(python), *sys.argv], os.environ | {INSIDE: "1", "HF_HUB_OFFLINE": "1"})


def compare(what: str, own: Program, others: Mapping[str, Program], repeats: int) -> None:
    """Compare the numbers of programs, time them in turns, and print ratios of the others' costs to our own."""
    values = show_costs(what, own, others, repeats)
    largest = max(map(abs, values["headroom"]))
    for name, found in values.items():
        difference = max(abs(one - other) for one, other in zip(found, values["headroom"], strict=True)) / largest
        assert difference <= TOLERANCE, f"{what}: {name} differs by {difference:g}"


def show_costs(
    what: str, own: Callable[[], Any], others: Mapping[str, Callable[[], Any]], repeats: int
) -> dict[str, Any]:
    """Run programs in turns, print ratios of the others' time and memory to our own, and return what all compute."""
    from headroom.methods.costs import ratio_summary

    programs = {"headroom": own, **others}
    measured = {name: measure_memory(program) for name, program in programs.items()}
    memory = {name: size for name, (_, size) in measured.items()}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(repeats):
        for name in programs if turn % 2 else reversed(programs):
            start = time.process_time()  # on one thread: other work on the machine does not count
            programs[name]()
            seconds[name].append(time.process_time() - start)
    for name in others:
        median, low, high = ratio_summary(seconds[name], seconds["headroom"])
        print(
            f"{what}: {name} / headroom: time {median:.2f} [{low:.2f}, {high:.2f}] ({repeats} rounds), "
            f"memory {memory[name] / memory['headroom']:.2f} ({memory['headroom'] / 2**20:.0f} MiB of headroom)",
            flush=True,
        )
    return {name: value for name, (value, _) in measured.items()}


def measure_memory(program: Callable[[], Any]) -> tuple[Any, int]:
    """Return what a program computes in a process of its own, and the most bytes it takes beyond its start."""
    read, write = os.pipe()
    if not (child := os.fork()):
        Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far
        before = read_size("VmRSS")
        value = program()
        with os.fdopen(write, "w") as stream:
            json.dump([value, read_size("VmHWM") - before], stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        value, size = json.load(stream)
    os.waitpid(child, 0)
    return value, size


def read_size(name: str) -> int:
    """Return a size of this process in bytes, by its name in `/proc/self/status`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@contextmanager
def written(model: Any) -> Iterator[str]:
    """Write a model in the Hub's format, with a tokenizer of as many words, in a temporary directory."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    marks = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = [*marks, *(f"w{number}" for number in range(model.config.vocab_size - len(marks)))]
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(vocabulary)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    named = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), marks, strict=True))
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=512, **named).save_pretrained(place)
        yield place


def draw_texts(count: int, words: int, size: int, seed: int = 0) -> list[str]:
    """Return texts of random words."""
    import torch

    drawn = torch.randint(0, size - 4, (count, words), generator=torch.Generator().manual_seed(seed))
    return [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]


def choose_heads(model: Any) -> list[Any]:
    """Return `HEADS` heads of sites at even distances: every depth has its share, as in a sweep over all heads."""
    from headroom.core.heads import Head

    places = [int((place + 0.5) * len(model.sites) / HEADS) for place in range(HEADS)]
    return [Head(site.kind, site.layer, 1 + place % site.heads) for place in places for site in [model.sites[place]]]


def sweep(model: Any, judged: Any) -> list[float]:
    """Return the loss on a set without each of the chosen heads, as a study computes it."""
    from headroom.core.interventions import Intervention

    every = map(Intervention.without, choose_heads(model))
    return [judged.judge_under(model, one, None, None).scores["loss"] for one in every]


def prepare(model: Any, judged: Any, full: Any = None) -> None:
    """Let a set check once that states of a model can be reused."""
    from headroom.core.interventions import Intervention

    judged.judge_under(model, Intervention.without(choose_heads(model)[-1]), full, None)


def run_plainly(model: Any, judge: Callable[[], Any]) -> list[Any]:
    """Return what is judged without each of the chosen heads, in whole passes: z of a head is set to 0 by a hook."""
    import torch

    found = []
    live_sites = {(live.site.kind, live.site.layer): live for live in model.live_sites}
    for head in choose_heads(model):
        live = live_sites[head.kind, head.layer]
        columns = slice((head.head - 1) * live.head_width, head.head * live.head_width)

        def silence(_: Any, inputs: Any, columns: slice = columns) -> Any:
            z = inputs[0].clone()
            z[..., columns] = 0
            return (z, *inputs[1:])

        handle = live.output.register_forward_pre_hook(silence)
        with torch.inference_mode():
            found.append(judge())
        handle.remove()
    return found


def mean_loss(losses: Iterator[tuple[Any, Any]]) -> float:
    """Return the mean loss of logits with their targets, whole, as of transformers; -100 is no target."""
    import torch

    total, count = 0.0, 0
    for logits, target in losses:
        lost = torch.nn.functional.cross_entropy(logits.flatten(0, -2), target.flatten(), reduction="none")
        total, count = total + float(lost.double().sum()), count + int(target.ge(0).sum())
    return total / count


def load_decoder(count: int) -> tuple[Any, Any, Any]:
    """Return a decoder of 12 x 12 heads and width 768, windows of 128 tokens as a set, and it in TransformerLens."""
    import torch
    from headroom.models.causal.judging import WindowSet
    from headroom.models.causal.model import CausalModel
    from headroom.models.causal.windows import Window, Windows
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(bos_token_id=0, eos_token_id=2, pad_token_id=1)
    with written(GPT2LMHeadModel(config)) as place:
        model = CausalModel.load(place, "cpu", "sdpa")
        peer = TransformerBridge.boot_transformers(place, device="cpu", dtype=torch.float32)
    drawn = torch.randint(4, config.vocab_size, (count, 128), generator=torch.Generator().manual_seed(0))
    windows = Windows([Window(row, 1, "", 1) for row in drawn.tolist()])
    return model, WindowSet(name="text", windows=windows, windows_at_once=4, resamples=2, about=""), peer


def compare_decoder(name: str, given: argparse.Namespace) -> None:
    """Compare the losses of windows without heads, with TransformerLens and with whole passes."""
    import torch

    model, judged, peer = load_decoder(given.windows)
    batches = judged.batches(model)

    def read() -> float:
        return mean_loss((model.model(batch.tokens).logits[:, :-1], batch.target) for batch in batches)

    def hook() -> list[float]:
        found = []
        with torch.inference_mode():
            for head in choose_heads(model):

                def silence(z: Any, hook: Any, number: int = head.head - 1) -> Any:  # noqa: ARG001
                    z[:, :, number] = 0
                    return z

                hooks = [(f"blocks.{head.layer - 1}.attn.hook_z", silence)]
                run = partial(peer.run_with_hooks, fwd_hooks=hooks, return_type="loss", loss_per_token=True)
                losses = torch.cat([run(batch.tokens) for batch in batches])
                found.append(float(losses.double().mean()))
        return found

    others = {"TransformerLens": hook, "whole passes": partial(run_plainly, model, read)}
    prepare(model, judged)
    compare(name, partial(sweep, model, judged), others, given.repeats)


def load_encoder(attention: str, count: int, words: int) -> tuple[Any, Any]:
    """Return a classifier of BERT's size, and texts as a set."""
    import torch
    from headroom.data.labelled import LabelledText
    from headroom.models.classifier.judging import LabelledSet
    from headroom.models.classifier.model import ClassificationModel
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    with written(BertForSequenceClassification(BertConfig(pad_token_id=1))) as place:
        model = ClassificationModel.load(place, "cpu", attention)
    labels = [model.labels[place % 2] for place in range(count)]
    text = LabelledText(draw_texts(count, words, model.model.config.vocab_size), None, labels)
    return model, LabelledSet(name="text", text=text, metrics=["accuracy"], examples_at_once=16, resamples=2)


def compare_encoder(name: str, given: argparse.Namespace) -> None:
    """Compare the losses of a classifier of BERT's size without heads with whole passes."""
    model, judged = load_encoder("sdpa", 16, 32)
    batches = judged.batches(model)

    def read() -> float:
        return mean_loss((model.model(**batch.inputs).logits, batch.labels) for batch in batches)

    prepare(model, judged)
    compare(name, partial(sweep, model, judged), {"whole passes": partial(run_plainly, model, read)}, given.repeats)


def compare_translation(name: str, given: argparse.Namespace) -> None:
    """Compare losses and answers of an encoder-decoder of OPUS-MT's size without heads with whole passes."""
    import torch
    from headroom.core.interventions import Intervention
    from headroom.data.parallel import ParallelText
    from headroom.models.reusing import PlainStates
    from headroom.models.seq2seq.judging import Seq2SeqSet
    from headroom.models.seq2seq.model import Seq2SeqModel
    from headroom.settings.answers import DecodingSettings
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(0)
    sides = {f"{side}_{what}": size for side in ("encoder", "decoder") for what, size in MARIAN.items()}
    marks = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "forced_eos_token_id": None}
    config = MarianConfig(vocab_size=58101, d_model=512, activation_function="swish", **marks, **sides)
    drawn = MarianMTModel(config)
    with torch.no_grad():
        for path, weight in drawn.named_parameters():
            if "out_proj" in path:
                weight.mul_(ATTENTION)
    with written(drawn) as place:
        model = Seq2SeqModel.load(place, "cpu", "sdpa")
    pairs = ParallelText(*(draw_texts(given.sentences, 24, config.vocab_size, seed) for seed in (0, 1)))
    settings = DecodingSettings(length_factor=0, length_offset=24, sentences_at_once=32)
    judged = Seq2SeqSet(name="text", pairs=pairs, settings=settings, resamples=2)
    batches, full = judged.batches(model), judged.judge(model)
    prepare(model, judged, full=full)
    with torch.inference_mode():
        states = PlainStates(model, batches)

    def lose() -> list[float]:
        found = []
        with torch.inference_mode():
            for head in choose_heads(model):
                with model.gates.applied(Intervention.without(head)):
                    losses = [states.run(number, model.losses) for number in range(len(batches))]
                nats, count = (sum(float(one[part].double().sum()) for one in losses) for part in (0, 1))
                found.append(nats / count)
        return found

    def read() -> float:
        return mean_loss((model.logits(batch), batch.taught[1]) for batch in batches)

    compare(f"{name}, losses", lose, {"whole passes": partial(run_plainly, model, read)}, given.repeats)

    def answer() -> list[Any]:
        every = map(Intervention.without, choose_heads(model))
        return [judged.translate_under(model, one, full, None).tokens for one in every]

    generate = partial(run_plainly, model, lambda: model.translate_tokens(batches, settings))
    found = show_costs(f"{name}, answers", answer, {"generation": generate}, given.repeats)
    both = [pair for rows in zip(*found.values(), strict=True) for pair in zip(*rows, strict=True)]
    changed = sum(one not in full.answers for one, _ in both)
    different = sum(one != other for one, other in both)  # ties within rounding errors
    print(f"{name}: {changed} of {len(both)} translations change, {different} differ from plain ones", flush=True)
    assert different <= len(both) / 100


MARIAN = {"layers": 6, "attention_heads": 8, "ffn_dim": 2048}
"""Each side of OPUS-MT."""

ATTENTION = 0.045
"""Factor of random output weights of attention, with which removing a head changes a sixth of the translations. With
weights as they are drawn it changes nearly all or none."""


def compare_gradients(name: str, given: argparse.Namespace) -> None:
    """Compare the costs of gradient scores of all heads with those of a forward and a backward pass of transformers."""
    from headroom.methods.criteria.gradient import gradient_scores
    from transformers import GPT2LMHeadModel

    model, judged, _ = load_decoder(given.windows)
    batches, plain = judged.batches(model), GPT2LMHeadModel(model.model.config).eval()

    def ordinary() -> None:
        for batch in batches:
            plain.zero_grad()
            plain(**batch.inputs, labels=batch.tokens, use_cache=False).loss.backward()

    def score() -> None:
        gradient_scores(model, batches)

    show_costs(name, score, {"forward and backward pass": ordinary}, given.repeats)


def compare_integral(name: str, given: argparse.Namespace) -> None:
    """Compare integrated gradients over the gates of the decoder with captum's, of as many points."""
    import torch
    from captum.attr import IntegratedGradients
    from headroom.core.heads import all_heads
    from headroom.methods.criteria.integrated_gradients import score_by_integrated_gradients
    from headroom.methods.masked_losses import set_gates

    model, judged, _ = load_decoder(2)
    (batch,), heads = judged.batches(model), all_heads(model.sites)

    def own() -> list[float]:
        found = score_by_integrated_gradients(model, [batch], steps=STEPS, complete=float("inf"))
        return [found["integrated-gradients"][head] for head in heads]

    def lose(gates: Any) -> Any:
        with set_gates(model, gates[0].double(), heads):
            return model.losses(batch)[0].sum()[None] / len(batch.positions)

    def captum() -> list[float]:
        points = {"n_steps": STEPS + 1, "method": "riemann_trapezoid", "internal_batch_size": 1}
        found = -IntegratedGradients(lose).attribute(torch.ones(1, len(heads)), **points)[0]
        return (found * (STEPS + 1) / STEPS).tolist()  # captum's points are so many, but the intervals one less

    compare(name, own, {"captum": captum}, given.repeats)


def compare_attribution(name: str, given: argparse.Namespace) -> None:
    """Compare attention attribution of all heads of the encoder with captum's integral over attention weights."""
    import torch
    from captum.attr import IntegratedGradients
    from headroom.core.heads import all_heads
    from headroom.methods.criteria.attention_attribution import attention_attribution_scores
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    model, judged = load_encoder("eager", 8, 16)
    (batch,) = judged.batches(model)
    shown: dict[int, Any] = {}  # attention weights by layer
    instead: dict[int, Any] = {}

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        place = layers.index(module)
        weights = instead.get(place)
        if weights is None:
            scores = query @ key.transpose(2, 3) * options["scaling"]
            weights = (scores if mask is None else scores + mask).softmax(-1)
            shown[place] = weights
        return (weights @ value).transpose(1, 2).contiguous(), weights

    layers = [layer.attention.self for layer in model.model.bert.encoder.layer]
    ALL_ATTENTION_FUNCTIONS.register("shown", attend)

    def captum() -> list[float]:
        found: list[float] = []
        model.model.set_attn_implementation("shown")
        with torch.no_grad():
            model.logits(batch)
        for place, weights in sorted(shown.copy().items()):

            def likelihood(given: Any, place: int = place) -> Any:
                instead[place] = given
                return model.model(**batch.inputs).logits.softmax(-1).gather(1, batch.labels[:, None])[:, 0]

            points = {"n_steps": STEPS // 2, "method": "riemann_right", "internal_batch_size": len(weights)}
            attributed = IntegratedGradients(likelihood).attribute(weights.detach(), **points)
            found += attributed.flatten(2).amax(-1).clamp(min=0).mean(0).tolist()
            instead.clear()
        model.model.set_attn_implementation("eager")
        return found

    def own() -> list[float]:
        found = attention_attribution_scores(model, [batch], steps=STEPS // 2)["attention-attribution"]
        return [found[head] for head in all_heads(model.sites)]

    compare(name, own, {"captum": captum}, given.repeats)


COMPARISONS: dict[str, Callable[[str, argparse.Namespace], None]] = {
    "sweep of a decoder": compare_decoder,
    "sweep of an encoder": compare_encoder,
    "sweep of an encoder-decoder": compare_translation,
    "gradient scores": compare_gradients,
    "integrated gradients": compare_integral,
    "attention attribution": compare_attribution,
}
"""What is compared, by name."""

if __name__ == "__main__":
    main()
