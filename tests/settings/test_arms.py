"""Arms in the configuration and on the command line."""

import pytest
from headroom.core.heads import Site
from headroom.settings.arms import (
    ARMS,
    ArmSettings,
    BaselineArm,
    GrowthArm,
    NoiseArm,
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
]
"""One arm of every method with nothing at its default."""


def from_configuration(**arm):
    return TypeAdapter(dict[str, ArmSettings]).validate_python({"mine": arm})["mine"]


def test_every_setting_can_be_configured():
    assert [arm.method for arm in UNUSUAL] == list(ARMS)
    for arm in UNUSUAL:
        written = arm.model_dump()
        assert all(value != ARMS[arm.method]().model_dump()[key] for key, value in written.items() if key != "method")
        assert from_configuration(**written) == arm


class TestCheck:
    sites = (Site("E", 1, 4), Site("E", 2, 2), Site("D", 1, 4))

    def refused(self, arm):
        with pytest.raises(ValueError) as caught:
            check_arm("translation.arms.mine", arm, self.sites)
        return str(caught.value)

    def test_a_site_that_the_model_has_not(self):
        for word in ("E3", "A", "D2", "A1"):
            message = self.refused(SvgdArm(sites=("E1", word)))
            assert message == f"translation.arms.mine.sites: the model has no site {word}; choose from E1, E2, D1"

    def test_what_can_be_trained(self):
        for arm in (BaselineArm(), SvgdArm(), SvgdArm(sites=("first", "E2")), ScaledArm(sites=("D1", "E"))):
            check_arm("translation.arms.mine", arm, self.sites)


def test_a_head_alone_has_no_other_to_differ_from():
    sites = [Site("E", 1, 1), Site("E", 2, 1)]
    for method in ("svgd", "scaled"):
        with pytest.raises(ValueError, match=r"mine\.heads: \S+ needs at least 2 heads"):
            check_arm("mine", ARMS[method](), sites)
        check_arm("mine", ARMS[method](), [*sites, Site("E", 3, 2)])
    check_arm("mine", BaselineArm(), sites)
