"""Arms as fairseq is told of them. Importing this module registers the optimizer and the criterion."""

from headroom.methods import regularised_loss, repulsive_adam
from headroom.settings.arms import Arm, GradientArm, format_arm

__all__ = ["arm_arguments", "regularised_loss", "repulsive_adam"]


def arm_arguments(arm: Arm, seed: int) -> list[str]:
    """Return the fairseq arguments that choose optimizer and criterion of an arm; they come after all others.

    Args:
        arm: The arm; its heads and attention dropout are the model's business.
        seed: Of what the arm draws at random.
    """
    _, *words = format_arm("", arm.model_copy(update={"heads": None, "attention_dropout": None}))
    if arm.method == "baseline":
        return ["--optimizer", "adam"]
    if isinstance(arm, GradientArm):
        return ["--optimizer", "repulsive_adam", "--repulsion", " ".join(words), "--repulsion-seed", str(seed)]
    named = ["--regularisation", " ".join(words), "--regularisation-seed", str(seed)]
    return ["--optimizer", "adam", "--criterion", "regularised_cross_entropy", *named]
