"""Arms, i.e. training methods: ordinary training, heads as particles that repel each other, and controls."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PositiveFloat, PositiveInt, field_validator

from headroom.core.heads import Site
from headroom.settings.base import Settings

_SITES = re.compile(r"all|first|[EAD]([1-9]\d*)?")

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class AnyArm(Settings):
    """Settings of every arm in addition to its method."""

    heads: PositiveInt | None = Field(
        None, description="heads per site in this arm, at the same width; unset for those of the model"
    )
    attention_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout on attention weights in this arm; unset for that of the model"
    )


class BaselineArm(AnyArm):
    """Ordinary training."""

    method: Literal["baseline"] = Field("baseline", description="ordinary training")


class ParticleArm(AnyArm):
    """The gradients of heads are rewritten as if the heads of a site were particles."""

    sites: tuple[str, ...] = Field(
        ("all",),
        min_length=1,
        description="sites it acts on: `all`, `first` (layer 1 of every kind), a kind (E, A, D) or a site (E2)",
    )
    stepsize: PositiveFloat = Field(
        0.01,
        allow_inf_nan=False,
        description="factor of the rewritten gradient; Adam nearly cancels it, gradient clipping does not",
    )
    strength: float = Field(
        1.0, ge=0, le=1, description="interpolation: 0 is exactly the plain gradient, 1 the full update"
    )
    particles: Literal["separate", "joined"] = Field(
        "separate",
        description="definition of a particle: a head's part of one projection (query, key and value are separate "
        "systems), "
        "or of all three together",
    )
    median: Literal["pairs", "with-diagonal"] = Field(
        "with-diagonal",
        description="distances that set the kernel's width: all, including the distance 0 of each head to itself, as "
        "in the code released with the paper, or those of pairs alone",
    )

    @field_validator("sites")
    @classmethod
    def _are_sites(cls, sites: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [word for word in sites if not _SITES.fullmatch(word)]:
            raise ValueError(f"unknown sites '{wrong[0]}'; write all, first, a kind (E, A, D) or a site such as E2")
        if len(set(sites)) < len(sites):
            raise ValueError("sites are given twice; give each once")
        return sites


class RepellingArm(ParticleArm):
    """Gradients are rewritten with a force between heads."""

    alpha: Weight | None = Field(
        None,
        description="weight of the repulsion against the loss gradient. Unset: the one at which repulsion is as strong "
        "relative to the gradient as the paper's 0.01 is at width 512 with 4 heads (IWSLT), by the model's width and "
        "heads",
    )


class SvgdArm(RepellingArm):
    """Repulsive attention (An et al. 2020) by Stein variational gradient descent."""

    method: Literal["svgd"] = Field("svgd", description="heads share gradients and repel each other")


class SposArm(RepellingArm):
    """Repulsive attention (An et al. 2020) by stochastic particle optimisation: svgd with noise."""

    method: Literal["spos"] = Field("spos", description="svgd, the head's own gradient, and noise")
    beta: Weight = Field(
        0.00001,
        description="weight of the head's own gradient; the noise is sqrt(2 beta stepsize) times the median of the "
        "gradient's entries",
    )


class SmoothingArm(ParticleArm):
    """Control: svgd without repulsion, alpha 0. Heads share gradients."""

    method: Literal["smoothing"] = Field("smoothing", description="svgd with alpha 0")


class RepulsionOnlyArm(RepellingArm):
    """Control: svgd with the identity as kernel on the gradient. Heads repel each other and share nothing."""

    method: Literal["repulsion-only"] = Field("repulsion-only", description="the head's own gradient and repulsion")


class ScaledArm(RepellingArm):
    """Control: the head's own gradient, scaled to the length of its part in the update of svgd."""

    method: Literal["scaled"] = Field("scaled", description="the gradient times the factor that svgd implies")


class NoiseArm(RepellingArm):
    """Control: the term that svgd adds to the gradient is replaced by isotropic noise of the same length."""

    method: Literal["noise"] = Field("noise", description="svgd's length, a random direction")


class GrowthArm(RepellingArm):
    """Control: svgd with a push away from the origin instead of repulsion, of the same length for every head."""

    method: Literal["growth"] = Field(
        "growth", description="svgd that pushes every head along its own weights, by the length of its repulsion"
    )


GradientArm = SvgdArm | SposArm | SmoothingArm | RepulsionOnlyArm | ScaledArm | NoiseArm | GrowthArm
"""Arms that rewrite the gradients of heads."""

Arm = BaselineArm | GradientArm
ArmSettings = Annotated[Arm, Field(discriminator="method")]
"""An entry of the section `arms`: `{method: baseline}` or `{method: svgd, alpha: 0.01, ...}`."""

ARMS: Mapping[str, Any] = {arm.model_fields["method"].default: arm for arm in get_args(Arm)}
"""The model of every method."""


def check_arm(name: str, arm: Arm, sites: Sequence[Site]) -> None:
    """Check that the model of a task can be trained in an arm.

    Args:
        name: The arm's name.
        arm: Its settings.
        sites: The sites of the model, with their heads in this arm.

    Raises:
        ValueError: If a named site does not exist, or has too few heads for the arm.
    """
    if not isinstance(arm, ParticleArm):
        return
    for word in arm.sites:
        if not any(site.is_among([word]) for site in sites):
            raise ValueError(f"{name}.sites: the model has no site {word}; choose from {', '.join(map(str, sites))}")
    if all(site.heads == 1 for site in sites if site.is_among(arm.sites)):
        raise ValueError(f"{name}.heads: {arm.method} needs at least 2 heads per site; increase heads")
