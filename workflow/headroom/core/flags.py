"""Flags of command lines from typed settings: `--settings` for sections as JSON, and one flag per key."""

import argparse
import json
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, overload

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from headroom.core.errors import HeadroomError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Checked = TypeVar("Checked")


def add_settings(parser: argparse.ArgumentParser, **sections: Any) -> None:
    """Add `--settings` for whole sections of the configuration as JSON, and one flag per key of each.

    `learning_rate` becomes `--learning-rate`, or `--<section>-learning-rate` if an earlier section has the same key.
    Lists take several values; booleans take `true` or `false`, so that a flag always shows its value; nested sections
    take JSON.

    Args:
        parser: The parser of a stage.
        sections: By its name in the configuration, the model of a section, or the union of its variants.
    """
    if parser.get_default("settings") is None:
        parser.set_defaults(settings={}, flags={})
        help_ = "sections of the configuration as JSON; the flags below override their keys"
        parser.add_argument("--settings", type=_sections, metavar="JSON", help=help_)
    for section, model in sections.items():
        variants = _variants(model)
        group = parser.add_argument_group(f"settings: {section}", "; or ".join(v.__doc__ or "" for v in variants))
        for name in dict.fromkeys(name for variant in variants for name in variant.model_fields):
            flag = "--" + name.replace("_", "-")
            if flag in parser._option_string_actions:  # of an earlier section
                flag = f"--{section.replace('_', '-')}-{flag[2:]}"
            parser.get_default("flags")[f"{section}.{name}"] = flag
            group.add_argument(
                flag,
                dest=f"{section}.{name}",
                default=argparse.SUPPRESS,
                **_argument([variant.model_fields[name] for variant in variants if name in variant.model_fields]),
            )


@overload
def settings_from(given: argparse.Namespace, section: str, model: type[Checked]) -> Checked: ...
@overload
def settings_from(given: argparse.Namespace, section: str, model: object) -> Any: ...


def settings_from(given: argparse.Namespace, section: str, model: Any) -> Any:
    """Return a section from the command line, validated by its model: `--settings`, overridden by flags.

    Args:
        given: The parsed command line.
        section: The section's name; one without flags has its defaults.
        model: The model of the section, or the union of its variants.

    Raises:
        HeadroomError: If values are invalid; one line for each with its flag, the value and what is expected.
    """
    own = {name: value for name, value in vars(given).items() if name.startswith(f"{section}.")}
    values = {
        **vars(given).get("settings", {}).get(section, {}),
        **{name.split(".", 1)[1]: _value(text) for name, text in own.items()},
    }
    tag, variant = _variant(model, values)
    if tag:
        values = {tag: variant.model_fields[tag].default, **values}
    fields = variant.model_fields
    values = {name: _fitting(value, fields[name]) if name in fields else value for name, value in values.items()}
    try:
        return TypeAdapter(model).validate_python(values)
    except ValidationError as error:
        kind = f"{given.flags.get(f'{section}.{tag}', f'--{tag}')} {values[tag]}" if tag else ""
        lines = [_mistake(section, given.flags, mistake, kind) for mistake in error.errors()]
        raise HeadroomError("\n".join(lines)) from error


def _sections(text: str) -> dict[str, dict[str, Any]]:
    """Read `--settings`."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"is not JSON: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(value, dict) for value in found.values()):
        raise argparse.ArgumentTypeError('must have the form {"section": {"key": value}}')
    return found


def _variants(model: Any) -> list[type[BaseModel]]:
    """Return the models of a section: one, or those of a union."""
    if get_origin(model) is Annotated:
        return _variants(get_args(model)[0])
    if get_origin(model) in (Union, types.UnionType):
        return [variant for part in get_args(model) for variant in _variants(part)]
    return [model]


def _argument(fields: Sequence[FieldInfo]) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a key, which several variants of a section may have."""
    shapes = [_shape(field.annotation) for field in fields]
    choices = [choice for _, own in shapes for choice in own or ()]
    helps = dict.fromkeys(f"{field.description} ({_default(field)})".replace("%", "%%") for field in fields)
    return {
        "nargs": "*" if any(is_list for is_list, _ in shapes) else None,
        "choices": choices if all(own for _, own in shapes) else None,
        "metavar": None if all(own for _, own in shapes) else "VALUE",
        "help": "; or ".join(helps),
    }


def _default(field: FieldInfo) -> str:
    return "must be given" if field.is_required() else f"default: {_show(field.get_default(call_default_factory=True))}"


def _variant(model: Any, values: Mapping[str, Any]) -> tuple[str, type[BaseModel]]:
    """Return the key that distinguishes the variants of a section ("" for a single one), and the variant of values."""
    variants = _variants(model)
    fields = (part for part in get_args(model) if isinstance(part, FieldInfo))
    tag = next((str(field.discriminator) for field in fields if field.discriminator), "")
    known = {name: one for one in variants for name in get_args(one.model_fields[tag].annotation)} if tag else {}
    return tag, known.get(values.get(tag), variants[0])


def _fitting(value: Any, field: FieldInfo) -> Any:
    """Return a flag's value in the form of its key: a word if it is not a list, JSON if it begins with a brace."""
    if value is None and "none" in (_shape(field.annotation)[1] or ()):
        return "none"
    if isinstance(value, list) and len(value) == 1 and not _shape(field.annotation)[0]:
        value = value[0]
    if isinstance(value, str) and value.startswith("{"):
        with suppress(ValueError):
            return json.loads(value)
    return value


def _mistake(section: str, flags: Mapping[str, str], error: "ErrorDetails", variant: str) -> str:
    """Return a line on an invalid key of a section: its flag, the value and what is expected."""
    place = [str(part) for part in error["loc"][bool(variant) :]]
    flag = (
        ".".join([flags.get(f"{section}.{place[0]}", f"--{place[0]}"), *place[1:]]).replace("_", "-")
        if place
        else section
    )
    if error["type"] == "extra_forbidden":
        return f"{flag}: does not apply{f' with {variant}' if variant else ' here'}; leave it out"
    if error["type"] == "missing":
        return f"{flag}: missing; {variant or 'this section'} requires it"
    reason = error["msg"].removeprefix("Value error, ")
    reason = reason[:1].lower() + reason[1:]
    whole = isinstance(error.get("input"), dict)
    value = place[-1] if place and place[-1].isdecimal() else ""
    flag = flag.removesuffix(f".{value}") if value else flag
    return f"{flag}: {reason}" if whole else f"{flag} {error.get('input')}: {reason}"


def _shape(annotation: Any) -> tuple[bool, list[str] | None]:
    """Return whether a field is a list, and the values it may have if they are enumerated."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _shape(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _shape(next(part for part in get_args(annotation) if part is not type(None)))
    if origin in (list, tuple):
        return True, _shape(get_args(annotation)[0])[1]
    if origin is Literal:
        return False, [str(value) for value in get_args(annotation)]
    if annotation is bool:
        return False, ["true", "false"]
    return False, None


def _value(text: Any) -> Any:
    return None if text == "none" else text


def _show(default: Any) -> str:
    if isinstance(default, list | tuple):
        return " ".join(str(item) for item in default)
    return str(default).lower() if default is None or isinstance(default, bool) else str(default)
