"""Arms of fine-tunings: their changes to transformers' Trainer."""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from headroom.engines.hub.classifier.trainer import ArmHooks
from headroom.engines.hub.classifier.training import FineTuning
from headroom.engines.repulsion.particles import GradientRewriter
from headroom.engines.sites import Projections
from headroom.settings.arms import Arm, BaselineArm, GradientArm


def build_hooks(arm: Arm, seed: int) -> ArmHooks:
    """Return the changes of an arm to a fine-tuning."""
    given = {"num_attention_heads": arm.heads, "attention_probs_dropout_prob": arm.attention_dropout}
    configuration = {name: value for name, value in given.items() if value is not None}
    if isinstance(arm, BaselineArm) or arm.strength == 0:
        return ArmHooks(configuration)
    return ArmHooks(configuration, rewriter=partial(_rewriter, arm, seed))


def _rewriter(arm: GradientArm, seed: int, projections: Projections) -> Callable[[int], Tensor | None]:
    return GradientRewriter(projections, arm, seed=seed).rewrite


training = partial(FineTuning, changes_of=build_hooks)
"""Returns the training of a run in an arm, given its other arguments."""
