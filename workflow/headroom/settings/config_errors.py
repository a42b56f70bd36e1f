"""Messages on invalid configurations, a line with the key for each mistake."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

LONGEST_PART = 60
"""Maximum length of a displayed part of a key, and of a displayed value."""
LONGEST_LINE = 500

VARIANTS = {"source": None, "method": None, "task": None, "library": "fairseq"}
"""Keys that tell the variants of a section apart, with the value of a section that lacks them."""


def explain_error(
    error: "ErrorDetails", configuration: Any, places: Mapping[str, str], described: str = "docs/configuration.md"
) -> str:
    """Return pydantic's message after the key as it is written in a configuration, and the value if it is a single one.

    Pydantic's key also has the variant of a section, `corpus.files.valid`: it is left out.

    Args:
        error: The error.
        configuration: The configuration, with its tasks in `tasks`.
        places: The keys under which tasks were written, if others.
        described: What says which keys there are.
    """
    key, section = [], configuration
    for part in error["loc"]:
        own = section if isinstance(section, dict) else {}
        if part in own or part not in (own.get(name, default) for name, default in VARIANTS.items()):
            key.append(str(part)[:LONGEST_PART] or '""')
            section = own.get(part)
    if len(key) > 1 and key[0] == "tasks":
        key[:2] = [places.get(key[1], ".".join(key[:2]))]
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
