"""Arms: the ways to train, and repulsive attention among them."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError, field_validator

from headroom.ground.command import add_settings, settings_from
from headroom.ground.errors import HeadroomError
from headroom.settings.base import Settings

Kind = Literal["E", "A", "D"]


class RepulsionSettings(Settings):
    """Repulsive attention (An et al. 2020): the heads of a site as particles that repel each other."""

    alpha: float = Field(
        0.01, ge=0, allow_inf_nan=False, description="weight of the repulsion against the loss gradient"
    )
    stepsize: float = Field(
        0.01,
        gt=0,
        allow_inf_nan=False,
        description="factor on the rewritten gradient; Adam all but cancels it, gradient clipping does not",
    )
    strength: float = Field(
        1.0,
        ge=0,
        le=1,
        description="share of the rewriting: 0 is the plain gradient to the bit, 1 the full update",
    )
    kinds: tuple[Kind, ...] = Field(
        ("E", "A", "D"), description="kinds of sites whose heads repel: E, A, D", min_length=1
    )

    @field_validator("kinds")
    @classmethod
    def _no_kind_twice(cls, kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
        if len(set(kinds)) < len(kinds):
            raise ValueError("a kind is named twice")
        return kinds


class BaselineArm(Settings):
    """Ordinary training."""

    method: Literal["baseline"] = Field("baseline", description="way to train: baseline or svgd")


class SvgdArm(RepulsionSettings):
    """Repulsive attention by Stein variational gradient descent on Q, K and V of every site."""

    method: Literal["svgd"] = Field("svgd", description="way to train: baseline or svgd")


Arm = BaselineArm | SvgdArm
ArmSettings = Annotated[Arm, Field(discriminator="method")]
"""One entry of the section `arms`: `{method: baseline}` or `{method: svgd, alpha: 0.01, ...}`."""

ARMS: Mapping[str, type[BaselineArm] | type[SvgdArm]] = {"baseline": BaselineArm, "svgd": SvgdArm}
"""The model of every method."""


def add_arm(parser: argparse.ArgumentParser) -> None:
    """Add `--method` and the flags of every method to a stage's command line."""
    parser.add_argument("--method", choices=sorted(ARMS), default="baseline", help="way to train")
    add_settings(parser, RepulsionSettings)


def arm_from(arguments: argparse.Namespace) -> Arm:
    """Return the arm given on the command line.

    Raises:
        HeadroomError: If a value does not fit, or a flag has no meaning for the method.
    """
    model = ARMS[arguments.method]
    for name in RepulsionSettings.model_fields:
        if hasattr(arguments, name) and name not in model.model_fields:
            raise HeadroomError(f"--{name} has no meaning with --method {arguments.method}; leave it out")
    return settings_from(arguments, model)


def parse_arm(words: Sequence[str]) -> tuple[str, Arm]:
    """Return the name and the settings of an arm written as `svgd method=svgd alpha=0.01 kinds=E,A`.

    Raises:
        HeadroomError: If a setting is not of that form, unknown or wrong.
    """
    name, *settings = words
    given: dict[str, object] = {}
    for word in settings:
        key, equals, value = word.partition("=")
        if not equals:
            raise HeadroomError(f"arm {name}: '{word}' is not a setting; write key=value, e.g. method=svgd")
        given[key] = value.split(",") if key == "kinds" else value
    try:
        return name, TypeAdapter(ArmSettings).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "method"
        raise HeadroomError(f"arm {name}, {place}: {first['msg']} (found: {first['input']!r})") from error


def format_arm(name: str, arm: Arm) -> list[str]:
    """Return an arm as words; the inverse of `parse_arm`."""
    settings = arm.model_dump().items()
    return [name, *(f"{key}={','.join(v) if isinstance(v, tuple) else v}" for key, v in settings)]
