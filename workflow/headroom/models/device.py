"""Where to compute, and from which random numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from headroom.ground.errors import HeadroomError


def pick_device(device: str) -> torch.device:
    """Return the device that `auto`, `cpu` or `cuda` stands for.

    Raises:
        HeadroomError: If CUDA is asked for and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise HeadroomError("device: cuda was asked for, but torch sees no CUDA device; use auto or cpu")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Draw torch's random numbers from a seed within a block, and go on afterwards as if nothing had been drawn.

    Args:
        seed: The seed; None changes nothing.
    """
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
