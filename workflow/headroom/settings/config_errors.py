"""Messages on invalid configurations, a line with the key for each error."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


LONGEST_PART = 60
"""Maximum length of a displayed part of a key."""
LONGEST_MESSAGE = 400

_WORDS = {
    "valid dictionary": "section of keys",
    "valid tuple": "list",
    "Dictionary should": "Section should",
    "Tuple should": "List should",
    " after validation": "",
}
"""Terms of the configuration in place of pydantic's terms."""

_UNION = re.compile(r" or (instance of .*|object to extract fields from)")


def explained(error: "ErrorDetails") -> str:
    """Return `configuration, key seeds.0: ...` with the error, the value found and the expected value."""
    key, message = key_of(error), _message(error)
    if not key or message.startswith(f"{key}."):  # a check across sections: the message contains the key
        return one_line(f"configuration{', key ' if key else ': '}{message}")
    return one_line(f"configuration, key {key}: {message[:1].lower()}{message[1:]} {_found(error)}".rstrip())


def first_causes(errors: "Sequence[ErrorDetails]") -> "list[ErrorDetails]":
    """Return errors without consequences of others: missing defaults, lists shortened by invalid items."""

    def follows(error: "ErrorDetails") -> bool:
        depth = len(error["loc"])
        within = any(other is not error and other["loc"][:depth] == error["loc"] for other in errors)
        return error["type"] == "default_factory_not_called" or (error["type"] == "too_short" and within)

    return [error for error in errors if not follows(error)] or list(errors)


def without(configuration: Any, errors: Iterable["ErrorDetails"]) -> Any:
    """Return a configuration without the invalid keys, so that the rest of it can be validated."""
    rest = copy.deepcopy(configuration)
    for error in errors:
        section, known = rest, []
        for part in key_of(error).split("."):
            name = next((key for key in _keys(section) if str(key) == part), None)
            if name is None:
                break
            known.append((section, name))
            section = section[name]
        if len(known) > 1 and error["type"].startswith("union_tag"):
            known.pop()  # keys of a section of unknown kind cannot be validated
        while known:
            section, name = known.pop()
            if name in _keys(section):  # sections may be recursive
                del section[name]
            if section:
                break
    return rest


def _keys(section: Any) -> list[Any]:
    return (
        list(section) if isinstance(section, dict) else list(range(len(section))) if isinstance(section, list) else []
    )


def key_of(error: "ErrorDetails") -> str:
    """Return the key as it is written in the configuration: without the tag of a section's variant."""
    parts = [part for part in error["loc"] if part != "[key]"]
    if _is_no_text(error):
        parts[-1] = error["input"]  # pydantic shows other values, such as 0 for `no`
    places = [str(part)[:LONGEST_PART] or '""' for part in parts]
    depth = 2 if places[:1] == ["classification"] else 1
    section = places[depth] if len(places) > depth else ""
    if section in ("corpus", "encoder", "arms", "treebank"):
        variant = depth + (2 if section == "arms" else 1)
        del places[variant : variant + 1]
    if error["type"].startswith("union_tag"):
        places.append(error["ctx"]["discriminator"].strip("'"))
    return ".".join(places)


def _message(error: "ErrorDetails") -> str:
    kind = error["type"]
    if kind == "extra_forbidden":
        return "no such key; see docs/configuration.md for all keys"
    if kind == "union_tag_invalid":
        tag, known = error["ctx"]["tag"], error["ctx"]["expected_tags"]
        return f"'{tag[:LONGEST_PART]}' is unknown; choose one of {known}"
    if kind == "union_tag_not_found":
        return "missing; see docs/configuration.md for its values"
    if _is_no_text(error):
        return "not text; write the key in quotes"
    message = _UNION.sub("", error["msg"].removeprefix("Value error, "))
    for words, ours in _WORDS.items():
        message = message.replace(words, ours)
    return message


def _is_no_text(error: "ErrorDetails") -> bool:
    """Return whether the error is a key that is not text."""
    return error["type"] == "invalid_key" or "[key]" in error["loc"]


def _found(error: "ErrorDetails") -> str:
    named = error["type"] in ("extra_forbidden", "union_tag_invalid", "union_tag_not_found")
    whole_section = error["type"] in ("value_error", "missing") and isinstance(error.get("input"), dict)
    return "" if named or whole_section else f"(found: {error.get('input')!r:.80})"


def one_line(text: str) -> str:
    """Return a message with everything unprintable escaped, cut to a readable length."""
    line = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} ..."


def unusable_texts(settings: Any) -> Iterator[str]:
    """Yield a line for every text, including keys, that cannot be part of a path and of a command line."""
    for key, text in _texts(settings, ""):
        if reason := _unusable(text):
            yield one_line(f"configuration, key {key}: {reason} (found: {text!r:.80})")


def _texts(value: Any, above: str) -> Iterator[tuple[str, str]]:
    """Yield every text within a value, and its key."""
    if isinstance(value, str):
        yield above.removesuffix("."), value
    entries = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, entry in entries:
        if isinstance(name, str):
            yield f"{above}{name}", name
        yield from _texts(entry, f"{above}{name}.")


def _unusable(text: str) -> str | None:
    """Return why a text cannot be used, None if it can."""
    if not text:
        return "empty text; give a value, or leave the key out"
    if not text.isprintable():
        return "contains a line break, a tab or another control character; remove it"
    if "{" in text or "}" in text:
        return "contains a brace, which Snakemake reads as a wildcard; remove it"
    if text.startswith("-"):
        return "starts with a hyphen, which is read as a flag; remove it"
    return None
