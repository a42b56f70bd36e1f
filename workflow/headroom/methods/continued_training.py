"""Training a model further while gates decide which heads stay (Voita et al. 2019, section 6.1).

The same loop serves learned gates, heads that are gone from the start, and plain training: so that all of them
have the same updates, batches and learning rates, and differ in their gates alone.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.engines.head_model import HeadModel
from headroom.methods.learned_gates import GateSource, by_site
from headroom.settings.experiments import GateTrainingSettings

logger = logging.getLogger(__name__)

_CLIP = 1.0  # largest norm of the weights' gradient
_EVERY = 20.0  # seconds between two lines of progress


def continue_training(
    model: HeadModel,
    *,
    batches: Sequence[Any],
    source: GateSource,
    heads: Sequence[Head],
    scope: str,
    settings: GateTrainingSettings,
    seed: int,
) -> None:
    """Train a model further, in place, under gates; leaves it in eval mode and without gates.

    The loss is the mean negative log-likelihood of a target in nats, plus the gates' penalty. The weights'
    learning rate falls linearly to zero once the gates are no longer learned alone; that of the gates stays.

    Args:
        model: A trained model.
        batches: Training batches; drawn anew in a random order whenever all were used.
        source: Where the gates of each batch come from.
        heads: The heads that have a gate, in the order of the source's values.
        scope: `all` trains all weights, `E` those of the encoder alone.
        settings: Updates and learning rates.
        seed: Of the order of batches and of dropout.

    Raises:
        HeadroomError: If the loss is no number any more.
    """
    weights = model.trainable(scope)
    optimizer = torch.optim.Adam(
        [
            {"params": weights, "lr": settings.learning_rate},
            {"params": source.parameters(), "lr": settings.gate_learning_rate},
        ],
        betas=(0.9, 0.98),
    )
    first = round(source.alone * settings.updates)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, [falling(first, settings.updates), lambda _: 1.0])
    torch.manual_seed(seed)
    model.model.train()
    for weight in weights:
        weight.requires_grad_(True)
    try:
        start = said = time.monotonic()
        for update, batch in enumerate(_drawn(batches, settings.updates, seed)):
            gates = source.draw(update / settings.updates)
            loss = _step(model, batch, by_site(gates.to(model.device), heads, model.sites), source.penalty(), optimizer)
            _check(loss, update)
            schedule.step()
            if time.monotonic() - said > _EVERY:
                said = time.monotonic()
                left = (said - start) / (update + 1) * (settings.updates - update - 1)
                logger.info("update %d/%d  loss %.3f  %.0f s left", update + 1, settings.updates, loss, left)
    finally:
        model.gates.clear()
        model.model.eval().requires_grad_(False)


def falling(first: int, updates: int) -> Callable[[int], float]:
    """Return what the weights' learning rate is multiplied by: 0 before update `first`, then from 1 down to 0."""
    return lambda update: (updates - update) / (updates - first) if update >= first else 0.0


def _step(model: HeadModel, batch: Any, gates: Any, penalty: Tensor, optimizer: torch.optim.Optimizer) -> float:
    """Do one update; return the mean loss of a target in nats."""
    model.gates.set(gates)
    nats, targets = model.losses(batch)  # (B,), (B,)
    loss = nats.sum() / targets.sum()
    optimizer.zero_grad()
    (loss + penalty.to(loss.device)).backward()
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], _CLIP)
    optimizer.step()
    return float(loss.detach())


def _drawn(batches: Sequence[Any], updates: int, seed: int) -> Iterator[Any]:
    """Yield as many batches as there are updates, each batch once before any comes again."""
    order = random.Random(f"batches {seed}")
    left: list[Any] = []
    for _ in range(updates):
        if not left:
            left = order.sample(list(batches), len(batches))
        yield left.pop()


def _check(loss: float, update: int) -> None:
    if loss != loss:
        raise HeadroomError(f"the loss is no number after {update + 1} updates: lower the learning rate of the gates")
