"""Further training of a model with learned gates on its heads (Voita et al. 2019, section 6.1), and its controls.

It has two phases. In the first one gates are learned, by hard concrete together with the weights, and in the second one
the weights are trained on without the heads whose gate is then zero. The same loop serves heads that are removed from
the start, and plain training: all of them have the same updates of the weights, batches, dropout and learning rates,
and differ only in their gates.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, single_units
from headroom.core.progress import Steps
from headroom.core.resamples import Resamples
from headroom.core.table import signature
from headroom.experiments.gates.declared import GateSettings, GateTrainingSettings
from headroom.experiments.training.declared import TRAINING
from headroom.methods.judging import difference
from headroom.methods.learned_gates import FixedGates, GateSource, HardConcreteGates, by_site
from headroom.methods.orders import least_important_first, random_order, take_first
from headroom.models.batch import Batch
from headroom.models.engine import EvaluationSet, Outcome
from headroom.models.head_model import HeadModel

_CLIP = 1.0  # maximum norm of the weights' gradient


def continue_training(
    model: HeadModel,
    *,
    batches: Sequence[Batch],
    source: GateSource,
    heads: Sequence[Head],
    scope: str,
    settings: GateTrainingSettings,
    seed: int,
    when_learned: Callable[[], None] = lambda: None,
) -> None:
    """Train a model further, in place, under gates; leaves it in eval mode and without gates.

    The loss is the mean negative log-likelihood of a target in nats, plus the penalty of gates that are being learned.
    Gates, if the source has any to learn, are learned for `settings.gate_updates` and then fixed at 0 or 1. The weights
    have `settings.weight_updates` under any gates: their learning rate is constant and then, for the last
    `settings.updates`, falls linearly to zero. The learning rate of gates is constant.

    Args:
        model: A trained model.
        batches: Training batches, reshuffled after every pass.
        source: The source of the gates of each batch.
        heads: The heads with a gate, in the order of the source's values.
        scope: `all` trains all weights, `E` only those of the encoder.
        settings: Updates and learning rates.
        seed: The seed of the order of batches and of dropout.
        when_learned: Called when gates have been learned, before any update under fixed gates, with the model in eval
            mode and without gates.

    Raises:
        HeadroomError: If the loss is NaN.
    """
    weights, gates = model.trainable(scope), source.parameters()
    learning = settings.gate_updates if gates else 0
    optimizer, schedule = _make_optimizer(weights, gates, settings)
    model.model.train().requires_grad_(False)
    for weight in weights:
        weight.requires_grad_(True)
    torch.manual_seed(seed)
    steps = Steps("further training", settings.weight_updates, "updates")
    try:
        for update, batch in enumerate(_draw_batches(batches, settings.weight_updates, f"batches {seed}")):
            if update == learning > 0:
                _interrupt(model, when_learned)
            is_learning = update < learning
            values = source.draw() if is_learning else source.kept()
            at_sites = by_site(values.to(model.device), heads, model.sites)
            loss = _step(model, batch, at_sites, source.penalty() if is_learning else None, optimizer)
            if loss != loss:
                raise HeadroomError(f"update {update + 1}: the loss is NaN; lower gates.gate_learning_rate")
            schedule.step()
            steps.step(f"loss {loss:.3f}")
    finally:
        model.gates.clear()
        model.model.eval().requires_grad_(False)


def _make_optimizer(
    weights: Sequence[Tensor], gates: Sequence[Tensor], settings: GateTrainingSettings
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """Return the optimizer of weights and gates, and the learning rates of all updates."""
    optimizer = torch.optim.Adam(
        [{"params": weights, "lr": settings.rate}, {"params": gates, "lr": settings.gate_learning_rate}],
        betas=(0.9, 0.98),
    )
    rates = [falling(settings.weight_updates, settings.updates), lambda _: 1.0]
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rates)


def _interrupt(model: HeadModel, call: Callable[[], None]) -> None:
    """Call a function with the model in eval mode and without gates."""
    model.gates.clear()
    model.model.eval()
    call()
    model.model.train()


def count_updates(path: Path) -> int:
    """Return the number of updates of a model by the table of its training; HeadroomError if it is missing."""
    table = TRAINING.read(path)
    updates = table.loc[table["measure"] == "updates", "value"]
    if updates.empty:
        raise HeadroomError(f"{path}: no row with the measure updates; give the table of the stage training")
    return int(updates.max())


def build_signature(settings: GateSettings, seed: int) -> str:
    """Return the signature of a further training."""
    updates = {"gate_updates": settings.gate_updates, "updates": settings.updates}
    rates = {"lr": f"{settings.rate:g}", "gate_lr": f"{settings.gate_learning_rate:g}"}
    return signature(**updates, batch=settings.batch_examples, **rates, seed=seed)


def falling(total: int, last: int) -> Callable[[int], float]:
    """Return the factor of the weights' learning rate by update: 1, then in the `last` of `total` from 1 down to 0."""
    return lambda update: min(1.0, (total - update) / last)


