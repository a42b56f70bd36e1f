"""Score the heads of a model at some epochs by a family of criteria, or by named ones, and measure the cost of each.

In a study the criteria of gradient importance are computed at every epoch, and a family that is compared at the last
one. By hand, `--criteria` names criteria, or `all`. Those that need updates, or that another stage measures, are then
skipped with the reason, as are those that the model cannot have.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.progress import follow_items
from headroom.core.table import signature
from headroom.experiments.scores.declared import SCORES, SCORES_COSTS, ScoreSettings
from headroom.methods.costs import count_passes
from headroom.methods.criteria import (
    EPOCHS,
    NORMALISATIONS,
    REFERENCE,
    Criterion,
    Score,
    Scores,
    check_scores,
    count_used,
    criteria,
    criterion,
    family,
    family_names,
    find_family,
    normalise_by_layer,
)
from headroom.models.command import EpochsJob, open_engine

logger = logging.getLogger("headroom.experiments.scores.stage")

ALL = "all"

HALVES = {ALL: None, "choose": 0, "score": 1}
"""The examples that scores are computed from: all, or those at even or odd positions of the set."""

CHEAP = 10.0
"""Most passes over the examples of criteria that are also computed on halves; costlier ones have no noise ceiling."""

Function = tuple[str, Score, list[Criterion]]
"""The family of a function that scores heads, the function, and those of the criteria that it returns."""


class ScoresJob(EpochsJob):
    """Score every head by criteria, e.g. gradient importance."""

    family: str = Field(
        EPOCHS,
        description=f"family of criteria: one of {', '.join(family_names())}, or {EPOCHS}, those that are scored at "
        "every epoch",
    )
    criteria: list[str] = Field([], description="criteria, see docs/criteria.md, or all; unset for those of the family")
    labels: bool = Field(
        True, description="without: skip criteria that need references, as those of the set are placeholders"
    )
    set: str = Field("choose", description="evaluation set for the scores")
    output: Path = Field(description="table of scores")
    costs: Path | None = Field(None, description="table of costs; unset for none")
    scores: ScoreSettings = ScoreSettings()


def run(job: ScoresJob) -> None:
    """Score each checkpoint and write the tables.

    Raises:
        HeadroomError: If a criterion is unknown, or none can be computed.
    """
    engine = open_engine(job)
    settings = job.scores
    named = list(criteria() if ALL in job.criteria else dict.fromkeys(job.criteria))
    skipped = {name: why for name in named if (why := reason_to_skip(criterion(name), labelled=job.labels))}
    functions = list(choose_functions(job.family, named, skipped))
    examples = engine.examples(job.set, settings.examples)
    asked = {"loss": engine.loss, "set": job.set, "examples": len(examples), "batch": settings.batch_examples}
    scores: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    model: Any = None
    loaded = None
    steps = [(checkpoint, function) for checkpoint in job.checkpoints for function in functions]
    for checkpoint, (name, score, own) in follow_items(steps, "scores", "passes of criteria"):
        leading = job.leading_columns(checkpoint)
        try:
            wanted = checkpoint, any(one.maps for one in own)
            if wanted != loaded:
                model = None  # before the next one is loaded
                model, loaded = engine.load(checkpoint, maps=wanted[1]), wanted
            batches = engine.batches(model, examples, settings.batch_examples)
            uses = sum(live.uses for live in model.live_sites)
            special = {"uses": uses} if uses > len(model.live_sites) else {}
            if cut := engine.count_cut(model, examples):
                special["cut"] = cut
                logger.warning("set %s: %d examples exceed the positions of the model and are cut", job.set, cut)
            for half, index in HALVES.items():
                used = asked | {"examples": count_used(score, len(examples), index)}
                leading["signature"] = signature(**used, **special)
                with count_passes(model, len(examples)) as passes:
                    found = score(model, batches, half=index)
                check_scores(model, batches, found, job.set)
                ways = NORMALISATIONS if half == ALL and name == EPOCHS else NORMALISATIONS[:1]
                scores += [leading | {"half": half} | row for row in list_rows(found, own, ways)]
                costs += [leading | passes.cost_row(one, name) for one in own if half == ALL]
                costly = passes.forward + passes.backward > CHEAP and REFERENCE not in found
                if costly or checkpoint != job.checkpoints[-1]:
                    break
        except HeadroomError as error:
            if not named:
                raise
            skipped |= {one.name: str(error) for one in own}
            continue
        logger.info("scored %s by %s", checkpoint, ", ".join(one.name for one in own))
    for name, why in skipped.items():
        logger.info("skipped %s: %s", name, why)
    if not scores:
        raise HeadroomError("--criteria: none of these can be computed here, for the reasons above; name others")
    SCORES.write(job.output, scores)
    if job.costs:
        SCORES_COSTS.write(job.costs, costs)


def reason_to_skip(one: Criterion, *, labelled: bool) -> str:
    """Return why a criterion is not computed here; "" if it is."""
    if not find_family(one.name):
        work = "needs updates of the model" if one.needs == "training" else "is measured by another stage"
        return f"{work}: python -m headroom {one.table}"
    return "" if labelled or not one.labels else "needs labels or references"


def choose_functions(group: str, named: Sequence[str], skipped: Mapping[str, str]) -> Iterator[Function]:
    """Yield the functions of a family or, if there are named criteria, those that return one which is not skipped."""
    for name in family_names() if named else [group]:
        for score, every in family(name).items():
            own = [one for one in every if not named or (one.name in named and one.name not in skipped)]
            if own:
                yield name, score, own


def list_rows(
    found: Mapping[str, Scores], chosen: Sequence[Criterion], ways: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the head, the criterion, its normalisation and the value of every score by some criteria, as columns."""
    names = [one.name for one in chosen]
    for name, raw in ((name, raw) for name, raw in found.items() if name in names):
        for normalised in ways:
            scores = normalise_by_layer(raw) if normalised == "layer" else raw
            for head in sorted(scores):
                yield {**asdict(head), "criterion": name, "normalised": normalised, "value": scores[head]}
