"""Learn which heads to keep in further training, or fix them; evaluate the pruned models."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.core.heads import Head, all_heads, format_profile
from headroom.core.progress import follow_items
from headroom.experiments.gates.declared import GATES, PRUNED_MODELS, GateSettings
from headroom.experiments.pruning.declared import MainSettings
from headroom.experiments.training.declared import TRAINING
from headroom.methods.orders import read_scores
from headroom.models.command import Judging, OneModelJob, open_engine
from headroom.settings.job import read_epoch

if TYPE_CHECKING:
    from headroom.methods.continued_training import FurtherTraining
    from headroom.methods.learned_gates import GateSource
    from headroom.models.engine import EvaluationSet, Outcome
    from headroom.models.head_model import HeadModel

logger = logging.getLogger("headroom.experiments.gates.stage")

LEARNED, CONTROLS = "hard-concrete", "controls"
FALLING = 0.01
"""A model has not converged if its last epoch reduced the validation loss by more than this share."""


class Gates(OneModelJob, Judging):
    """Learn which heads to keep, or fix them, in further training."""

    method: Literal["hard-concrete", "controls"] = Field(
        "hard-concrete", description="learned gates, or the controls: continued, gradient and random"
    )
    scope: str = Field("all", description="heads with gates: all, or E with the decoder frozen")
    seed: int = Field(1, description="seed of noise, order of batches, dropout, random layouts")
    scores: Path | None = Field(None, description="table of the stage scores, for the control `gradient`")
    training: Path | None = Field(
        None, description="table of the stage training, for the convergence and the number of updates of the model"
    )
    judge_on: list[str] = Field(
        ["test", "check"],
        description="sets on which pruned models are evaluated; gates as learned on the first alone",
    )
    models: Path | None = Field(None, description="directory for the pruned models and their profiles; unset for none")
    save: list[str] | None = Field(None, description="names of the models to write there; unset for all")
    learned: Path | None = Field(None, description="table of gates; unset for none")
    output: Path = Field(description="table of pruned models")
    gates: GateSettings = GateSettings()
    pruning: MainSettings = MainSettings()


def run(job: Gates) -> None:
    """Train under each setting from the same trained model, and write the tables."""
    engine = open_engine(job)
    from headroom.core.resamples import Resamples, resamples_beside
    from headroom.methods.continued_training import (
        build_signature,
        compare,
        continue_training,
        count_updates,
    )
    from headroom.methods.learned_gates import find_profile

    settings = job.gates
    start, before = read_start(job.training), count_updates(job.training) if job.training else None
    sets = [engine.judged_set(name, settings.test_examples) for name in job.judge_on]
    examples = engine.examples("train", settings.weight_updates * settings.batch_examples)
    model = engine.load(job.checkpoint)
    heads = all_heads(model.sites, job.scope)
    trainings = plan_trainings(job, settings, heads)
    trained = {name: value.clone() for name, value in model.model.state_dict().items()}
    full = [judged.judge(model) for judged in sets]
    batches = engine.batches(model, examples, settings.batch_examples)
    about = build_signature(settings, job.seed)
    rows: list[dict[str, Any]] = []
    gates: list[dict[str, Any]] = []
    resamples = Resamples()
    for training in follow_items(trainings, "gates", "trainings"):
        source = training.source
        model.model.load_state_dict(trained)
        learned: dict[str, Outcome] = {}
        when_learned = partial(judge_learned, model, sets[0], source, heads, learned)
        way: dict[str, Any] = {"heads": heads, "scope": job.scope, "settings": settings, "seed": job.seed}
        continue_training(model, batches=batches, source=source, when_learned=when_learned, **way)
        removed = find_profile(source.kept(), heads)
        log_result(training, len(heads) - len(removed), len(heads), start)
        named = {"method": training.method, "scope": job.scope, "setting": training.setting}
        leading = job.leading_columns(job.checkpoint) | named
        state = leading | {
            "draw": training.draw,
            "kept": len(heads) - len(removed),
            "heads": len(heads),
            "undecided": "" if source.soft() is None else source.undecided(),
            "start": start,
            "removed": format_profile(removed),
            "updates": settings.weight_updates,
            "gate_updates": settings.gate_updates if source.parameters() else 0,
            "total_updates": "" if before is None else before + settings.weight_updates,
        }
        judged = [(form, sets[0], full[0], outcome) for form, outcome in learned.items()]
        with model.gates.masked(removed):
            judged += [("hard", one, whole, one.judge(model)) for one, whole in zip(sets, full)]
        for form, one, whole, outcome in judged:
            rows += [state | {"gates": form} | row for row in compare(one, whole, outcome, about, resamples)]
        for head, score, kept in zip(heads, source.scored(), source.kept().int().tolist()):
            gates.append(leading | asdict(head) | {"score": score, "kept": kept, "signature": about})
        if job.models and training.name in (job.save or [training.name]):
            fresh = engine.load(job.checkpoint)
            save(fresh, model, removed, Path(job.models, training.name, Path(job.checkpoint).name))
    PRUNED_MODELS.write(job.output, rows)
    resamples.write(resamples_beside(job.output))
    if job.learned:
        GATES.write(job.learned, gates)


def read_start(path: Path | None) -> str:
    """Return whether a model had converged by its training's table: `converged`, `falling`, or `unknown` without."""
    if path is None:
        return "unknown"
    table = TRAINING.read(path)
    mine = table[table["measure"] == "valid_loss"]
    losses = [float(value) for _, value in sorted(zip(mine["epoch"], mine["value"]))]
    if len(losses) < 2:
        return "falling"  # convergence cannot be assessed after one epoch
    return "falling" if losses[-1] < losses[-2] * (1 - FALLING) else "converged"