def _step(
    model: HeadModel, batch: Batch, gates: Any, penalty: Tensor | None, optimizer: torch.optim.Optimizer
) -> float:
    """Do one update; return the mean loss of a target in nats."""
    model.gates.set(gates)
    nats, targets = model.losses(batch)  # (B,), (B,)
    loss = nats.sum() / targets.sum()
    optimizer.zero_grad()
    (loss if penalty is None else loss + penalty.to(loss.device)).backward()
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], _CLIP)
    optimizer.step()
    return float(loss.detach())


def _draw_batches(batches: Sequence[Batch], updates: int, seed: str) -> Iterator[Batch]:
    """Yield one batch per update, each batch once per pass."""
    order = random.Random(seed)
    left: list[Batch] = []
    for _ in range(updates):
        if not left:
            left = order.sample(list(batches), len(batches))
        yield left.pop()


@dataclass(frozen=True)
class FurtherTraining:
    """One further training."""

    method: str
    """The source of its gates."""
    setting: float
    """Lambda, or the number of heads kept."""
    draw: int
    """Number of its random layout, from 1; 0 for none."""
    source: GateSource
    name: str
    """Name of its model's directory: the configured lambda or share."""


def list_learned(settings: GateSettings, heads: int, seed: int) -> Iterator[FurtherTraining]:
    """Yield the further trainings with learned gates, for a number of heads in scope."""
    for strength in settings.penalties:
        gates = HardConcreteGates(heads=heads, strength=strength, seed=seed)
        yield FurtherTraining("hard-concrete", strength, 0, gates, f"{strength:g}")


def controls(
    settings: GateSettings, heads: Sequence[Head], scores: Mapping[Head, float], seed: int
) -> Iterator[FurtherTraining]:
    """Yield the controls of learned gates: all heads, the best by a criterion, random ones.

    All have the same further training as learned gates, so that they differ only in the heads kept (Prasanna et al.
    2020 retrain random layouts; Voita et al. 2019 have no such control).
    """
    yield FurtherTraining("continued", len(heads), 0, FixedGates(frozenset(), heads), "all")
    units = single_units(heads)
    for share in settings.kept_shares:
        name, k = f"{share:g}", round(share * len(heads))
        gone = take_first(least_important_first(scores, units), len(units) - k)
        yield FurtherTraining("gradient", k, 0, FixedGates(gone, heads), f"gradient-{name}")
        for draw in range(1, settings.random_draws + 1):
            gone = take_first(random_order(units, 1000 * seed + draw), len(units) - k)
            yield FurtherTraining("random", k, draw, FixedGates(gone, heads), f"random{draw}-{name}")


def compare(
    judged: EvaluationSet, full: Outcome, after: Outcome, about: str, resamples: Resamples
) -> Iterator[dict[str, Any]]:
    """Yield, per metric, the columns from `set` to `p_sacrebleu` and the signature of a model and the full one.

    The scores of the main metric on the set's resamples are added to `resamples`.
    """
    for metric in judged.metrics:
        columns, _ = difference(judged, metric, full, after)
        kept = (after, full) if metric == judged.metrics[0] else ()
        resamples.add(*(outcome.resampled[metric] for outcome in kept))
        yield columns | {"signature": f"{judged.signature(metric)}|{about}"}
