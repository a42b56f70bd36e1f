"""Command lines of stages that load a model: the engine is chosen by a flag, on which all other flags depend."""

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from headroom.core.command import add_run, stage_parser
from headroom.engines.engine import Engine

ENGINES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/engine.py")))
"""The folders of engines next to this file."""


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add `--task`."""
    parser.add_argument(
        "--task", choices=ENGINES, default="translation", help="task of the model; other flags depend on it"
    )


def model_parser(
    stage: str, description: str | None, engine: type[Engine], *, several: bool = False
) -> argparse.ArgumentParser:
    """Return the parser of a stage that loads a trained model, or one per epoch, with the flags for it."""
    parser = stage_parser(stage, description)
    add_run(parser)
    add_task(parser)
    engine.add_model(parser, several=several)
    return parser


def given_engine(
    build_parser: Callable[[type[Engine]], argparse.ArgumentParser], arguments: Sequence[str] | None
) -> tuple[Engine, argparse.Namespace]:
    """Return the engine of `--task`, and the command line parsed with the parser built for it."""
    engine = chosen_engine(arguments)
    given = build_parser(engine).parse_args(arguments)
    return engine.from_flags(given), given


def chosen_task(arguments: Sequence[str] | None) -> str:
    """Return the value of `--task`; the rest of the command line depends on it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_task(parser)
    named, _ = parser.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    return str(named.task)


def chosen_engine(arguments: Sequence[str] | None) -> type[Engine]:
    """Return the engine of `--task`."""
    return engine_for(chosen_task(arguments))


def engine_for(name: str) -> type[Engine]:
    """Return the engine of this name, without loading the other ones."""
    engine: type[Engine] = importlib.import_module(f"headroom.engines.{name}.engine").ENGINE
    return engine
