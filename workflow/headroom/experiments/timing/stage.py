"""Time the full, the masked and the sliced model (Michel et al. 2019, Table 4)."""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.heads import Head, parse_profile
from headroom.core.table import signature
from headroom.experiments.pruning.declared import OrderSettings
from headroom.experiments.removal.declared import REMOVABLE
from headroom.experiments.timing.declared import TIMING, TIMING_SAMPLES, TimingSettings
from headroom.methods.costs import THREADS, quartiles, ratio_summary, time_interleaved
from headroom.methods.orders import read_order, take_first
from headroom.models.command import OneModelJob, open_engine
from headroom.settings.job import read_epoch

if TYPE_CHECKING:
    from headroom.models.head_model import HeadModel
    from headroom.models.workload import Workload

logger = logging.getLogger("headroom.experiments.timing.stage")

Models = dict[tuple[str, float], "HeadModel"]
"""The models timed side by side, by (full, masked or sliced; share of heads removed)."""

FULL = ("full", 0.0)


class Timing(OneModelJob):
    """Time full, masked and sliced models."""

    scores: Path = Field(description="table of the stage scores, which determines the order")
    removable: Path | None = Field(None, description="table of the stage removal, whose smaller model is timed, too")
    set: str = Field("test", description="set with the timed examples")
    output: Path = Field(description="table of medians and speed-ups")
    samples: Path = Field(description="table of all raw timings")
    timing: TimingSettings = TimingSettings()
    pruning: OrderSettings = OrderSettings()


def run(job: Timing) -> None:
    """Time every model, part and batch size, write both tables."""
    engine = open_engine(job)
    import torch

    settings = job.timing
    torch.set_num_threads(THREADS)
    rows: list[dict[str, Any]] = []
    samples: list[dict[str, Any]] = []
    with torch.inference_mode():
        examples = engine.examples(job.set)
        models: Models = {FULL: engine.load(job.checkpoint)}
        removed = {0.0: 0}
        for share, gone in choose_heads(job, settings, models[FULL]).items():
            removed[share] = len(gone)
            models["sliced", share] = engine.load(job.checkpoint)
            models["sliced", share].remove(gone)
            if share in settings.shares:
                models["masked", share] = engine.load(job.checkpoint)
                models["masked", share].gates.mask(gone)
        works = {size: engine.workload(models[FULL], examples, size) for size in settings.batch_sizes}
        for size, work in works.items():
            processor = (platform.processor() or platform.machine()).replace("|", "/")
            about = signature(torch=torch.__version__, processor=processor, warmup=settings.warmup, **work.shape)
            for part in work.parts:
                seconds, added = measure(job, settings, models, part, work, size)
                samples += [row | {"signature": about} for row in seconds]
                rows += [row | {"heads_removed": removed[row["share_removed"]], "signature": about} for row in added]
            logger.info("timed batches of %d", size)
    TIMING_SAMPLES.write(job.samples, samples)
    TIMING.write(job.output, rows)


def choose_heads(job: Timing, settings: TimingSettings, full: HeadModel) -> Mapping[float, frozenset[Head]]:
    """Return the least important heads for each share, and those that the smaller model of the study lacks."""
    ordered = job.pruning
    order = read_order(job.scores, epoch=read_epoch(job.checkpoint), settings=ordered, model=full)
    found = {share: take_first(order, round(share * len(order))) for share in settings.shares}
    if job.removable:
        table = REMOVABLE.read(job.removable)
        for profile in table[table["chosen"] == 1]["removed"]:
            gone = parse_profile(profile, full.sites)
            found = {len(gone) / sum(site.heads for site in full.sites): gone} | found if gone else found
    return found


def measure(
    job: Timing, settings: TimingSettings, models: Models, part: str, work: Workload, size: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return raw samples and summaries of one part at one batch size."""
    actions = {key: work.action(model, part) for key, model in models.items()}
    seconds = time_interleaved(actions, warmup=settings.warmup, repeats=settings.repeats)
    place = {"study": job.study, "run": job.run, "part": part, "batch_size": size}
    samples = [
        {**place, "model": model, "share_removed": share, "repeat": i, "seconds": value}
        for (model, share), values in seconds.items()
        for i, value in enumerate(values)
    ]
    about = place | {"threads": THREADS, "device": str(models[FULL].device)}
    return samples, [about | row for row in _summaries(models, seconds, work, part)]


def _summaries(
    models: Models, seconds: Mapping[tuple[str, float], list[float]], work: Workload, part: str
) -> Iterator[dict[str, Any]]:
    full_cost = work.multiply_adds(models[FULL], part)
    for (name, share), model in models.items():
        median, low, high = quartiles(seconds[name, share])
        speedup, speedup_low, speedup_high = ratio_summary(seconds[FULL], seconds[name, share])
        cost = work.multiply_adds(model, part)
        yield {
            "model": name,
            "share_removed": share,
            "median_seconds": median,
            "quartile_low": low,
            "quartile_high": high,
            "repeats": len(seconds[name, share]),
            "speedup": speedup,
            "speedup_low": speedup_low,
            "speedup_high": speedup_high,
            "expected_speedup": full_cost / cost,
            "multiply_adds": cost,
            "parameters": model.count_parameters(),
            "cache_bytes": work.cache_bytes(model, part),
        }
