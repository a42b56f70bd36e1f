"""The fairseq task `headroom_translation`: sites open to hooks, and known to the optimizer.

It differs from fairseq's `translation` in five ways:

- every site calls its output projection as a module, in training as in generation, so that hooks see z;
- the weights of a site's query, key and value projections say which site they belong to (`site_of`);
- it knows which batch of which update is in progress, for criteria that draw at random;
- with `--precision bfloat16` the forward pass runs under autocast on any device, the weights staying
  float32 (float16 is fairseq's own `--amp`, which scales the loss);
- under `--amp` gradients are divided by the loss scale once. fairseq divides twice, as it names two
  objects for one optimizer to torch's scaler: small gradients then drown in Adam's epsilon.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Site
from headroom.models.processes import process_count, this_process
from headroom.models.translation.sites import find_sites

from fairseq.dataclass import ChoiceEnum  # isort: skip
from fairseq.optim import AMPOptimizer  # isort: skip
from fairseq.tasks import register_task  # isort: skip
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # isort: skip

_TAG = "headroom_site"


@dataclass
class HeadroomTranslationConfig(TranslationConfig):
    """Options of fairseq's translation task, and the precision of the forward pass."""

    precision: ChoiceEnum(["float32", "bfloat16"]) = field(  # type: ignore[valid-type]
        default="float32", metadata={"help": "number format of the forward pass (autocast)"}
    )


@register_task("headroom_translation", dataclass=HeadroomTranslationConfig)
class HeadroomTranslationTask(TranslationTask):
    """Translation with sites open to hooks and known to the optimizer.

    Attributes:
        update: Number of updates before the one in progress.
        batch: Number of batches of that update before the one in progress, those of other processes among them.
    """

    update, batch = -1, -1

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> nn.Module:
        """Build the model and open its sites.

        Raises:
            HeadroomError: If a site fuses its projections, so that its heads have no rows of their own.
        """
        model: nn.Module = super().build_model(cfg, from_checkpoint)
        open_sites(model)
        return model

    def train_step(
        self,
        sample: Any,
        model: Any,
        criterion: Any,
        optimizer: Any,
        update_num: int,
        ignore_grad: bool = False,
    ) -> Any:
        """Run forward and backward of one batch; see fairseq's task."""
        self.batch = self.batch + process_count() if update_num == self.update else this_process()
        self.update = update_num
        return super().train_step(
            sample, model, self._in_precision(model, criterion), optimizer, update_num, ignore_grad
        )

    def valid_step(self, sample: Any, model: Any, criterion: Any) -> Any:
        """Compute the loss of one batch; see fairseq's task."""
        return super().valid_step(sample, model, self._in_precision(model, criterion))

    def optimizer_step(self, optimizer: Any, model: Any, update_num: int) -> None:
        """Update the weights; see fairseq's task."""
        if isinstance(optimizer, AMPOptimizer):
            optimizer.scaler.step(optimizer.optimizer)  # the object whose gradients were unscaled
            optimizer.scaler.update()
        else:
            super().optimizer_step(optimizer, model, update_num)

    def _in_precision(self, model: nn.Module, criterion: Any) -> Callable[[Any, Any], Any]:
        if str(self.cfg.precision) != "bfloat16":
            return criterion
        device = next(model.parameters()).device.type

        def compute(model: Any, sample: Any) -> Any:
            with torch.autocast(device, dtype=torch.bfloat16):
                return criterion(model, sample)

        return compute


def open_sites(model: nn.Module) -> None:
    """Make every site of a fairseq Transformer call its output projection, and tag its weights.

    Raises:
        HeadroomError: If a site fuses its projections.
    """
    for live in find_sites(model):
        attention: Any = live.attention
        attention.skip_embed_dim_check = True  # otherwise a fused path bypasses it at most sites
        for projection in live.inputs:  # query, key, value
            weight = getattr(getattr(attention, projection, None), "weight", None)
            if not isinstance(weight, nn.Parameter):
                raise HeadroomError(
                    f"site {live.site} has no {projection}.weight: fused projections are not supported; "
                    "use an architecture with separate query, key and value projections"
                )
            setattr(weight, _TAG, live.site)


def site_of(parameter: Tensor) -> Site | None:
    """Return the site whose query, key or value weight a parameter is; None for any other parameter.

    The rows of such a weight are the site's heads, in order and in blocks of equal size.
    """
    return getattr(parameter, _TAG, None)
