"""Error messages on configurations, in addition to those of the models."""

from pathlib import Path
from typing import Any

import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.load import load_study, read_study

TASK = "classification.corpus"  # a task may be named as a section is


def wrong(configuration: Any) -> str:
    with pytest.raises(HeadroomError) as caught:
        load_study(configuration)
    return str(caught.value)


def labelled(task: str, **sections: Any) -> dict[str, Any]:
    return {"classification": {task: sections}}


def keys(configuration: Any) -> list[str]:
    """Return the key that each line of a message names, in order of the alphabet."""
    return sorted(line.removeprefix("configuration: ").partition(": ")[0] for line in wrong(configuration).split("\n"))


class TestKey:
    def test_is_without_the_form_of_its_section(self) -> None:
        files = {"source": "files"}
        assert keys(labelled("corpus", corpus=files)) == [f"{TASK}.corpus.{key}" for key in ("labels", "test", "valid")]
        arms = {"arms": {"method": "svgd", "alpha": "x"}}
        assert keys(labelled("arms", arms=arms)) == ["classification.arms.arms.arms.alpha"]
        assert keys({"translation": {"encoder": {"source": "new"}}}) == ["translation.encoder"]
        assert keys({"translation": {"arms": {"svgd": {"method": "svgd", "alfa": 1}}}}) == [
            "translation.arms.svgd.alfa"
        ]

    def test_is_followed_by_the_remedy_where_yaml_reads_no_text(self, tmp_path: Path) -> None:
        text = "study: 2026-01-31\nclassification: {mine: {corpus: {source: hub, dataset: 1.0, labels: [no, yes]}}}"
        (tmp_path / "mine.yaml").write_text(text)
        with pytest.raises(HeadroomError) as caught:
            read_study(str(tmp_path / "mine.yaml"))
        lines = str(caught.value).split("\n")
        assert len(lines) == 4  # without one on too few labels
        assert all(line.endswith("; put it in quotes") for line in lines)

    def test_is_told_once_where_several_sections_are_checked(self) -> None:
        model = {"model": {"width": 16, "heads": 2}, "arms": {"x": {"method": "svgd", "heads": 3}}}
        assert keys({"translation": model}) == ["translation.arms.x.heads"]


def test_a_section_without_its_source() -> None:
    told = wrong(labelled("rte", corpus={"dataset": "rte"}))
    assert told.startswith("configuration: classification.rte.corpus: the key 'source' is missing")


def test_values_whose_files_would_have_one_name() -> None:
    gates = {"penalties": [0.1234567, 0.12345671], "ways": []}
    assert keys({"translation": {"gates": gates}}) == ["translation.gates"]


def test_all_mistakes_are_named_in_one_run_a_line_each() -> None:
    within = {
        "seeds": ["one", 1, -1],
        "translation": {
            "modle": {},
            "training": {"epochs": "many"},
            "treebank": {"source": "files"},
            "arms": {"a": {"method": "nope"}},
        },
        "classification": {"rte": {"pruning": {"step": 2}}},
    }
    assert keys(within) == [
        "classification.rte.pruning.step",
        *("seeds.0", "seeds.2", "translation.arms.a", "translation.modle", "translation.training.epochs"),
        "translation.treebank.path",
    ]
    across = {
        "seeds": [1, 1],
        "gpus": 2,
        "translation": {"detailed_seeds": 3, "arms": {"a": {"method": "svgd", "heads": 3}}},
        "classification": {"rte": {"ablation": {"far_sets": ["moon"]}}},
    }
    assert keys(across) == [
        *("classification.rte.ablation.far_sets", "gpus", "seeds"),
        *("translation.arms.a.heads", "translation.detailed_seeds"),
    ]


def test_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("sedes: [1]\n")
    with pytest.raises(HeadroomError, match=r"mine\.yaml: sedes: "):
        read_study(str(tmp_path / "mine.yaml"))
