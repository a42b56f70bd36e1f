"""Tables of a study as they are read: of its tasks, its arms, above chance, with their tests."""

import json
from pathlib import Path

import pytest
from headroom.experiments.ablation.claims import find_changed, right_or_wrong
from headroom.study.arms import ArmDescription
from headroom.study.configuration import read_configuration, tasks_in
from headroom.study.selection import measurable, with_scale, with_shares
from headroom.study.tables import TABLES, StudyTables, TaskDescription, open_tables
from tables import CLASSIFIER, RUN, classified, curve, effects, scored, study


def test_an_experiment_that_was_not_run_is_an_empty_table_with_its_columns() -> None:
    tables = StudyTables()
    for name, table in TABLES.items():
        assert tuple(tables.frame(name).columns) == table.names
        assert not tables.has(name)
    assert tables.runs == []


def test_a_view_has_the_rows_of_one_task(tmp_path: Path) -> None:
    rows = [*classified([{"value": 90.0}]), *scored(baseline=[30], svgd=[31])]
    made = study(tmp_path, evaluation=rows, update_cost=[{"arm": "svgd", "repeat": 0, "seconds": 1.0}])
    assert open_tables(made.files).tasks == ["sst2", "translation"]
    tables = open_tables(made.files, described={"translation": TaskDescription(), "sst2": TaskDescription()})
    assert tables.tasks == ["translation", "sst2"]  # in the order of the configuration
    assert tables.of_task("sst2").runs == [CLASSIFIER]
    assert tables.of_task("sst2").tasks == ["sst2"]
    assert tables.of_task("translation").arm_names == ["baseline", "svgd"]
    assert tables.of_task("translation").has("update_cost")
    assert not tables.of_task("sst2").has("update_cost")
    assert tables.of_task("sst2") is tables.of_task("sst2")


CONFIGURATION = {
    "tasks": {
        "translation": {
            "model": {"heads": 8, "attention_dropout": 0.0},
            "arms": {
                "plain": {"method": "baseline", "heads": None, "attention_dropout": None},
                "first": {"method": "svgd", "sites": ["first"], "heads": 8, "attention_dropout": 0.1, "alpha": 0.001},
                "small": {"method": "baseline", "heads": 4},
            },
        },
        "sst2": {"encoder": {"source": "hub"}, "arms": {"spos": {"method": "spos"}}},
        "cola": {},
    },
}


def test_arms_are_read_with_what_is_their_own(tmp_path: Path) -> None:
    path = tmp_path / "configuration.json"
    path.write_text(json.dumps(CONFIGURATION))
    found = {task: one.arms for task, one in tasks_in(read_configuration(path)).items()}
    assert list(found) == ["translation", "sst2", "cola"]
    assert found["translation"]["plain"] == ArmDescription("plain", "baseline")
    first = found["translation"]["first"]
    assert first.shape == (None, 0.1)  # 8 heads are those of the model
    assert (first.is_first, first.is_everywhere, first.is_repulsive) == (True, False, True)
    assert first.others == (("alpha", "0.001"),)
    assert found["translation"]["small"].shape == (4, None)
    assert found["sst2"]["spos"].is_everywhere
    assert (found["sst2"]["spos"].pretrained, first.pretrained) == (True, False)


def test_a_task_stands_on_a_ground() -> None:
    generated, named = {"source": "generated"}, {"source": "catalogue"}
    for section, ground, own_trees in (
        ({"corpus": generated, "treebank": generated}, "generated text", True),
        ({"corpus": named, "treebank": named}, "real text", False),
        ({"corpus": named, "encoder": {"source": "hub"}}, "pretrained encoder", False),
        ({"corpus": generated, "encoder": {"source": "new"}}, "generated text", False),
        ({"corpus": named, "released": {"path": "model"}}, "released model", False),
    ):
        found = tasks_in({"tasks": {"translation": section}})["translation"]
        assert (found.ground, found.own_trees) == (ground, own_trees)


def test_the_same_training_is_known_again(tmp_path: Path) -> None:
    def losses(*values: float, **more: object) -> list[dict[str, object]]:
        return [{"epoch": epoch, "measure": "valid_loss", "value": value} | more for epoch, value in enumerate(values)]

    first, again = (study(tmp_path / name, training=losses(3, 2)) for name in ("1", "2"))
    seconds = [*losses(3, 2), *losses(9, 8, measure="seconds")]
    assert first.trainings[RUN] == again.trainings[RUN] == study(tmp_path / "3", training=seconds).trainings[RUN]
    assert first.trainings[RUN] != study(tmp_path / "4", training=losses(3, 2.0001)).trainings[RUN]


