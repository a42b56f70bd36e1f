"""Models are read as data alone, and no program of a model's author is run; ruff's rules S forbid other such calls."""

import ast
from pathlib import Path

import headroom
import pytest

PACKAGE = Path(headroom.__file__).parent


@pytest.mark.parametrize(
    ("function", "needed"), [("torch.load", "weights_only=True"), (".from_pretrained", "trust_remote_code=False")]
)
def test_models_are_read_as_data(function: str, needed: str) -> None:
    nodes = [node for path in PACKAGE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(function)]
    assert calls
    settings = "GenerationConfig."  # numbers alone
    assert [
        call.lineno for call in calls if needed not in ast.unparse(call) and settings not in ast.unparse(call)
    ] == []
