"""Train a layout from scratch further, like pruned models, and compare it with the full model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, format_profile
from headroom.core.table import signature
from headroom.experiments.gates.declared import PRUNED_MODELS, GateSettings
from headroom.models.command import Judging, OneModelJob, open_engine

if TYPE_CHECKING:
    from headroom.models.head_model import HeadModel


class FromScratch(OneModelJob, Judging):
    """Train a layout from scratch further, and compare it with the full model."""

    other: str = Field(description="the model trained without some heads")
    training: Path = Field(description="its table of the stage training, for its number of updates")
    random_draw: int = Field(0, description="number of its random layout, from 1; 0 for a learned one")
    setting: float = Field(0.0, description="lambda of its layout, a column of the table")
    seed: int = Field(1, description="seed of its further training: batches and dropout")
    judge_on: list[str] = Field(["test", "check"], description="sets on which both are evaluated")
    output: Path = Field(description="table of pruned models")
    gates: GateSettings = GateSettings()


def run(job: FromScratch) -> None:
    """Train the other model further, evaluate both on the same examples and write the table."""
    engine = open_engine(job)
    from headroom.core.resamples import Resamples, resamples_beside
    from headroom.methods.continued_training import build_signature, compare, continue_training, count_updates
    from headroom.methods.learned_gates import FixedGates

    settings = job.gates
    sets = [engine.judged_set(name, settings.test_examples) for name in job.judge_on]
    trained_for = count_updates(job.training)
    full, other = (engine.load(place) for place in (job.checkpoint, job.other))
    removed = find_removed(other, full)
    examples = engine.examples("train", settings.weight_updates * settings.batch_examples)
    batches = engine.batches(other, examples, settings.batch_examples)
    plain = FixedGates(frozenset(), [])
    way: dict[str, Any] = {"scope": "all", "settings": settings, "seed": job.seed}
    continue_training(other, batches=batches, source=plain, heads=[], **way)
    heads = len(all_heads(full.sites))
    state = {
        "method": "random-scratch" if job.random_draw else "scratch",
        "scope": "all",
        "setting": job.setting,
        "draw": job.random_draw,
        "kept": heads - len(removed),
        "heads": heads,
        "undecided": "",
        "start": "scratch",
        "gates": "hard",
        "removed": format_profile(removed),
        "updates": settings.weight_updates,
        "gate_updates": 0,
        "total_updates": trained_for + settings.weight_updates,
    }
    about = f"{signature(start='scratch')}|{build_signature(settings, job.seed)}"
    resamples = Resamples()
    pairs = [(judged, judged.judge(full), judged.judge(other)) for judged in sets]
    rows = [row for pair in pairs for row in compare(*pair, about, resamples)]
    PRUNED_MODELS.write(job.output, [job.leading_columns(job.checkpoint) | state | row for row in rows])
    resamples.write(resamples_beside(job.output))


def find_removed(other: HeadModel, full: HeadModel) -> frozenset[Head]:
    """Return the removed heads of a model.

    Raises:
        HeadroomError: If the two models have different sites.
    """
    if other.sites != full.sites:
        raise HeadroomError(
            f"--other: the sites are {' '.join(map(str, other.sites))}, of --checkpoint "
            f"{' '.join(map(str, full.sites))}; "
            "give models of the same shape"
        )
    return frozenset(all_heads(other.sites)) - {head for live in other.live_sites for head in live.kept_heads()}
