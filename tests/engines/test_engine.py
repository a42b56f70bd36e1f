"""Both engines implement the interface of the stages, and a stage loads only the parts that it lists."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import headroom.engines
import headroom.stages
import pytest
from headroom.engines.engine import ENGINES, PARTS, Engine, chosen_engine, engine_for
from headroom.sources import DECLARATIONS, Sources

STAGES = {path.stem: path for path in sorted(Path(headroom.stages.__path__[0]).glob("*.py"))}
METHODS = [name for name, _ in inspect.getmembers(Engine, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_offers_the_protocol(name):
    engine = engine_for(name)
    assert engine.loss
    for method in (*METHODS, "__init__"):
        assert inspect.signature(getattr(engine, method)).parameters.keys() == (
            inspect.signature(getattr(Engine, method)).parameters.keys()
        ), method


def test_the_engine_is_chosen_by_its_flag_wherever_it_stands():
    assert chosen_engine(["--run", "x", "--task", "classification", "--help"]) is engine_for("classification")
    assert chosen_engine(["--task=classification"]) is engine_for("classification")
    assert chosen_engine(["--run", "classification"]) is engine_for("translation")


def called(tree: ast.AST, owner: str) -> set[str]:
    """Return the names of what is called on an object, e.g. `load` of `engine.load(...)`."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner
    }


def parts_by_method(engine: str) -> dict[str, set[str]]:
    """Return the parts that each method of an engine imports, itself or through others of its methods."""
    methods = {}
    for path in ("engine.py", f"{engine}/engine.py"):
        text = Path(headroom.engines.__path__[0], path).read_text("utf-8")
        classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
        owner = next(node for node in classes if node.name.endswith("Engine"))
        methods |= {node.name: node for node in owner.body if isinstance(node, ast.FunctionDef)}

    def parts(name: str) -> set[str]:
        nodes = list(ast.walk(methods[name]))
        found = {(node.module or "").rpartition(".")[2] for node in nodes if isinstance(node, ast.ImportFrom)}
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "self._part"]
        found |= {ast.literal_eval(call.args[0]) for call in calls}
        return found.union(*(parts(other) for other in called(methods[name], "self") & methods.keys()))

    return {name: parts(name) for name in METHODS}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_names_the_parts_behind_what_it_calls(stage, engine):
    tree = ast.parse(STAGES[stage].read_text("utf-8"))
    uses = {name: value for name, value in constants(tree).items() if name == "USES"}
    methods = called(tree, "engine") & set(METHODS)
    behind = set().union(*(parts_by_method(engine)[name] for name in methods))
    assert behind <= set(PARTS)
    assert uses == ({"USES": tuple(part for part in PARTS if part in behind)} if methods else {})


def constants(tree: ast.Module) -> dict[str, object]:
    """Return the constants of a module that are written out."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def test_a_command_line_waits_for_no_engine():
    code = "import sys; import headroom.engines.engine as e; e.chosen_engine(['--task', 'classification']); "
    code += "assert not {'torch', 'fairseq', 'transformers', 'headroom.engines.translation'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(headroom.stages.__path__[0]).parents[1])


LOADS = """
import sys
from headroom.stages import {stage}
{stage}.main(sys.argv[1:])
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("headroom.")))
"""


def test_what_a_running_stage_loads_is_in_its_import_closure(toy, tmp_path):
    place = ["--vocabulary", str(toy.data), "--corpus", str(toy.corpus), "--device", "cpu"]
    words = ["--checkpoints", str(toy.checkpoints[-1]), *place, "--set", "check", "--output", str(tmp_path / "s.csv")]
    root = Path(headroom.stages.__path__[0]).parents[1]
    command = [sys.executable, "-c", LOADS.format(stage="scores"), *words]
    ended = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    declarations = tuple(str(root.joinpath(*name.split("."))) for name in DECLARATIONS)
    loaded = {file for file in ended.stdout.split() if not file.startswith(declarations)}
    found = set(Sources(root).of_stage("scores", "translation"))
    assert {
        file for file in loaded - found if "/methods/criteria/" not in file
    } == set()  # of these it calls no function
