"""Arms in the configuration and on the command line."""

import argparse

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.settings.arms import (
    ARMS,
    ArmSettings,
    BaselineArm,
    DisagreementOutputArm,
    DisagreementPositionArm,
    DisagreementSubspaceArm,
    DropHeadArm,
    HeadMaskArm,
    NoiseArm,
    RepulsionLossArm,
    RepulsionOnlyArm,
    ScaledArm,
    SmoothingArm,
    SposArm,
    SvgdArm,
    add_arm,
    arm_from,
    check_arm,
    format_arm,
    parse_arm,
    shaped,
)
from headroom.settings.models import ModelSettings
from pydantic import TypeAdapter, ValidationError

PARTICLES = {"stepsize": 0.5, "strength": 0.25, "particles": "joined", "median": "with-diagonal"}
EVERY = {"heads": 2, "attention_dropout": 0.125, "sites": ("E", "D2")}
REPELLING = {**EVERY, **PARTICLES, "alpha": 0.75}
UNUSUAL = [
    BaselineArm(heads=2, attention_dropout=0.125),
    *(SvgdArm(**REPELLING), SposArm(**REPELLING, beta=1e-07), SmoothingArm(**EVERY, **PARTICLES)),
    *(RepulsionOnlyArm(**REPELLING), ScaledArm(**REPELLING), NoiseArm(**REPELLING)),
    *(DisagreementSubspaceArm(**EVERY, weight=0.3), DisagreementPositionArm(**EVERY, weight=3)),
    *(DisagreementOutputArm(**EVERY, weight=1 / 3), RepulsionLossArm(**EVERY, weight=0)),
    *(HeadMaskArm(**EVERY, masked=3), DropHeadArm(**EVERY, rate=0.2)),
]
"""One arm of every method with nothing at its default."""


def from_configuration(**arm):
    return TypeAdapter(dict[str, ArmSettings]).validate_python({"mine": arm})["mine"]


def test_the_methods():
    assert set(ARMS) == {
        *("baseline", "svgd", "spos", "smoothing", "repulsion-only", "scaled", "noise"),
        *("disagreement-subspace", "disagreement-position", "disagreement-output", "repulsion-loss"),
        *("headmask", "drophead"),
    }
    assert [arm.method for arm in UNUSUAL] == list(ARMS)


@pytest.mark.parametrize("method", ARMS)
def test_a_method_alone_has_its_defaults(method):
    found = from_configuration(method=method)
    assert type(found) is ARMS[method]
    assert found == ARMS[method]()
    assert found.method == method


@pytest.mark.parametrize("arm", UNUSUAL, ids=lambda arm: arm.method)
def test_every_setting_can_be_configured(arm):
    written = arm.model_dump()
    assert all(value != ARMS[arm.method]().model_dump()[key] for key, value in written.items() if key != "method")
    assert from_configuration(**written) == arm


@pytest.mark.parametrize("arm", [*UNUSUAL, *(model() for model in ARMS.values())], ids=lambda arm: arm.method)
def test_words_round_trip(arm):
    words = format_arm("mine", arm)
    assert parse_arm(words) == ("mine", arm)
    assert not any(" " in word for word in words)  # they are put behind each other and split at spaces


def test_words_of_an_arm():
    assert format_arm("b", BaselineArm()) == ["b", "method=baseline"]
    words = format_arm("mine", DropHeadArm(sites=("E", "A2"), heads=4, rate=0.5))
    assert words[0] == "mine"
    assert sorted(words[1:]) == ["heads=4", "method=drophead", "rate=0.5", "sites=E,A2"]


def test_words_in_any_order_and_number_format():
    assert parse_arm(["x", "alpha=1e-2", "sites=first", "method=svgd"]) == ("x", SvgdArm(alpha=0.01, sites=("first",)))


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


def refused(*words):
    with pytest.raises(HeadroomError) as caught:
        parse_arm(["mine", *words])
    return str(caught.value)


def refused_in_configuration(method, word):
    key, _, value = word.partition("=")
    with pytest.raises(ValidationError) as caught:
        from_configuration(method=method, **{key: value.split(",") if key == "sites" else value})
    return caught.value.errors()[0]


@pytest.mark.parametrize(("method", "word"), WRONG)
def test_wrong_values_are_refused(method, word):
    key, _, value = word.partition("=")
    message = refused(f"method={method}", word)
    assert message.startswith(f"arm mine, {key}")
    assert f"'{value}'" in message or key == "sites"
    assert refused_in_configuration(method, word)["loc"][:3] == ("mine", method, key)


@pytest.mark.parametrize(("method", "word"), MISPLACED)
def test_settings_of_other_methods_are_refused(method, word):
    key = word.partition("=")[0]
    assert refused(f"method={method}", word) == f"arm mine: {key} has no meaning with method {method}; leave it out"
    error = refused_in_configuration(method, word)
    assert (error["loc"], error["type"]) == (("mine", method, key), "extra_forbidden")


def test_messages_say_what_is_wrong():
    message = refused("method=svgd", "alpha=-1")
    assert message == "arm mine, alpha: Input should be greater than or equal to 0 (found: '-1')"
    message = refused("method=svgd", "sites=E,X2")
    assert "arm mine, sites: 'X2' names no sites: write all, first, a kind (E, A, D) or a site such as E2" in message
    assert "arm mine, sites: sites are named twice" in refused("method=svgd", "sites=E,A,E")


