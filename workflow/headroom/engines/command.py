"""Command lines of stages that load a model: the engine is chosen by a flag, on which all other flags depend."""

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from headroom.core.command import add_run, stage_parser
from headroom.engines.engine import Engine

_HERE = Path(__file__).parent

ENGINES = {
    path.parent.name: ".".join(("headroom.engines", *path.parent.relative_to(_HERE).parts))
    for path in sorted(_HERE.rglob("engine.py"))
    if path.parent != _HERE
}
"""The packages of engines by name, that of their folder."""


LIBRARIES = {**ENGINES, "fairseq": "headroom.engines.fairseq"}
"""The packages of what trains models, or imports released ones."""


def import_part(engine: str, part: str) -> Any:
    """Import a module of the package of an engine or a library; no other one is loaded."""
    return importlib.import_module(f"{LIBRARIES[engine]}.{part}")


def add_engine(parser: argparse.ArgumentParser, engines: Iterable[str] = ENGINES, default: str = "seq2seq") -> None:
    """Add `--engine`, one of some engines or libraries."""
    help_ = "what runs, trains or imports the model; other flags depend on it"
    parser.add_argument("--engine", choices=list(engines), default=default, help=help_)


def model_parser(
    stage: str, description: str | None, engine: type[Engine], *, several: bool = False
) -> argparse.ArgumentParser:
    """Return the parser of a stage that loads a trained model, or one per epoch, with the flags for it."""
    parser = stage_parser(stage, description)
    add_run(parser)
    add_engine(parser)
    engine.add_model(parser, several=several)
    return parser


def given_engine(
    build_parser: Callable[[type[Engine]], argparse.ArgumentParser], arguments: Sequence[str] | None
) -> tuple[Engine, argparse.Namespace]:
    """Return the engine of `--engine`, and the command line parsed with the parser built for it."""
    engine = engine_for(chosen_engine(arguments))
    given = build_parser(engine).parse_args(arguments)
    return engine.from_flags(given), given


def chosen_engine(arguments: Sequence[str] | None, engines: Iterable[str] = ENGINES, default: str = "seq2seq") -> str:
    """Return the value of `--engine`; the rest of the command line depends on it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_engine(parser, engines, default)
    named, _ = parser.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    return str(named.engine)


def engine_for(name: str) -> type[Engine]:
    """Return the engine of this name, without loading the other ones."""
    engine: type[Engine] = import_part(name, "engine").ENGINE
    return engine
