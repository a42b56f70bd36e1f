"""Learn which heads stay while a trained model trains on, or fix them; judge what is left."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.core.heads import Head, all_heads, format_profile
from headroom.core.table import signature
from headroom.engines.engine import Engine, EvaluationSet, Outcome, add_task, chosen_engine
from headroom.engines.head_model import HeadModel
from headroom.methods.continued_training import continue_training
from headroom.methods.learned_gates import (
    METHODS,
    ExactGates,
    FurtherTraining,
    GateSource,
    HardConcreteGates,
    by_site,
    continued,
    controls,
    learned,
    profile_of,
)
from headroom.methods.orders import read_scores
from headroom.methods.pruned_models import compared
from headroom.settings.experiments import GateSettings, MainSettings

logger = logging.getLogger("headroom.stages.gates")


USES = ("model", "judging")


CONTROLS = "controls"
FALLING = 0.02
"""A model is still improving if its last epoch took more than this share off the validation loss."""


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("gates", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument(
        "--method",
        choices=[*METHODS, CONTROLS],
        default="hard-concrete",
        help="gates that are learned, or the controls: continued, gradient and random",
    )
    parser.add_argument("--scope", default="all", help="heads with gates: all, or E with the decoder frozen")
    parser.add_argument("--seed", type=int, default=1, help="seed of noise, order of batches, dropout, random layouts")
    parser.add_argument("--scores", help="table written by headroom scores, for the control `gradient`")
    parser.add_argument("--training", help="table written by headroom training or fine_tune: was the model converged?")
    parser.add_argument("--judge-on", default="test", help="set that pruned models are judged on")
    parser.add_argument("--models", help="directory for the pruned models and their profiles; unset for none")
    parser.add_argument("--learned", help="table of gates; unset for none")
    parser.add_argument("--output", required=True, help="table of pruned models")
    add_settings(parser, gates=GateSettings, pruning=MainSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Train under each setting from the same trained model, and write the tables."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    settings = settings_from(given, "gates", GateSettings)
    start = start_of(given.training)
    judged = engine.judged_set(given.judge_on, settings.test_examples)
    examples = engine.examples("train", settings.updates * settings.batch_examples)
    model = engine.load(given.checkpoint)
    heads = all_heads(model.sites, given.scope)
    trainings = planned(given, settings, heads)
    trained = {name: value.clone() for name, value in model.model.state_dict().items()}
    full = judged.judge(model)
    batches = engine.batches(model, examples, settings.batch_examples)
    rows: list[dict[str, Any]] = []
    gates: list[dict[str, Any]] = []
    for training in trainings:
        model.model.load_state_dict(trained)
        continue_training(
            model,
            batches=batches,
            source=training.source,
            heads=heads,
            scope=given.scope,
            settings=settings,
            seed=given.seed,
        )
        removed = profile_of(training.source.kept(), heads)
        tell(training, len(heads) - len(removed), len(heads), start)
        leading, about = leading_columns(given, training), signature_of(given, settings)
        state = state_columns(training, heads, removed, start)
        for form, outcome in outcomes(model, judged, training.source, heads, removed):
            measured = compared(judged, full, outcome, about)
            rows += [{**leading, **state, "gates": form, "updates": settings.updates, **row} for row in measured]
        gates += [{**leading, **row, "signature": about} for row in gate_columns(training.source, heads)]
        if given.models and training.method == given.method:
            fresh = engine.load(given.checkpoint)
            save(fresh, model, removed, Path(given.models, training.name, Path(given.checkpoint).name))
    tables.PRUNED_MODELS.write(given.output, rows)
    if given.learned:
        tables.GATES.write(given.learned, gates)


def signature_of(given: argparse.Namespace, settings: GateSettings) -> str:
    """Return what affects a further training."""
    return signature(
        updates=settings.updates,
        batch=settings.batch_examples,
        lr=f"{settings.learning_rate:g}",
        gate_lr=f"{settings.gate_learning_rate:g}",
        seed=given.seed,
    )


def start_of(path: str | None) -> str:
    """Return whether a model had converged by its training's table: `converged`, `falling`, or `unknown` without."""
    if path is None:
        return "unknown"
    table = tables.TRAINING.read(path)
    mine = table[table["measure"] == "valid_loss"]
    losses = [float(value) for _, value in sorted(zip(mine["epoch"], mine["value"]))]
    if len(losses) < 2:
        return "falling"  # nothing says that one epoch was enough
    return "falling" if losses[-1] < losses[-2] * (1 - FALLING) else "converged"


