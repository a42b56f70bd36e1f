import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import yaml
from headroom.__main__ import STAGES
from headroom.core.errors import HeadroomError
from headroom.report.study_tables import COLUMNS
from headroom.settings.study import Study
from headroom.settings.tasks import ClassificationSettings, TranslationSettings
from headroom.stages import docs
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from whole_project import Project

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
TABLE = ROOT / "docs" / "configuration.md"
PAGES = [ROOT / "README.md", ROOT / "config" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
STUDIES = [ROOT / "config.yaml", *sorted((ROOT / "studies").glob("*.yaml"))]
WRITTEN_BY = {
    "training": "train.COLUMNS",
    "evaluation": "evaluate.COLUMNS",
    "scores": "score.COLUMNS",
    "ablation": "ablate.COLUMNS",
    "keep_one": "keep.COLUMNS",
    "agreement": "agree.COLUMNS",
    "curves": "prune.COLUMNS",
    "dynamics": "prune.COLUMNS",
    "settling": "settle.COLUMNS",
    "parameters": "count.COLUMNS",
    "removal": "remove.COLUMNS",
    "timing": "speed.COLUMNS",
    "timing_samples": "speed.SAMPLE_COLUMNS",
    "diversity": "diversify.COLUMNS",
    "pointing": "observe.COLUMNS",
    "roles": "label.COLUMNS",
    "relevance": "attribute.COLUMNS",
    "gates": "gate.GATES",
    "pruned": "gate.COLUMNS",
    "criteria": "correlate.COLUMNS",
    "update_cost": "cost.COLUMNS",
    "repulsion": "compare.COLUMNS",
    "overlaps": "overlap.COLUMNS",
}


class TestConfiguration:
    def test_schema_and_table_say_what_the_models_say(self) -> None:
        docs.main(["--check", "--schema", str(SCHEMA), "--table", str(TABLE)])

    def test_a_stale_page_is_told(self, tmp_path: Path) -> None:
        stale = tmp_path / "table.md"
        stale.write_text(TABLE.read_text().replace("`seeds`", "`seed`"))
        with pytest.raises(HeadroomError, match=r"table\.md is not what .* run `make docs`"):
            docs.main(["--check", "--schema", str(SCHEMA), "--table", str(stale)])

    def test_schema_is_a_schema(self) -> None:
        Draft202012Validator.check_schema(yaml.safe_load(SCHEMA.read_text()))

    @pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.name)
    def test_schema_takes_every_study(self, study: Path) -> None:
        Draft202012Validator(yaml.safe_load(SCHEMA.read_text())).validate(yaml.safe_load(study.read_text()) or {})

    @pytest.mark.parametrize(
        "wrong",
        [{"sedes": [1]}, {"translation": {"model": {"head": 8}}}, {"translation": {"training": {"epochs": "many"}}}],
    )
    def test_schema_refuses_misspelt_and_ill_typed_keys(self, wrong: dict[str, Any]) -> None:
        assert not Draft202012Validator(yaml.safe_load(SCHEMA.read_text())).is_valid(wrong)

    def test_every_key_is_in_the_table_with_its_meaning(self) -> None:
        documented = {row[0]: row for row in rows(TABLE.read_text())}
        found = dict(keys(Study))
        assert {"seeds", "translation.model.heads", "classification.<name>.pruning.step"} <= set(found)
        for path, description in found.items():
            assert description, f"{path} has no description"
            assert len(documented[f"`{path}`"]) == 4
            assert documented[f"`{path}`"][3], path

    def test_defaults_are_those_of_the_models(self) -> None:
        documented = {row[0]: row[2] for row in rows(TABLE.read_text())}
        assert documented["`translation.training.epochs`"] == f"`{TranslationSettings().training.epochs}`"
        assert documented["`classification.<name>.training.epochs`"] == f"`{ClassificationSettings().training.epochs}`"
        assert documented["`seeds`"] == f"`{list(Study.model_fields['seeds'].default)}`"
        assert documented["`mirror`"] == "`null`"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted path and description of every key in plain sections, straight from the models."""
    for name, field in model.model_fields.items():
        inner = [part for part in (field.annotation, *get_args(field.annotation)) if isinstance(part, type)]
        sections = [part for part in inner if issubclass(part, BaseModel)]
        place = f"{prefix}{name}" + (".<name>" if get_origin(field.annotation) is dict else "")
        if len(sections) == 1:
            yield from keys(sections[0], f"{place}.")
        elif not sections and get_origin(field.annotation) is not dict:
            yield place, field.description or ""


def rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of every row of every Markdown table."""
    for line in text.split("\n"):
        if line.startswith("| "):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class TestDataDictionary:
    @pytest.fixture(scope="class")
    def sections(self) -> dict[str, str]:
        sections = re.split(r"^## ", (ROOT / "docs" / "tables.md").read_text(), flags=re.M)[1:]
        return {section.partition("\n")[0]: section.partition("\n")[2] for section in sections}

    def test_every_table_has_its_section(self, sections: dict[str, str]) -> None:
        assert list(sections)[1:] == list(COLUMNS)

    @pytest.mark.parametrize("table", COLUMNS)
    def test_columns_are_those_written(self, table: str, sections: dict[str, str]) -> None:
        module, _, constant = WRITTEN_BY[table].partition(".")
        written = getattr(importlib.import_module(f"headroom.{module}"), constant)
        listed = tuple(re.findall(r"`(\w+)`", sections[table].strip().partition("\n")[0]))
        assert listed == written == COLUMNS[table]

    @pytest.mark.parametrize("table", COLUMNS)
    def test_every_column_is_explained(self, table: str, sections: dict[str, str]) -> None:
        text = sections["Columns that recur"] + sections[table]
        explained = {name for row in rows(text) for name in re.findall(r"`(\w+)`", row[0])}
        assert set(COLUMNS[table]) <= explained

    @pytest.mark.parametrize(
        ("table", "module", "constant"),
        [
            ("Columns that recur", "ground.heads", "KINDS"),
            ("Columns that recur", "ground.translation_metrics", "METRICS"),
            ("Columns that recur", "ground.classification_metrics", "METRICS"),
            ("scores", "methods.importance", "CRITERIA"),
            ("Columns that recur", "methods.scores", "NORMALISATIONS"),
            ("curves", "methods.importance", "CRITERIA"),
            ("timing", "methods.workload", "PARTS"),
            ("timing", "methods.encoder_workload", "PARTS"),
        ],
    )
    def test_every_value_is_explained(self, table: str, module: str, constant: str, sections: dict[str, str]) -> None:
        for value in getattr(importlib.import_module(f"headroom.{module}"), constant):
            assert f"`{value}`" in sections[table]