def test_a_released_model_that_two_tasks_ask_is_one(tmp_path: Path) -> None:
    def scores(third: float) -> dict[str, list[float]]:
        return {"own": [30.0, 32.5, 31.0], "heads": [30.0, 32.5, third]}

    def trainings(third: float) -> set[str]:
        rows = [
            {"run": f"{task}.baseline.seed1", "epoch": epoch, "value": value}
            for task, values in scores(third).items()
            for epoch, value in enumerate(values, start=1)
        ]
        return set(study(tmp_path / str(third), evaluation=rows).trainings.values())

    assert len(trainings(31.0)) == 1
    assert len(trainings(31.1)) == 2


DOWN_TO_HALF = [100 - 5 * step for step in range(11)]


def test_shares_of_a_classifier_begin_at_chance(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning=classified(curve(DOWN_TO_HALF)), ablation=classified(effects([-1.0])))
    rows = with_shares(tables.pruning)
    assert set(rows["chance"]) == {50}
    assert list(rows["kept"]) == pytest.approx([100 - 10 * step for step in range(11)])
    assert list(with_scale(tables.ablation)["scale"]) == [50]


def test_a_share_needs_a_point_above_chance(tmp_path: Path) -> None:
    for lowest, expected in ((99.5, False), (99.0, True), (20.0, True)):
        tables = study(tmp_path / str(lowest), pruning=classified(curve([*[100] * 10, lowest])))
        assert measurable(with_shares(tables.pruning)).all() == expected


P = [0.0005, 0.0005, 0.0025, 0.2]
"""Times 4, 4, 2 (Holm: 0.002, 0.002, 0.005, 0.2); Benjamini-Hochberg: 0.001, 0.001, 0.0033, 0.2."""


def test_corrections_are_over_the_rows_given(tmp_path: Path) -> None:
    given = zip(classified(effects([-1.0] * 4)), P, (0.001, 0.02, 0.03, 1), (0.001, 0.002, 0.03, 1), strict=True)
    rows = [row | {"p": p, "p_mcnemar": p, "p_holm": holm, "p_bh": bh} for row, p, holm, bh in given]
    table = study(tmp_path, ablation=rows).ablation
    for column, correction, part, expected in (
        ("p_mcnemar", "none", False, 3),
        ("p_mcnemar", "Holm", False, 3),
        ("p_mcnemar", "Benjamini-Hochberg", False, 3),
        ("p", "Holm", False, 1),  # as the table says
        ("p", "Benjamini-Hochberg", False, 2),
        ("p", "Holm", True, 3),  # of some rows only: recomputed
    ):
        assert find_changed(table, column, correction, part=part).sum() == expected, (column, correction)


def test_right_answers_are_counted_on_the_judging_set_of_the_last_epoch(tmp_path: Path) -> None:
    tested = [row | {"p_mcnemar": 0.5} for row in classified(effects([-1.0] * 3))]
    rows = [
        *(row | {"metric": "matthews", "p_mcnemar": ""} for row in tested),
        *(row | {"set": "choose"} for row in tested),
        *(row | {"epoch": 1} for row in tested),
        *tested,
    ]
    found = right_or_wrong(study(tmp_path, ablation=rows).ablation)
    assert len(found) == 3
    assert set(found["set"]) == {"test"}
    assert set(found["epoch"]) == {8}
    assert set(found["metric"]) == {"accuracy"}


def test_a_corpus_is_the_same_whatever_of_it_is_used() -> None:
    captions = {"source": "catalogue", "dataset": "multi30k"}
    sections = {
        "all": {"corpus": captions | {"far": ["mscoco"]}},
        "half": {"corpus": captions | {"far": [], "train_share": 0.5}},
        "other": {"corpus": captions | {"dataset": "multi30k-french"}},
        "unknown": {"model": {"heads": 8}},
    }
    found = {task: one.corpus for task, one in tasks_in({"tasks": sections}).items()}
    assert found["all"] == found["half"] != found["other"]
    assert found["unknown"] == ""
