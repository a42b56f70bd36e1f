"""Pieces read from the states that a model projects to logits, a part of the vocabulary at a time.

A batch's logits of all pieces are its largest tensor by far: to write and to read them takes longer than to compute
them. Losses and the likeliest pieces are therefore found part by part, at the positions that are asked for alone.
Results are those of whole logits up to rounding.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

_ROOM = {"cpu": 2**20, "cuda": 2**26}
"""Logits that exist at a time, by the type of the device: about as many as its caches, or memory, hold with ease."""

Parts = Iterable[tuple[int, Tensor]]
"""The first piece of each part of the vocabulary, and the logits of the part, (N, pieces) in float32 or better."""


class Readout:
    """The projection of a model's last states to the logits of all pieces.

    The first pass shows whether the logits are nothing but this projection. If they are not, because a model caps or
    scales them for example, whole logits are computed, and read in parts.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._projects: bool | None = None

    def parts(self, run: Callable[[], Tensor], places: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Yield the parts of the logits of a pass at some places; see `Parts`. They may be changed.

        Args:
            run: A pass of the model, which returns its logits, (B, T, V).
            places: The positions that are read, (B, T); there are N of them.
        """
        cut, pieces = self._run(run, places)
        room = _ROOM.get(places.device.type, 2**20)
        width = max(1, room // max(1, int(places.sum())))
        for start in range(0, pieces, width):
            logits = cut(slice(start, start + width))
            yield start, logits.to(torch.promote_types(logits.dtype, torch.float32))

    def _run(self, run: Callable[[], Tensor], places: Tensor) -> tuple[Callable[[slice], Tensor], int]:
        """Run a pass, and return what computes the logits of some pieces (N, pieces), and the number of all pieces."""
        output: Any = self._model.get_output_embeddings()
        if self._projects is None:
            self._projects = type(output) is nn.Linear and self._is_whole(output, run)
        if not self._projects:
            logits = run()
            return lambda pieces: logits[..., pieces][places], logits.shape[-1]
        with _kept_from(output) as states:
            run()
        (read,) = states
        chosen, bias = read[places], self._bias(output)  # (N, D)
        weight = output.weight

        def project(pieces: slice) -> Tensor:
            return nn.functional.linear(chosen, weight[pieces], None if bias is None else bias[pieces])

        return project, len(weight)

    def _is_whole(self, output: nn.Linear, run: Callable[[], Tensor]) -> bool:
        """Return whether the logits of a pass are those of the projection, called once, with the model's own bias."""
        projected: list[Tensor] = []
        handle = output.register_forward_hook(lambda _, __, found: projected.append(found))
        logits = run()
        handle.remove()
        added = self._added()
        return len(projected) == 1 and torch.equal(
            logits, (projected[0] if added is None else projected[0] + added).to(logits.dtype)
        )

    def _added(self) -> Tensor | None:
        """Return what BART and its like add to the projection, (1, V); None if that is zero."""
        added: Tensor | None = getattr(self._model, "final_logits_bias", None)
        return added if added is not None and added.any() else None

    def _bias(self, output: nn.Linear) -> Tensor | None:
        own, added = output.bias, self._added()
        if added is None or own is None:
            return own if added is None else added[0]
        return own + added[0]


@contextmanager
def _kept_from(output: Any) -> Iterator[list[Tensor]]:
    """Keep the states that a projection is called with from it within a block; it returns logits without any row."""
    states: list[Tensor] = []

    def keep(given: Tensor) -> Tensor:
        states.append(given)
        return given.new_zeros(0, 1, output.out_features)

    output.forward = keep
    try:
        yield states
    finally:
        del output.forward


def read_pieces(parts: Parts, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihood of the targets in nats (N,), and the likeliest pieces (N,).

    `target` are the right pieces at the places of the parts, (N,).
    """
    best = _Best(target)
    wanted, sums = torch.full_like(target, -torch.inf, dtype=torch.float64), []
    for start, logits in parts:
        place = target - start
        inside = (place >= 0) & (place < logits.shape[1])
        own = logits.gather(1, place.clamp(0, logits.shape[1] - 1)[:, None])[:, 0]
        wanted = torch.where(inside, own.double(), wanted)
        largest = best.add(start, logits).clamp(min=torch.finfo(logits.dtype).min)  # of impossible pieces alone, too
        sums.append(logits.sub_(largest[:, None]).exp_().sum(1).double().log() + largest)
    return (torch.stack(sums).logsumexp(0) - wanted).to(logits.dtype), best.pieces


def best_pieces(parts: Parts, like: Tensor) -> Tensor:
    """Return the likeliest pieces at the places of the parts, (N,), as integers like those of a tensor (N,)."""
    best = _Best(like)
    for start, logits in parts:
        best.add(start, logits)
    return best.pieces


class _Best:
    """The likeliest pieces so far; of equal ones the first."""

    def __init__(self, like: Tensor) -> None:
        self.pieces = torch.zeros_like(like)
        self._values = torch.full_like(like, -torch.inf, dtype=torch.float64)

    def add(self, start: int, logits: Tensor) -> Tensor:
        """Take a part into account, and return its largest logits, (N,)."""
        values, places = logits.max(1)
        better = values > self._values
        self.pieces = torch.where(better, places + start, self.pieces)
        self._values = torch.where(better, values.double(), self._values)
        return values