class TestPages:
    @pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
    def test_links_lead_somewhere(self, page: Path) -> None:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            if "://" not in link:
                assert target.exists(), link
                assert not anchor or anchor in anchors(target), link

    @pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
    def test_commands_and_files_named_exist(self, page: Path) -> None:
        text = page.read_text()
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
        assert set(re.findall(r"`make ([a-z-]+)", text)) <= set(targets)
        assert set(re.findall(r"python -m headroom (\w+)", text)) <= set(STAGES)
        for path in re.findall(r"`((?:workflow|studies|envs|profiles|tests|config)/[\w./-]+\w)`", text):
            assert (ROOT / path).exists(), path

    def test_the_readme_counts_the_table_of_faults(self) -> None:
        listed = Project(ROOT).run("pytest", "--collect-only", "-q", "-m", "faults", "tests/faults").output
        cells = sum(int(number) for number in re.findall(r"^tests/faults/\w+\.py: (\d+)$", listed, flags=re.M))
        assert f" a table: {cells} cells, " in (ROOT / "README.md").read_text(), listed

    def test_the_catalogue_finds_the_workflow(self) -> None:
        assert "snakemake workflow" in (ROOT / "README.md").read_text().lower()
        assert (ROOT / "workflow" / "Snakefile").exists()
        assert (ROOT / "config" / "README.md").exists()
        usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
        assert usage["software-stack-deployment"]["conda"] is True


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
