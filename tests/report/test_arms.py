"""What the configuration says of arms reaches the tables: methods, sites, shapes, order."""

import json
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.report.arms import ArmDescription
from headroom.report.claims.paired import main_pair, repulsive_pairs
from headroom.report.configuration import arms_in, read_configuration
from headroom.report.palette import arm_colour, arm_marker
from headroom.report.sections.arm_numbers import arms_with_lines, without_lines
from headroom.report.selection import folded_runs
from report.claim_tables import scored, study

CONFIGURATION = {
    "translation": {
        "model": {"heads": 8, "attention_dropout": 0.0},
        "arms": {
            "plain": {"method": "baseline", "heads": None, "attention_dropout": None},
            "first": {"method": "svgd", "sites": ["first"], "heads": 8, "attention_dropout": 0.1, "alpha": 0.001},
            "small": {"method": "baseline", "heads": 4},
        },
    },
    "classification": {"sst2": {"encoder": {"heads": 12}, "arms": {"spos": {"method": "spos"}}}, "cola": {}},
}


def test_arms_are_read_with_what_is_their_own(tmp_path: Path) -> None:
    path = tmp_path / "configuration.json"
    path.write_text(json.dumps(CONFIGURATION))
    found = arms_in(read_configuration(path))
    assert list(found) == ["translation", "sst2"]
    assert found["translation"]["plain"] == ArmDescription("plain", "baseline")
    first = found["translation"]["first"]
    assert first.shape == (None, 0.1)  # 8 heads are those of the model
    assert (first.is_first, first.is_everywhere, first.is_repulsive) == (True, False, True)
    assert first.others == (("alpha", "0.001"),)
    assert found["translation"]["small"].shape == (4, None)
    assert found["sst2"]["spos"].is_everywhere


@pytest.mark.parametrize("configuration", [None, {}, [], "text", {"translation": None}, {"train": {"arms": 1}}])
def test_a_configuration_may_say_nothing_of_arms(configuration: object) -> None:
    assert arms_in(configuration) == {}


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match="cannot read the configuration"):
        read_configuration(tmp_path / "absent.json")


@pytest.mark.parametrize(("sites", "first"), [(("E1", "A1"), True), (("first",), True), (("E1", "E2"), False)])
def test_sites_of_layer_one_are_first(sites: tuple[str, ...], first: bool) -> None:
    assert ArmDescription("any", "svgd", sites).is_first == first


def test_arms_come_in_the_order_of_the_configuration(tmp_path: Path) -> None:
    rows = scored(svgd=[1], other=[1], zeta=[1], plain=[1], baseline=[1])
    arms = [ArmDescription("plain", "baseline"), ArmDescription("zeta", "svgd"), ArmDescription("absent", "spos")]
    tables = study(tmp_path, known=arms, evaluation=rows)
    assert tables.arm_names == ["plain", "zeta", "baseline", "other", "svgd"]
    assert [arm.method for arm in tables.described_arms] == ["baseline", "svgd", "baseline", "other", "svgd"]
    assert tables.of_task("translation").arm_names == tables.arm_names


def test_without_a_configuration_the_name_is_the_method(tmp_path: Path) -> None:
    tables = study(tmp_path, evaluation=scored(svgd=[1], baseline=[1], svgd_first=[1]))
    assert [(arm.name, arm.method) for arm in tables.described_arms] == [
        ("baseline", "baseline"), ("svgd", "svgd"), ("svgd-first", "svgd-first"),
    ]  # fmt: skip
    pair = main_pair(tables)
    assert pair is not None
    assert (pair.arm.name, pair.reference.name) == ("svgd", "baseline")


def test_the_main_pair_repels_everywhere_in_the_model_of_the_first_baseline(tmp_path: Path) -> None:
    arms = [
        ArmDescription("baseline", "baseline"),
        ArmDescription("first", "svgd", sites=("first",)),
        ArmDescription("few", "svgd", heads=2),
        ArmDescription("noisy", "spos"),
        ArmDescription("dropped", "svgd", attention_dropout=0.1),
        ArmDescription("dropping", "baseline", attention_dropout=0.1),
        ArmDescription("main", "svgd"),
    ]
    rows = scored(**{arm.name: [1] for arm in arms})
    tables = study(tmp_path / "1", known=arms, evaluation=rows)
    pair = main_pair(tables)
    assert pair is not None
    assert (pair.arm.name, pair.reference.name) == ("main", "baseline")
    assert [(one.arm.name, one.reference.name) for one in repulsive_pairs(tables)] == [
        ("first", "baseline"), ("noisy", "baseline"), ("dropped", "dropping"), ("main", "baseline"),
    ]  # fmt: skip
    without = study(tmp_path / "2", known=arms, evaluation=[row for row in rows if "main" not in row["run"]])
    pair = main_pair(without)
    assert pair is not None
    assert pair.arm.name == "noisy"
    assert main_pair(study(tmp_path / "3", known=arms, evaluation=scored(baseline=[1], few=[1]))) is None


def test_ten_arms_differ_in_colour_and_shape_together() -> None:
    arms = [f"arm{place}" for place in range(25)]
    looks = {(arm_colour(arm, arms).variable, arm_marker(arm, arms)) for arm in arms}
    assert len(looks) == 25


def test_only_five_arms_get_lines_among_them_the_main_pair(tmp_path: Path) -> None:
    names = ["baseline", "a", "b", "c", "d", "svgd"]
    arms = [ArmDescription(name, name) for name in names]
    tables = study(tmp_path, known=arms, evaluation=scored(**{name: [1] for name in names}))
    assert arms_with_lines(tables) == ["baseline", "a", "b", "c", "svgd"]
    assert without_lines(tables)
    few = study(tmp_path / "few", evaluation=scored(baseline=[1], svgd=[1]))
    assert without_lines(few) == ""


def test_of_many_runs_one_of_every_arm_is_folded() -> None:
    assert folded_runs(["t.a.seed2", "t.b.seed1"]) == ["t.a.seed2", "t.b.seed1"]
    runs = [f"t.{arm}.seed{seed}" for arm in "abcdefghijk" for seed in (1, 2, 3)][1:]
    assert folded_runs(runs) == ["t.a.seed2", *(f"t.{arm}.seed1" for arm in "bcdefgh")]
