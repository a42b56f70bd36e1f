"""Arms in the configuration and on the command line."""

import argparse

import pytest
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import Site
from headroom.settings.arms import (
    ARMS,
    ArmSettings,
    BaselineArm,
    DisagreementOutputArm,
    DisagreementPositionArm,
    DisagreementSubspaceArm,
    DropHeadArm,
    GrowthArm,
    HeadMaskArm,
    NoiseArm,
    RepulsionLossArm,
    RepulsionOnlyArm,
    ScaledArm,
    SmoothingArm,
    SposArm,
    SvgdArm,
    check_arm,
)
from pydantic import TypeAdapter, ValidationError

PARTICLES = {"stepsize": 0.5, "strength": 0.25, "particles": "joined", "median": "pairs"}
EVERY = {"heads": 2, "attention_dropout": 0.125, "sites": ("E", "D2")}
REPELLING = {**EVERY, **PARTICLES, "alpha": 0.75}
UNUSUAL = [
    BaselineArm(heads=2, attention_dropout=0.125),
    *(SvgdArm(**REPELLING), SposArm(**REPELLING, beta=1e-07), SmoothingArm(**EVERY, **PARTICLES)),
    *(RepulsionOnlyArm(**REPELLING), ScaledArm(**REPELLING), NoiseArm(**REPELLING), GrowthArm(**REPELLING)),
    *(DisagreementSubspaceArm(**EVERY, weight=0.3), DisagreementPositionArm(**EVERY, weight=3)),
    *(DisagreementOutputArm(**EVERY, weight=1 / 3), RepulsionLossArm(**EVERY, weight=0)),
    *(HeadMaskArm(**EVERY, masked=3), DropHeadArm(**EVERY, rate=0.2)),
]
"""One arm of every method with nothing at its default."""


def from_configuration(**arm):
    return TypeAdapter(dict[str, ArmSettings]).validate_python({"mine": arm})["mine"]


def test_every_method_is_tested():
    assert [arm.method for arm in UNUSUAL] == list(ARMS)


@pytest.mark.parametrize("arm", UNUSUAL, ids=lambda arm: arm.method)
def test_every_setting_can_be_configured(arm):
    written = arm.model_dump()
    assert all(value != ARMS[arm.method]().model_dump()[key] for key, value in written.items() if key != "method")
    assert from_configuration(**written) == arm


WRONG = [
    *(("svgd", word) for word in ("alpha=-0.1", "alpha=nan", "alpha=inf", "alpha=x", "alpha=")),
    *(("spos", word) for word in ("beta=-1", "beta=nan", "beta=inf")),
    *(("svgd", word) for word in ("stepsize=0", "stepsize=-1", "stepsize=inf", "stepsize=nan")),
    *(("smoothing", word) for word in ("strength=1.1", "strength=-0.1", "strength=nan")),
    *(("scaled", word) for word in ("particles=both", "median=mean", "heads=0", "heads=2.5")),
    *(("noise", word) for word in ("attention_dropout=1", "attention_dropout=-0.1")),
    *(("headmask", word) for word in ("masked=0", "masked=1.5")),
    *(("drophead", word) for word in ("rate=1", "rate=-0.1", "rate=nan")),
    *((f"disagreement-{of}", "weight=-1") for of in ("subspace", "position", "output")),
    *(("repulsion-loss", word) for word in ("weight=nan", "weight=inf")),
    *(("svgd", f"sites={word}") for word in ("", "X", "E0", "E01", "e", "E,E", "E1:2", "all,", "first2", "-E")),
]
MISPLACED = [
    *(("smoothing", "alpha=0.1"), ("svgd", "beta=0.1"), ("svgd", "alfa=1"), ("headmask", "rate=0.1")),
    *(("drophead", "masked=1"), ("baseline", "sites=E"), ("baseline", "alpha=0"), ("repulsion-loss", "alpha=1")),
    *(("spos", "noise=1"), ("drophead", "headmask=1"), ("drophead", "weight=1")),  # two are named like methods
]


def refused_in_configuration(method, word):
    key, _, value = word.partition("=")
    with pytest.raises(ValidationError) as caught:
        from_configuration(method=method, **{key: value.split(",") if key == "sites" else value})
    return caught.value.errors()[0]


@pytest.mark.parametrize(("method", "word"), WRONG)
def test_wrong_values_are_refused(method, word):
    key = word.partition("=")[0]
    assert refused_in_configuration(method, word)["loc"][:3] == ("mine", method, key)


@pytest.mark.parametrize(("method", "word"), MISPLACED)
def test_settings_of_other_methods_are_refused(method, word):
    key = word.partition("=")[0]
    error = refused_in_configuration(method, word)
    assert (error["loc"], error["type"]) == (("mine", method, key), "extra_forbidden")


def from_command_line(*arguments):
    parser = argparse.ArgumentParser()
    add_settings(parser, arm=ArmSettings)
    return settings_from(parser.parse_args(arguments), "arm", ArmSettings)


def test_command_line():
    assert from_command_line() == BaselineArm()
    found = from_command_line("--method", "svgd", "--alpha", "0.2", "--sites", "A", "D")
    assert found == SvgdArm(alpha=0.2, sites=("A", "D"))


class TestCheck:
    sites = (Site("E", 1, 4), Site("E", 2, 2), Site("D", 1, 4))

    def refused(self, arm):
        with pytest.raises(ValueError) as caught:
            check_arm("translation.arms.mine", arm, self.sites)
        return str(caught.value)

    @pytest.mark.parametrize("word", ["E3", "A", "D2", "A1"])
    def test_a_site_that_the_model_has_not(self, word):
        message = self.refused(SvgdArm(sites=("E1", word)))
        assert message == f"translation.arms.mine.sites: the model has no site {word}; choose from E1, E2, D1"

    @pytest.mark.parametrize(("masked", "sites"), [(2, ("all",)), (4, ("all",)), (2, ("E2",)), (3, ("E",))])
    def test_masking_every_head(self, masked, sites):
        small, most = ("E1", 3) if masked == 4 else ("E2", 1)
        message = self.refused(HeadMaskArm(masked=masked, sites=sites))
        assert message == f"translation.arms.mine.masked: {masked} exceeds the heads of {small}; give at most {most}"

    @pytest.mark.parametrize(
        "arm",
        [
            *(BaselineArm(), SvgdArm(), SvgdArm(sites=("first", "E2")), HeadMaskArm(masked=1)),
            *(HeadMaskArm(masked=3, sites=("first",)), DropHeadArm(rate=0.9), RepulsionLossArm(sites=("D1", "E"))),
        ],
    )
    def test_what_can_be_trained(self, arm):
        check_arm("translation.arms.mine", arm, self.sites)


@pytest.mark.parametrize("method", ["svgd", "disagreement-output"])
def test_a_head_alone_has_no_other_to_differ_from(method):
    sites = [Site("E", 1, 1), Site("E", 2, 1)]
    with pytest.raises(ValueError, match=r"mine\.heads: \S+ needs at least 2 heads"):
        check_arm("mine", ARMS[method](), sites)
    check_arm("mine", ARMS[method](), [*sites, Site("E", 3, 2)])
    check_arm("mine", ARMS["drophead"](), sites)
