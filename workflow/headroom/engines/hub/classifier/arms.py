"""Arms of fine-tunings: their changes to transformers' Trainer."""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor

from headroom.engines.hub.classifier.trainer import ArmHooks
from headroom.engines.hub.classifier.training import FineTuning
from headroom.engines.hub.sites import attention_maps
from headroom.engines.repulsion.particles import GradientRewriter
from headroom.engines.repulsion.regularisers import regulariser
from headroom.engines.sites import AttentionSite, Projections
from headroom.engines.training import Regulariser
from headroom.settings.arms import Arm, BaselineArm, DisagreementPositionArm, ForwardArm, GradientArm


def build_hooks(arm: Arm, seed: int) -> ArmHooks:
    """Return the changes of an arm to a fine-tuning."""
    given = {"num_attention_heads": arm.heads, "attention_probs_dropout_prob": arm.attention_dropout}
    configuration = {name: value for name, value in given.items() if value is not None}
    if isinstance(arm, GradientArm):
        rewriter = partial(_rewriter, arm, seed) if arm.strength > 0 else None
        return ArmHooks(configuration, rewriter=rewriter)
    if isinstance(arm, BaselineArm):
        return ArmHooks(configuration)
    return ArmHooks(
        configuration,
        regulariser=partial(_regulariser, arm, seed),
        needs_maps=isinstance(arm, DisagreementPositionArm),
    )


def _rewriter(arm: GradientArm, seed: int, projections: Projections) -> Callable[[int], Tensor | None]:
    return GradientRewriter(projections, arm, seed=seed).rewrite


def _regulariser(arm: ForwardArm, seed: int, sites: Sequence[AttentionSite]) -> Regulariser:
    return regulariser(arm, sites, attention_maps, seed=seed, batch_first=True)


training = partial(FineTuning, changes_of=build_hooks)
"""Returns the training of a run in an arm, given its other arguments."""
