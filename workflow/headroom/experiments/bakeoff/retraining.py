"""Train good, random and bad layouts of one size further, and the full model, and evaluate each before and after.

As Prasanna et al. (2020, "When BERT Plays the Lottery, All Tickets Are Winning") for structured pruning. The good
layout keeps the heads with the largest scores by the criterion of the configuration (`bakeoff.retraining.criterion`),
scored on the set `choose`; the bad one keeps those with the smallest. So nothing is chosen on the set that layouts are
judged on. Random layouts are those of the first random orders of the curves. The full model with the same further
training is the control: what training alone gains.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, PositiveInt

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Unit, all_heads, format_profile
from headroom.core.progress import follow_items
from headroom.core.table import signature
from headroom.experiments.bakeoff.declared import BAKEOFF_RETRAINING, RetrainingSettings
from headroom.experiments.gates.declared import GateTrainingSettings
from headroom.methods.orders import control_orders, least_important_first, read_scores, take_first
from headroom.models.command import Judging, OneModelJob, open_engine
from headroom.settings.base import Settings
from headroom.settings.job import Files, read_epoch

if TYPE_CHECKING:
    from headroom.models.engine import EvaluationSet, Outcome
    from headroom.models.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.bakeoff.retraining")


class JudgingSettings(Settings):
    """The key of the comparison of criteria that applies to further training too."""

    test_examples: PositiveInt | None = Field(
        None, description="examples of the test set, from its start, that layouts are evaluated on; unset for all"
    )


@dataclass(frozen=True)
class Layout:
    """Which heads are removed, and the columns that name it."""

    layout: str
    removed: frozenset[Head] = frozenset()
    criterion: str = ""
    draw: int = 0


class Retraining(OneModelJob, Judging):
    """Train layouts of one size further."""

    scores: Files = Field(min_length=1, description="tables of the stage scores with the criterion")
    seed: int = Field(1, description="seed of the order of batches and of dropout")
    judge_on: str = Field("test", description="set on which layouts are evaluated")
    output: Path = Field(description="output table; resampled scores are written next to it")
    retraining: RetrainingSettings = RetrainingSettings()
    bakeoff: JudgingSettings = JudgingSettings()


def run(job: Retraining) -> None:
    """Train each layout from the same trained model, and write the table."""
    engine = open_engine(job)
    from headroom.core.resamples import Resamples, resamples_beside
    from headroom.methods.continued_training import compare

    settings = job.retraining
    judged = engine.judged_set(job.judge_on, job.bakeoff.test_examples)
    if not settings.updates:  # the default; wrong values are reported first
        raise HeadroomError("--updates 0: no further training; give at least 1")
    scores = read_scores(*job.scores, epoch=read_epoch(job.checkpoint), criterion=settings.criterion)
    model = engine.load(job.checkpoint)
    units = model.units()
    found = layouts(scores, units, settings)
    batches = engine.batches(
        model, engine.examples("train", settings.updates * settings.batch_examples), settings.batch_examples
    )
    full = judged.judge(model)
    trained = {name: value.clone() for name, value in model.model.state_dict().items()}
    leading = job.leading_columns(job.checkpoint)
    resamples = Resamples()
    rows: list[dict[str, Any]] = []
    for layout in follow_items(found, "bakeoff_retraining", "layouts"):
        state = leading | build_columns(layout) | {"heads_total": len(units)}
        model.model.load_state_dict(trained)
        for updates, outcome in before_and_after(model, judged, layout, batches, settings, job.seed):
            about = build_signature(settings, updates, job.seed)
            rows += [state | {"updates": updates} | row for row in compare(judged, full, outcome, about, resamples)]
    BAKEOFF_RETRAINING.write(job.output, rows)
    resamples.write(resamples_beside(job.output))


def layouts(scores: Mapping[Head, float], units: Sequence[Unit], settings: RetrainingSettings) -> list[Layout]:
    """Return the full layout, and the good, the bad and the random ones, which have one size.

    Raises:
        HeadroomError: If the share removes none of the heads, or all.
    """
    count = round(settings.share * len(units))
    if not 0 < count < len(units):
        raise HeadroomError(
            f"--share {settings.share:g}: removes {count} of {len(units)} heads; give one that removes and keeps some"
        )
    order = least_important_first(scores, units)
    good, bad = (take_first(one, count) for one in (order, order[::-1]))
    random = control_orders("random", units, draws=settings.random_draws)
    return [
        Layout("full"),
        Layout("good", good, settings.criterion),
        Layout("bad", bad, settings.criterion),
        *(Layout("random", take_first(one.units, count), draw=one.draw) for one in random),
    ]


def build_columns(layout: Layout) -> dict[str, Any]:
    """Return the columns that name a layout."""
    named = {"layout": layout.layout, "criterion": layout.criterion, "draw": layout.draw}
    return named | {"heads_removed": len(layout.removed), "removed": format_profile(layout.removed)}


def before_and_after(
    model: HeadModel,
    judged: EvaluationSet,
    layout: Layout,
    batches: Sequence[Any],
    settings: RetrainingSettings,
    seed: int,
) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of a layout after no and after all updates, which train the model in place."""
    from headroom.methods.continued_training import continue_training
    from headroom.methods.learned_gates import FixedGates

    heads = all_heads(model.sites)
    with model.gates.masked(layout.removed):
        yield 0, judged.judge(model)
    further = GateTrainingSettings(updates=settings.updates, learning_rate=settings.learning_rate)
    fixed = FixedGates(layout.removed, heads)
    continue_training(model, batches=batches, source=fixed, heads=heads, scope="all", settings=further, seed=seed)
    with model.gates.masked(layout.removed):
        yield settings.updates, judged.judge(model)


def build_signature(settings: RetrainingSettings, updates: int, seed: int) -> str:
    """Return the signature of a layout after a number of updates."""
    rate = GateTrainingSettings(learning_rate=settings.learning_rate).rate
    further = {"batch": settings.batch_examples, "lr": f"{rate:g}", "seed": seed} if updates else {}
    return signature(updates=updates, **further)
