"""Check the files, functions, layers and names in docs/walkthrough.md against the project."""

import ast
import re
import tomllib
from pathlib import Path

import grimp
import pytest
from headroom.__main__ import STAGES
from headroom.core import tables
from headroom.settings.tasks import ClassificationSettings, TranslationSettings
from whole_project import ROOT

PAGE = (ROOT / "docs" / "walkthrough.md").read_text()
PATH = re.compile(r"`(workflow/[\w/.-]+\.(?:py|smk))`")
NAMED = re.compile(r"`(workflow/[\w/.-]+\.(?:py|smk)|[A-Z]\w+(?:\.\w+)?(?:\(\))?|\w+\(\))`")
RULES = "".join(path.read_text() for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")))


def section(title: str) -> str:
    """Return the text under a heading that begins so."""
    return PAGE.partition(f"\n## {title}")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the rows of a table without its heading, cell by cell the words in backticks."""
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[" ".join(re.findall(r"`([^`]+)`", cell)) for cell in line.strip("|").split("|")] for line in lines]


def names_in(path: str) -> set[str]:
    """Return the functions, classes, members of classes and constants of a module."""
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        found |= defined(node)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for inner in node.body for name in defined(inner)}
    return found


def defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    return {target.id for target in targets if isinstance(target, ast.Name)}


def walks() -> dict[tuple[str, str], None]:
    """Return the files that the walks name, and each function and class with the file that was named before it."""
    found = []
    for title in ("Walk 1", "Walk 2", "Walk 3"):
        for step in re.split(r"\n(?=\d+\. )", section(title))[1:]:
            path = ""
            for word in NAMED.findall(step.partition("\n\n")[0]):
                path, name = (word, "") if "/" in word else (path, word)
                found.append((path, name))
    return dict.fromkeys(found)


@pytest.mark.parametrize(("path", "name"), walks())
def test_what_the_walks_name_is_there(path: str, name: str) -> None:
    assert (ROOT / path).is_file()
    function, files = name.removesuffix("()"), [path]
    if "." in name or name == function:  # a class, or a member of one, that another step may be about
        files = [other for other, _ in walks() if other.endswith(".py")]
    assert not name or any(function in names_in(other) for other in files)


def layer_of(path: str) -> int:
    """Return the index of a file's layer, top layer first; -1 for rules."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.removeprefix("headroom.") for layer in contracts[0]["layers"]]
    return layers.index(path.split("/")[2]) if path.startswith("workflow/headroom/") else -1


def test_the_walk_to_an_ablation_row_goes_down_alone() -> None:
    files = list(dict.fromkeys(PATH.findall(section("Walk 1"))))
    assert len(files) <= 12
    layers = [layer_of(path) for path in files]
    assert layers == sorted(layers)
    graph = grimp.build_graph("headroom", cache_dir=None, exclude_type_checking_imports=True)
    modules = [path.removeprefix("workflow/").removesuffix(".py").replace("/", ".") for path in files[1:]]
    for place, module in enumerate(modules):
        imported = graph.find_modules_directly_imported_by(module)
        assert all(layer_of(file_of(module)) <= layer_of(file_of(other)) for other in imported), module
        package = module.rpartition(".")[0]  # core/tables is imported as a whole
        importers = {
            *graph.find_modules_that_directly_import(module),
            *graph.find_modules_that_directly_import(package),
        }
        by_name = module.startswith("headroom.stages.") or module.endswith(".translation.engine")
        assert by_name or importers & set(modules[:place]), module


def file_of(module: str) -> str:
    return f"workflow/{module.replace('.', '/')}.py"


def test_layers_are_those_of_the_package() -> None:
    named = [cells[0].rstrip("/") for cells in rows(section("Layers"))]
    folders = [path.parent.name for path in (ROOT / "workflow" / "headroom").glob("*/__init__.py")]
    assert sorted(named) == sorted(folders)
    assert [layer_of(f"workflow/headroom/{name}/x.py") for name in named] == sorted(
        range(1, len(named) + 1), reverse=True
    )


def test_nouns_are_those_of_the_project() -> None:
    settings = {*TranslationSettings.model_fields, *ClassificationSettings.model_fields}
    found = rows(section("Nouns"))
    assert [cells[2] for cells in found if cells[2] not in STAGES] == []
    assert {*STAGES} - {cells[2] for cells in found} == {"report", "compare", "docs", "power", "reference"}
    for _, keys, stage, rules, results, sections in found:
        assert set(keys.split()) <= settings
        assert all(re.search(rf'\brule {rule}:|as {rule} with:|"{rule}"', RULES) for rule in rules.split())
        assert all((ROOT / f"workflow/headroom/report/sections/{name}.py").is_file() for name in sections.split())
        written = {table.name for table in tables.ALL.by_name.values() if stage in table.writers}
        assert written <= {name.removesuffix(".csv").rstrip("/") for name in results.split()}, stage
    assert {name for cells in found for name in cells[1].split()} == settings - {"detailed_seeds"}


def test_every_addition_has_its_test() -> None:
    found = rows(section("How to add"))
    assert [Path(cells[2].split()[0]).is_file() for cells in found] == [True] * 7