def plan_trainings(job: Gates, settings: GateSettings, heads: Sequence[Head]) -> list[FurtherTraining]:
    """Return the further trainings of a method.

    Raises:
        HeadroomError: If the control `gradient` has no scores.
    """
    from headroom.methods.continued_training import controls, list_learned

    if job.method != CONTROLS:
        return list(list_learned(settings, len(heads), job.seed))
    if job.scores is None:
        raise HeadroomError("--scores: missing; give the table of the stage scores for the control `gradient`")
    main = job.pruning.main
    scores = read_scores(job.scores, epoch=read_epoch(job.checkpoint), criterion=main)
    return list(controls(settings, heads, scores, job.seed))


def log_result(training: FurtherTraining, kept: int, heads: int, start: str) -> None:
    """Log the result, with warnings if gates or model have not converged."""
    logger.info("%s %g: %d of %d heads kept", training.method, training.setting, kept, heads)
    if undecided := training.source.undecided():
        logger.warning(
            "%d gates are neither 0 nor 1; raise gates.gate_updates or gates.gate_learning_rate",
            undecided,
        )
    if start == "falling":
        logger.warning("the model had not converged when its training ended; start gates from a converged model")


def judge_learned(
    model: HeadModel, judged: EvaluationSet, source: GateSource, heads: Sequence[Head], found: dict[str, Outcome]
) -> None:
    """Judge a model under gates as learned, if they can be between 0 and 1, and made 0 or 1; adds the outcomes."""
    from headroom.methods.learned_gates import by_site

    soft = source.soft()
    for form, values in {"soft": soft, "hardened": source.kept()}.items() if soft is not None else ():
        model.gates.set(by_site(values.to(model.device), heads, model.sites))
        found[form] = judged.judge(model)
        model.gates.clear()


def save(fresh: HeadModel, trained: HeadModel, removed: frozenset[Head], place: Path) -> None:
    """Write a model without its removed heads, and their names in `profile.txt` in the same directory.

    Args:
        fresh: The model before further training, which is sliced here.
        trained: The model with the weights to save, all heads in place.
        removed: The removed heads.
        place: The directory of the model.
    """
    fresh.model.load_state_dict(trained.model.state_dict())
    fresh.remove(removed)
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh.save(place)
    write_lines(place.parent / "profile.txt", [format_profile(removed)])
