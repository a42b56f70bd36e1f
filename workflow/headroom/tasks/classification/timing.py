"""Times an encoder with its classifier."""

from headroom.methods.encoder_workload import PARTS, workload

__all__ = ["PARTS", "workload"]