def planned(given: argparse.Namespace, settings: GateSettings, heads: Sequence[Head]) -> list[FurtherTraining]:
    """Return the further trainings of a method.

    Raises:
        HeadroomError: If the control `gradient` has no scores.
    """
    if given.method != CONTROLS:
        found = list(learned(given.method, settings, len(heads), given.seed))
        # with the decoder frozen, the controls, which train all weights, do not tell what training on alone changes
        return [continued(heads), *found] if given.scope != "all" and given.method == METHODS[0] else found
    if given.scores is None:
        raise HeadroomError("the control `gradient` needs scores: give --scores, the table that headroom scores wrote")
    main = settings_from(given, "pruning", MainSettings).main
    scores = read_scores(given.scores, epoch=epoch_of(given.checkpoint), criterion=main)
    return list(controls(settings, heads, scores, given.seed))


def tell(training: FurtherTraining, kept: int, heads: int, start: str) -> None:
    """Log what came out, and warn of what makes it doubtful."""
    logger.info("%s %g: %d of %d heads stay", training.method, training.setting, kept, heads)
    if isinstance(training.source, HardConcreteGates) and training.source.undecided():
        logger.warning(
            "%d gates are neither 0 nor 1 yet: more updates, or a higher gate-learning-rate, would decide them",
            training.source.undecided(),
        )
    if start == "falling":
        logger.warning("the model was still improving when its training ended: gates should start from a converged one")


def outcomes(
    model: HeadModel, judged: EvaluationSet, source: GateSource, heads: Sequence[Head], removed: frozenset[Head]
) -> Iterator[tuple[str, Outcome]]:
    """Yield how the model does with hard gates and, where there are soft ones, with these."""
    with model.gates.masked(removed):
        yield "hard", judged.judge(model)
    if isinstance(source, HardConcreteGates):
        model.gates.set(by_site(source.settled().to(model.device), heads, model.sites))
        try:
            yield "soft", judged.judge(model)
        finally:
            model.gates.clear()


def leading_columns(given: argparse.Namespace, training: FurtherTraining) -> dict[str, Any]:
    """Return the columns that say which further training this is."""
    return {
        "study": given.study,
        "run": given.run,
        "epoch": epoch_of(given.checkpoint),
        "method": training.method,
        "scope": given.scope,
        "setting": training.setting,
    }


def state_columns(
    training: FurtherTraining, heads: Sequence[Head], removed: frozenset[Head], start: str
) -> dict[str, Any]:
    """Return the columns that say what is left of the heads."""
    source = training.source
    return {
        "draw": training.draw,
        "kept": len(heads) - len(removed),
        "heads": len(heads),
        "undecided": source.undecided() if isinstance(source, HardConcreteGates) else "",
        "start": start,
        "removed": format_profile(removed),
    }


def gate_columns(source: GateSource, heads: Sequence[Head]) -> Iterator[dict[str, Any]]:
    """Yield a row per head of learned gates; nothing for fixed ones."""
    if isinstance(source, HardConcreteGates):
        closed, opened = source.closed().tolist(), source.opened().tolist()
        values = list(zip(source.log_alpha.tolist(), closed, opened))
    elif isinstance(source, ExactGates):
        values = [(score, "", "") for score in source.scores.tolist()]
    else:
        return
    for head, (score, p_closed, p_open), kept in zip(heads, values, source.kept().int().tolist()):
        yield {
            "kind": head.kind,
            "layer": head.layer,
            "head": head.head,
            "score": score,
            "p_closed": p_closed,
            "p_open": p_open,
            "kept": kept,
        }


def save(fresh: HeadModel, trained: HeadModel, removed: frozenset[Head], place: Path) -> None:
    """Write a model without its removed heads, and their names beside it, in `profile.txt`.

    Args:
        fresh: The model before further training, which is sliced here.
        trained: The model with the weights to save, all heads in place.
        removed: The heads that go.
        place: Where the model goes, in a directory of its own.
    """
    fresh.model.load_state_dict(trained.model.state_dict())
    fresh.remove(removed)
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh.save(place)
    write_lines(place.parent / "profile.txt", [format_profile(removed)])


if __name__ == "__main__":
    run(main)
