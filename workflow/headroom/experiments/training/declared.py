"""The jobs and the table of this experiment."""

from pathlib import Path
from typing import Any

from pydantic import Field, PositiveInt

from headroom.core.columns import RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table
from headroom.settings.arms import ArmSettings, BaselineArm
from headroom.settings.job import RunJob
from headroom.settings.models import Device


class TrainingJob(RunJob):
    """What every training is told."""

    work: Path = Field(description="directory of the resumable state of this run")
    checkpoints: Path | None = Field(
        None, description="directory for one checkpoint per epoch; required without `until`"
    )
    last_only: bool = Field(False, description="write only the last epoch's checkpoint")
    output: Path = Field(description="table of losses and speed per epoch")
    seed: int = Field(1, description="seed of weights, data order and dropout")
    device: Device = Field("auto", description="where to train")
    processes: PositiveInt = Field(
        1, description="processes that share the batches of every update, on CUDA with one GPU each"
    )
    until: PositiveInt | None = Field(
        None, description="stop after this epoch without checkpoints, for another job to resume; unset for all"
    )
    arm_name: str | None = Field(None, description="name of the arm in the table; unset for its method")
    arm: ArmSettings = BaselineArm()

    def shared(self) -> dict[str, Any]:
        """Return what the training of any library is given."""
        return {"arm": self.arm, "seed": self.seed, "device": self.device, "processes": self.processes}


TRAINING = Table(
    path="training/{run}.csv",
    key=("run", "epoch", "measure"),
    columns=(
        *RUN,
        Column(
            "measure",
            "text",
            "`train_loss`, `valid_loss`: nats per target token, without label smoothing, the second on the validation"
            " set; `seconds`: wall-clock time of the epoch without its validation; `words_per_second`: target tokens"
            " trained on per second (translation); `examples_per_second`: of classification; `valid_accuracy`: %"
            " (classification); `updates`: updates of the weights since training began; `gradient_norm`: mean norm of"
            " the gradient before clipping; `head_gradient_norm`: mean norm of the gradient of the heads' projections"
            " as used for updates; `plain_head_gradient_norm`: the same before the arm changed the "
            "gradient, if it does; `repulsion_ratio`: |alpha R| / |K G|, how large repulsion is relative to the"
            " gradient that the heads share, the mean over updates and systems (a projection of a site); only of arms"
            " that repel",
        ),
        VALUE,
        SIGNATURE,
    ),
    about="Losses, quality, time and gradient norms of every epoch of training.",
)
