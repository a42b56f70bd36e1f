"""Arms in the configuration and on the command line."""

import argparse

import pytest
from headroom.ground.errors import HeadroomError
from headroom.settings.repulsion import (
    ArmSettings,
    BaselineArm,
    RepulsionSettings,
    SvgdArm,
    add_arm,
    arm_from,
    format_arm,
    parse_arm,
)
from pydantic import TypeAdapter, ValidationError


def from_command_line(*arguments):
    parser = argparse.ArgumentParser()
    add_arm(parser)
    return arm_from(parser.parse_args(arguments))


def test_configuration_chooses_by_method():
    arms = TypeAdapter(dict[str, ArmSettings]).validate_python(
        {"baseline": {"method": "baseline"}, "svgd": {"method": "svgd", "alpha": 0.05, "kinds": ["E"]}}
    )
    assert arms == {"baseline": BaselineArm(), "svgd": SvgdArm(alpha=0.05, kinds=("E",))}


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": -0.1},
        {"alpha": float("nan")},
        {"alpha": float("inf")},
        {"stepsize": 0},
        {"strength": 1.1},
        {"strength": -0.1},
        {"kinds": []},
        {"kinds": ["E", "E"]},
        {"kinds": ["X"]},
        {"alfa": 1},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        RepulsionSettings.model_validate(wrong)


def test_command_line():
    assert from_command_line() == BaselineArm()
    found = from_command_line("--method", "svgd", "--alpha", "0.2", "--kinds", "A", "D")
    assert found == SvgdArm(alpha=0.2, kinds=("A", "D"))


def test_command_line_refuses_repulsion_of_the_baseline():
    with pytest.raises(HeadroomError, match="--alpha has no meaning with --method baseline"):
        from_command_line("--alpha", "0.2")
    with pytest.raises(HeadroomError, match="--strength 2"):
        from_command_line("--method", "svgd", "--strength", "2")


@pytest.mark.parametrize("arm", [BaselineArm(), SvgdArm(), SvgdArm(alpha=1e-5, kinds=("D",), strength=0.5)])
def test_words_round_trip(arm):
    assert parse_arm(format_arm("mine", arm)) == ("mine", arm)
