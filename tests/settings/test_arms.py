"""Arms in the configuration and on the command line."""

import pytest
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
from pydantic import TypeAdapter

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


@pytest.mark.parametrize("arm", UNUSUAL, ids=lambda arm: arm.method)
def test_every_setting_can_be_configured(arm):
    written = arm.model_dump()
    assert all(value != ARMS[arm.method]().model_dump()[key] for key, value in written.items() if key != "method")
    assert from_configuration(**written) == arm


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
