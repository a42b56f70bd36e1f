"""Jobs: the inputs, settings and outputs of a program as one typed object, and messages on invalid ones."""

import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import date
from json import JSONDecodeError
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, CliSettingsSource, SettingsConfigDict, SettingsError

from headroom.core.errors import HeadroomError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

AnyJob = TypeVar("AnyJob", bound="Job")

Files = Annotated[list[Path], BeforeValidator(lambda files: [files] if isinstance(files, str) else files)]
"""Paths; one alone is a list of one."""


class Job(BaseModel):
    """What a program reads, how it works, what it writes: `run` beside the class does it."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)

    @classmethod
    def read(cls, arguments: Sequence[str], stage: str = "job") -> Self:
        """Read a job from a command line: JSON with its fields, or flags, or flags that replace fields of the JSON.

        Raises:
            HeadroomError: If a value is invalid; a line for each with its field, what is wrong and what was given.
        """
        values: dict[str, Any] = {}
        try:
            if arguments and arguments[0].startswith("{"):
                values, arguments = json.loads(arguments[0]), arguments[1:]
            values |= read_flags(cls, arguments, stage)
            return cls.model_validate(values)
        except ValidationError as error:
            where = f"python -m headroom {stage} --help"
            lines = [explain_error(one, values, where) for one in error.errors()]
            raise HeadroomError("\n".join(lines)) from error
        except JSONDecodeError as error:
            raise HeadroomError(f"{stage}: not JSON, {error}; give the fields of a job") from error
        except SettingsError as error:
            raise HeadroomError(f"{stage}: {error}; see {stage} --help") from error


def read_flags(kind: type[AnyJob], arguments: Sequence[str], stage: str) -> Mapping[str, Any]:
    """Return the fields that flags give: `--learning-rate`, of a section also `--training.learning-rate`, or as JSON.

    A list has several values, `--sets choose test`. `--help` prints all flags and ends the process, as a flag does that
    does not exist.
    """
    named = dict(list_flags(kind))
    last = Counter(name.rpartition(".")[2] for name in named)
    short = {name: name.rpartition(".")[2] for name in named if "." in name and last[name.rpartition(".")[2]] == 1}
    lists = {one for name, is_list in named.items() if is_list for one in (name, short.get(name, name))}

    class Flags(BaseSettings, kind):  # type: ignore[misc, valid-type]
        __doc__ = kind.__doc__
        model_config = SettingsConfigDict(
            cli_prog_name=f"python -m headroom {stage}",
            cli_kebab_case=True,
            cli_implicit_flags=True,
            cli_hide_none_type=True,
            cli_shortcuts={dash(name): dash(one) for name, one in short.items()},
        )

    words = join_lists(arguments, {f"--{dash(name)}" for name in lists})
    return CliSettingsSource[Any](Flags, cli_parse_args=list(words))()


def dash(name: str) -> str:
    """Return the flag of a field without the dashes before it."""
    return name.replace("_", "-")


def list_flags(kind: Any) -> Iterator[tuple[str, bool]]:
    """Yield the fields of a job and the keys of its sections, `training.epochs`, and whether each is a list."""
    for name, field in kind.model_fields.items():
        sections, is_list = unfold(field.annotation)
        if not sections:
            yield name, is_list
        keys = {f"{name}.{key}": several for section in sections for key, several in list_flags(section)}
        yield from keys.items()


def unfold(annotation: Any) -> tuple[list[type[BaseModel]], bool]:
    """Return the sections that a field may be, and whether it is a list."""
    if get_origin(annotation) in (list, tuple):
        return [], True
    if get_origin(annotation) in (Annotated, Union, UnionType):
        parts = [unfold(part) for part in get_args(annotation)]
        return [section for sections, _ in parts for section in sections], any(is_list for _, is_list in parts)
    return ([annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []), False


def join_lists(words: Sequence[str], flags: Container[str]) -> Iterator[str]:
    """Yield words with the values of each list as one word of JSON, so that they may contain commas."""
    values: list[str] | None = None
    for word in (*words, "--"):
        if values is not None and not word.startswith("--"):
            values.append(word)
            continue
        if values is not None:
            yield json.dumps(values)
        values = [] if word in flags else None
        if word != "--":
            yield word


class RunJob(Job):
    """A job whose table is about a run."""

    study: str = Field("study", description="name of the study, a column of the table")
    run: str = Field("run", description="name of the run, a column of the table")

    def leading_columns(self, checkpoint: str) -> dict[str, Any]:
        """Return the first columns of its tables: study, run, and the epoch of a checkpoint."""
        return {"study": self.study, "run": self.run, "epoch": read_epoch(checkpoint)}


def read_epoch(checkpoint: Path | str) -> float:
    """Return the epoch in a checkpoint's name, e.g. `epoch8/`, 0 if it has none.

    It is an integer but for a share of the first epoch (`epoch0.5/`).
    """
    found = re.search(r"\bepoch(\d+(?:\.\d+)?)/?$", str(checkpoint))
    number = found[1] if found else "0"
    return float(number) if "." in number else int(number)


LONGEST_PART = 60
"""Maximum length of a displayed part of a key, and of a displayed value."""
LONGEST_LINE = 500

VARIANTS = {"source": None, "method": None, "task": None, "library": "fairseq"}
"""Keys that tell the variants of a section apart, with the value of a section that lacks them."""


def explain_error(error: "ErrorDetails", configuration: Any, described: str = "docs/configuration.md") -> str:
    """Return pydantic's message after the key as it is written in a configuration, and the value if it is a single one.

    Pydantic's key also has the variant of a section, `corpus.files.valid`: it is left out.

    Args:
        error: The error.
        configuration: The configuration.
        described: What says which keys there are.
    """
    key, section = [], configuration
    for part in error["loc"]:
        own = section if isinstance(section, dict) else {}
        if part in own or part not in (own.get(name, default) for name, default in VARIANTS.items()):
            key.append(str(part)[:LONGEST_PART] or '""')
            section = own.get(part)
    value, is_own = error["input"], error["type"] == "value_error"
    found = "" if is_own or isinstance(value, dict | list) else f" (got {value!r:.{LONGEST_PART}})"
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "union_tag_not_found":
        message = f"the key {error['ctx']['discriminator']} is missing; it says which form the section has"
    if error["type"] == "missing":
        message, found = f"missing; give it as {described} says", ""
    if error["type"] == "extra_forbidden" and key[-1:] == ["package"]:
        message = "models are not read from packages; copy the directory of its model and give it as path"
    if error["type"] == "string_type" and isinstance(value, bool | int | float | date):
        found += ", as YAML reads what is there; put it in quotes"
    return f"{'.'.join(key)}{': ' if key else ''}{message}{found}"


def one_line(text: str) -> str:
    """Return a message with everything unprintable escaped, cut to a readable length."""
    line = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."
