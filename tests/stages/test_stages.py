"""Common properties of all stages: fast start, help with every setting, one-line errors for wrong values."""

import importlib
import inspect
import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path

import headroom
import pytest
from headroom.core.command import run
from headroom.engines.command import engine_for
from headroom.study.stages import STAGES, module_of

MODULES = {name: importlib.import_module(module_of(name)) for group in STAGES.values() for name in group}
TAKES = {name: [*inspect.signature(module.build_parser).parameters] for name, module in MODULES.items()}

HEAVY = ("torch", "pandas", "scipy", "fairseq", "transformers", "sacrebleu", "seaborn", "matplotlib")
EVERY_PARSER = f"""
import importlib, inspect, sys
from headroom.study.stages import STAGES, module_of
from headroom.engines.command import ENGINES, LIBRARIES, engine_for
for name in [name for group in STAGES.values() for name in group]:
    build = importlib.import_module(module_of(name)).build_parser
    (takes,) = [*inspect.signature(build).parameters] or [""]
    for given in {{"engine": map(engine_for, ENGINES), "engine_name": LIBRARIES}}.get(takes, [None]):
        build(*[given] * bool(takes)).format_help()
    print(name, *[module for module in {HEAVY} if module in sys.modules])
"""


def parser_of(name):
    build, takes = MODULES[name].build_parser, TAKES[name]
    return build({"engine": engine_for("seq2seq"), "engine_name": "fairseq"}.get(takes[0])) if takes else build()


def required(parser):
    """Return a value for every flag that must be given."""
    return [text for action in parser._actions if action.required for text in (action.option_strings[0], "x")]


def test_command_lines_wait_for_no_heavy_library():
    """All parsers in one process: what one of them imports shows."""
    inside = {**os.environ, "PYTHONPATH": str(Path(headroom.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", EVERY_PARSER], env=inside, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == set(MODULES)


def test_a_wrong_value_is_named_in_one_line_before_any_work(tmp_path, monkeypatch):
    """Of every stage and flag that is a number."""
    monkeypatch.chdir(tmp_path)
    tried, wrong = 0, []
    for name in (one for one in MODULES if one != "update_cost"):  # its arms are read first
        for action in (one for one in parser_of(name)._actions if "." in one.dest):  # keys of the configuration
            variant = action.dest.startswith(("arm.", "encoder.", "released.", "ablation.far_sets"))  # or a text
            if variant or action.choices or not re.search(r"\(default: (null|none|\d[\d. e-]*)\)$", action.help):
                continue
            flag = action.option_strings[0]
            with redirect_stderr(io.StringIO()) as stream, pytest.raises(SystemExit) as caught:
                run(MODULES[name].main, [*required(parser_of(name)), flag, "many"])
            told = stream.getvalue()
            tried += 1
            if caught.value.code != 2 or not re.fullmatch(f"error: {flag} many: .*\n", told) or any(tmp_path.iterdir()):
                wrong.append((name, flag, told))
    assert not wrong, wrong
    assert tried > 80
