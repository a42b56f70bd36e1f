"""Times encoder, decoder and generation."""

from headroom.methods.workload import PARTS, workload

__all__ = ["PARTS", "workload"]
