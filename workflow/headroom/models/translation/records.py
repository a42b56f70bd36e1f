"""What a training tells while it runs, and what it keeps of an epoch."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from headroom.ground.files import atomic_path


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch cost and gained. Losses are in nats per target piece, without label smoothing.

    Norms are means over updates: of all gradients before clipping; of those of the heads' query, key and value
    weights as the optimizer is handed them, and as the loss has them where an arm rewrites them.
    """

    epoch: int
    train_loss: float
    valid_loss: float
    seconds: float
    words_per_second: float
    updates: int
    gradient_norm: float
    head_gradient_norm: float
    plain_head_gradient_norm: float | None


def write_record(record: EpochRecord, work: Path) -> None:
    """Leave the record of an epoch beside its model."""
    with atomic_path(work / f"epoch{record.epoch}.json") as temporary:
        temporary.write_text(json.dumps(asdict(record)), "utf-8")


def read_record(work: Path, epoch: int) -> EpochRecord:
    """Return the record that `train` left of an epoch."""
    return EpochRecord(**json.loads((work / f"epoch{epoch}.json").read_text("utf-8")))
