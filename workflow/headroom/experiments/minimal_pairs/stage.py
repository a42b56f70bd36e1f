"""Measure accuracy on minimal pairs, as heads are removed by the main order."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from numpy import ndarray
from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.heads import all_heads, format_profile
from headroom.core.progress import follow_items
from headroom.core.statistics import draw_resamples, interval, mcnemar_p, resampling_weights
from headroom.core.table import signature
from headroom.data.documents import read_pairs
from headroom.experiments.minimal_pairs.declared import MINIMAL_PAIRS
from headroom.experiments.pruning.declared import CurveSettings
from headroom.methods.orders import Order, profiles, read_order
from headroom.models.command import OneModelJob, open_engine
from headroom.settings.base import SamplingSettings
from headroom.settings.job import read_epoch

if TYPE_CHECKING:
    from headroom.models.causal.model import CausalModel, WindowBatch

logger = logging.getLogger("headroom.experiments.minimal_pairs.stage")

SENTENCES = 32
"""Sentences in a batch; does not change the result."""

CHANCE = 50.0


class MinimalPairs(OneModelJob):
    """Measure accuracy on minimal pairs, as heads are removed."""

    pairs: Path | None = Field(
        None, description="TSV with the columns group, good and bad; unset for that of the corpus"
    )
    scores: Path = Field(description="table of the stage scores, which determines the order")
    output: Path = Field(description="table of accuracies")
    pruning: CurveSettings = CurveSettings()
    sampling: SamplingSettings = SamplingSettings()


def run(job: MinimalPairs) -> None:
    """Judge the pairs at every step of the order, and write the table."""
    engine = open_engine(job)
    pruning = job.pruning
    resamples = job.sampling.resamples
    if job.engine != "causal":
        raise HeadroomError(f"--engine {job.engine}: has no probabilities of sentences; give a language model")
    model: Any = engine.load(job.checkpoint)
    given = read_pairs(job.pairs or Path(job.corpus) / "pairs.tsv")
    pairs = [pair for pair, differs in zip(given, find_different(model, given), strict=True) if differs]
    undecided = {"set": "pairs", "undecided": len(given) - len(pairs)} if len(pairs) < len(given) else {}
    if undecided:
        logger.warning("%d of %d pairs have the same tokens, and are left out", len(given) - len(pairs), len(given))
    if not pairs:
        raise HeadroomError(
            "pairs: the tokens of both sentences are the same in all; give pairs that the model can tell"
        )
    units = read_order(job.scores, epoch=read_epoch(job.checkpoint), settings=pruning, model=model)
    order = Order(pruning.main, units)
    batches = model.scored_batches([sentence for _, *both in pairs for sentence in both], SENTENCES)
    full = find_preferred(model, batches)
    signed = signature(pairs=len(pairs), **undecided, resamples=resamples, order=f"{order.order},by {pruning.unit}")
    leading = job.leading_columns(job.checkpoint)
    rows: list[dict[str, Any]] = []
    for gone in follow_items(profiles(order, pruning.step), "minimal_pairs", "profiles"):
        with model.gates.masked(gone):
            own = find_preferred(model, batches)
        removed = {"heads_removed": len(gone), "heads_total": len(all_heads(model.sites))}
        about = {"removed": format_profile(gone), "signature": signed}
        found = compare_groups([group for group, *_ in pairs], own, full, resamples)
        rows += [leading | removed | about | row for row in found]
    MINIMAL_PAIRS.write(job.output, rows)


def find_different(model: CausalModel, pairs: Sequence[tuple[str, str, str]]) -> list[bool]:
    """Return of pairs, each after its group, whether the sentences differ in tokens: others have no better one."""
    _, *sides = zip(*pairs, strict=True)
    good, bad = (model.tokenizer(list(side), add_special_tokens=False)["input_ids"] for side in sides)
    return [one != other for one, other in zip(good, bad, strict=True)]


def find_preferred(model: CausalModel, batches: Sequence[WindowBatch]) -> ndarray:
    """Return of pairs, whose sentences follow each other in batches, whether the good one is more probable, (P,)."""
    import torch

    nats = numpy.zeros(sum(len(batch.positions) for batch in batches))
    with torch.inference_mode():
        for batch in batches:
            nats[batch.positions] = model.losses(batch)[0].double().cpu().numpy()
    good, bad = nats.reshape(-1, 2).T
    return (good < bad).astype(float)


def compare_groups(groups: Sequence[str], own: ndarray, full: ndarray, resamples: int) -> Iterator[dict[str, Any]]:
    """Yield the columns from `value` to `count`, with `group`, of all pairs and of every group.

    Args:
        groups: The group of each of P pairs.
        own: Whether the model without heads is right, (P,) of 0 and 1.
        full: The same of the full model.
        resamples: Bootstrap samples of the pairs.
    """
    named = numpy.array(groups)
    for group in chain([""], dict.fromkeys(groups)):
        chosen = named == group if group else numpy.ones(len(named), dtype=bool)
        before, after = full[chosen], own[chosen]
        weights = resampling_weights(draw_resamples(len(after), resamples))  # (samples, pairs)
        low, high = interval(100 * (weights @ (after - before)) / weights.sum(1))
        value, whole = 100 * float(after.mean()), 100 * float(before.mean())
        yield {
            "group": group,
            "value": value,
            "full": whole,
            "chance": CHANCE,
            "delta": value - whole,
            "low": low,
            "high": high,
            "p": mcnemar_p(before, after),
            "count": int(chosen.sum()),
        }