def test_unknown_and_missing_methods():
    unknown, missing, nothing = refused("method=sgvd"), refused("alpha=0.1"), refused()
    assert unknown.startswith("arm mine: the method 'sgvd' is unknown; choose one of baseline, svgd, ")
    assert missing.startswith("arm mine: method is missing; write method=..., one of baseline, svgd, ")
    assert missing == nothing
    assert all(method in message for method in ARMS for message in (unknown, missing))
    with pytest.raises(ValidationError, match="'sgvd'"):
        from_configuration(method="sgvd")


def test_a_word_that_is_no_setting():
    assert refused("svgd") == "arm mine: 'svgd' is not a setting; write key=value, e.g. method=svgd"


def test_sites_in_the_configuration_are_a_list():
    assert from_configuration(method="svgd", sites=["E", "A1"]).sites == ("E", "A1")
    for wrong in ([], "E", None):
        with pytest.raises(ValidationError):
            from_configuration(method="svgd", sites=wrong)


@pytest.mark.parametrize(
    ("sites", "acted_on"),
    [
        (("all",), "E1 E2 E12 A1 D1 D2"),
        (("first",), "E1 A1 D1"),
        (("E",), "E1 E2 E12"),
        (("E1",), "E1"),
        (("D2", "A"), "A1 D2"),
        (("first", "E2"), "E1 E2 A1 D1"),
    ],
)
def test_sites_acted_on(sites, acted_on):
    there = [Site("E", 1, 4), Site("E", 2, 4), Site("E", 12, 4), Site("A", 1, 4), Site("D", 1, 4), Site("D", 2, 4)]
    for model in (SvgdArm, DropHeadArm, DisagreementOutputArm):
        assert " ".join(str(site) for site in there if model(sites=sites).acts_on(site)) == acted_on


def from_command_line(*arguments):
    parser = argparse.ArgumentParser()
    add_arm(parser)
    return arm_from(parser.parse_args(arguments))


def test_command_line():
    assert from_command_line() == BaselineArm()
    found = from_command_line("--arm", "repelled", "method=svgd", "alpha=0.2", "sites=A,D")
    assert found == SvgdArm(alpha=0.2, sites=("A", "D"))
    with pytest.raises(HeadroomError, match="arm repelled, alpha: "):
        from_command_line("--arm", "repelled", "method=svgd", "alpha=much")


class TestCheck:
    sites = (Site("E", 1, 4), Site("E", 2, 2), Site("D", 1, 4))

    def refused(self, arm):
        with pytest.raises(ValueError) as caught:
            check_arm("translation.arms.mine", arm, self.sites)
        return str(caught.value)

    @pytest.mark.parametrize("word", ["E3", "A", "D2", "A1"])
    def test_a_site_that_the_model_has_not(self, word):
        message = self.refused(SvgdArm(sites=("E1", word)))
        assert message == f"translation.arms.mine.sites: the model has no site {word}; it has E1, E2, D1"

    @pytest.mark.parametrize(("masked", "sites"), [(2, ("all",)), (4, ("all",)), (2, ("E2",)), (3, ("E",))])
    def test_masking_every_head(self, masked, sites):
        small = "4 heads of E1" if masked == 4 else "2 heads of E2"
        message = self.refused(HeadMaskArm(masked=masked, sites=sites))
        assert message == f"translation.arms.mine.masked: {masked} of the {small} would leave none"

    @pytest.mark.parametrize(
        "arm",
        [
            *(BaselineArm(), SvgdArm(), SvgdArm(sites=("first", "E2")), HeadMaskArm(masked=1)),
            *(HeadMaskArm(masked=3, sites=("first",)), DropHeadArm(rate=0.9), RepulsionLossArm(sites=("D1", "E"))),
        ],
    )
    def test_what_can_be_trained(self, arm):
        check_arm("translation.arms.mine", arm, self.sites)


class TestShape:
    model = ModelSettings(heads=8, width=64, attention_dropout=0.1, dropout=0.2)

    @pytest.mark.parametrize("arm", [BaselineArm(), SvgdArm(), DropHeadArm()])
    def test_that_of_the_model_unless_an_arm_says_otherwise(self, arm):
        assert shaped(self.model, arm) == self.model

    def test_heads_and_dropout_of_an_arm(self):
        assert shaped(self.model, SvgdArm(heads=16)) == self.model.model_copy(update={"heads": 16})
        expected = self.model.model_copy(update={"heads": 1, "attention_dropout": 0.0})
        assert shaped(self.model, BaselineArm(heads=1, attention_dropout=0.0)) == expected

    def test_heads_that_do_not_divide_the_width(self):
        with pytest.raises(HeadroomError, match="heads: width 64 is not a multiple of heads 12"):
            shaped(self.model, BaselineArm(heads=12))


def test_a_setting_given_twice():
    with pytest.raises(HeadroomError, match="arm mine: alpha is given twice"):
        parse_arm(["mine", "method=svgd", "alpha=1", "alpha=2"])


@pytest.mark.parametrize("method", ["svgd", "disagreement-output"])
def test_a_head_alone_has_no_other_to_differ_from(method):
    sites = [Site("E", 1, 1), Site("E", 2, 1)]
    with pytest.raises(ValueError, match=r"mine\.heads: a head alone"):
        check_arm("mine", ARMS[method](), sites)
    check_arm("mine", ARMS[method](), [*sites, Site("E", 3, 2)])
    check_arm("mine", ARMS["drophead"](), sites)
