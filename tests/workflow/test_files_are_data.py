"""Files are never read by functions that can execute code: a check of all calls in the package's source."""

import ast
from collections.abc import Iterator

import pytest
from whole_project import ROOT

PACKAGE = ROOT / "workflow"

MODULES = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"}
"""Modules by which a file can run code."""

FUNCTIONS = {"eval", "exec", "yaml.load", "yaml.full_load", "yaml.unsafe_load", "torch.hub.load"}
"""Functions that run what they are given."""

METHODS = {"extractall", "unpack_archive", "read_pickle"}
"""Methods by which a file can run code, or choose where it is unpacked to."""

NEEDED = {"torch.load": "weights_only=True", "from_pretrained": "trust_remote_code=False"}
"""Calls that read data alone if they say so."""


def faults(source: str) -> list[str]:
    """Return the imports and calls of a source by which a file could be a program."""
    nodes = list(ast.walk(ast.parse(source)))
    imported = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    imported += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    calls = [fault for node in nodes if isinstance(node, ast.Call) for fault in faults_of(node)]
    return [name for name in imported if name.partition(".")[0] in MODULES] + calls


def faults_of(call: ast.Call) -> Iterator[str]:
    """Yield what is wrong with a call."""
    name = ast.unparse(call.func)
    last = name.rpartition(".")[2]
    given = {f"{one.arg}={ast.unparse(one.value)}" for one in call.keywords}
    if name in FUNCTIONS or last in METHODS or "allow_pickle=True" in given:
        yield name
    for wanted, flag in NEEDED.items():
        if wanted in (name, last) and flag not in given:
            yield f"{name} without {flag}"


def test_files_are_read_as_data() -> None:
    found = {str(path): faults(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    assert any(path.endswith("checkpoint.py") for path in found)
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "source", ["from pickle import load", "torch.load(path, weights_only=False)", "AutoConfig.from_pretrained(path)"]
)
def test_what_is_looked_for_is_found(source: str) -> None:
    assert faults(source) != []
