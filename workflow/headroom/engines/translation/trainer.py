"""fairseq's Trainer as this project uses it."""

from typing import Any

import numpy
import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.engines.processes import own_seed, this_process
from headroom.engines.removal import remove_heads
from headroom.engines.sites import site_names
from headroom.engines.translation.checkpoint import find_sites
from headroom.engines.translation.fairseq import VERSION as _VERSION  # noqa: F401  (imports fairseq quietly)

from fairseq import metrics, options, tasks, utils  # isort: skip
from fairseq.dataclass.utils import convert_namespace_to_omegaconf  # isort: skip
from fairseq.trainer import Trainer  # isort: skip

PLAIN_NORM = "plain_head_gnorm"
"""Under this name an optimizer that rewrites the gradients of heads logs their norm before."""


def configuration(arguments: list[str]) -> Any:
    """Return fairseq's configuration for a command line."""
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, input_args=arguments))


def build_trainer(cfg: Any, profile: str = "") -> Trainer:
    """Return fairseq's Trainer with task, model and criterion, seeded as `fairseq-train` does.

    Args:
        cfg: The configuration.
        profile: Heads that the model does not have: sliced out before it sees a sentence.

    Raises:
        HeadroomError: If the model has no such head.
    """
    utils.import_user_module(cfg.common)
    metrics.reset()
    numpy.random.seed(cfg.common.seed)
    utils.set_torch_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    if profile:
        _slice(model, profile)
    task.load_dataset("valid", combine=False, epoch=1)
    return _Trainer(cfg, task, model, task.build_criterion(cfg.criterion))


class _Trainer(Trainer):
    """fairseq's Trainer, but that processes draw their own dropout, and that it says why gradients end a training."""

    def _set_seed(self) -> None:
        utils.set_torch_seed(own_seed(self.cfg.common.seed + self.get_num_updates(), this_process()))

    def clip_grad_norm(self, clip_norm: float) -> Tensor:
        try:
            norm: Tensor = super().clip_grad_norm(clip_norm)
            finite = bool(torch.isfinite(norm)) or self.cfg.common.amp  # which makes its loss scale smaller
        except FloatingPointError:  # until it cannot
            finite = False
        if not finite:  # fairseq's own search for the reason fails on the way
            raise HeadroomError(
                f"the gradients of update {self.get_num_updates() + 1} are not finite: lower training.learning_rate, "
                "or use precision float32"
            )
        return norm


def _slice(model: Any, profile: str) -> None:
    sites = find_sites(model)
    remove_heads(sites, parse_profile(profile, site_names(sites)))
    for live in sites:
        if live.kept:
            attention: Any = live.attention
            attention.skip_embed_dim_check = True  # its heads are narrower together than the model
