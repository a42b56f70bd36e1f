"""Writes what is generated from the typed configuration: its JSON schema and its table for readers."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from headroom.ground.command import run, stage_parser
from headroom.ground.errors import HeadroomError
from headroom.ground.files import atomic_path
from headroom.study import Study

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NOTE = "written by `make docs` from the typed models in workflow/headroom/settings; do not edit"
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def schema_text() -> str:
    """Return the JSON schema (draft 2020-12) of a study as YAML, for editors and for Snakemake."""
    schema = {"$schema": DIALECT, **_without_titles(Study.model_json_schema())}
    body = yaml.safe_dump(schema, sort_keys=False, allow_unicode=True, width=110)
    return f"# {NOTE[0].upper()}{NOTE[1:]}.\n{body}"


def table_text() -> str:
    """Return a Markdown page with every key of a study: dotted path, type, default, meaning."""
    root = Study.model_json_schema()
    sections = {name: entry for name, entry in root["properties"].items() if _is_section(_resolve(entry, root))}
    single = {name: entry for name, entry in root["properties"].items() if name not in sections}
    lines = ["# The configuration", "", f"<!-- {NOTE} -->", "", _plain(root["description"]), ""]
    lines += _table(_rows({"properties": single}, root))
    for name, entry in sections.items():
        lines += ["", f"## `{name}`", "", *_section(name, entry, root)]
    return "\n".join(lines) + "\n"


def _section(name: str, entry: Schema, root: Schema) -> Iterator[str]:
    """Yield the lines of one section: what it is, and a table, or a table for each form it can take."""
    section = _resolve(entry, root)
    if "properties" in section:
        yield from [_plain(section.get("description", "")), "", *_table(_rows(section, root, f"{name}."))]
        return
    values = section.get("additionalProperties")
    forms, path = (_resolve(values, root), f"{name}.<name>") if isinstance(values, dict) else (section, name)
    key = forms["discriminator"]["propertyName"]
    default = getattr(Study(), name)
    chosen = {item: getattr(value, key) for item, value in default.items()} if values else getattr(default, key)
    yield f"{_plain(entry.get('description', ''))}. Default: {key} {_literal(chosen)}."
    for value, reference in forms["discriminator"]["mapping"].items():
        form = _resolve({"$ref": reference}, root)
        yield from ["", f"### `{path}.{key}: {value}`", "", _plain(form.get("description", "")), ""]
        yield from _table(_rows(form, root, f"{path}."))


def _rows(section: Schema, root: Schema, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield (dotted path, type, default, meaning) of every key below a section, depth first."""
    for name, entry in section["properties"].items():
        resolved, path = _resolve(entry, root), f"{prefix}{name}"
        values = resolved.get("additionalProperties")
        if isinstance(values, dict):
            resolved, path = _resolve(values, root), f"{path}.<name>"
        if "properties" in resolved:
            yield from _rows(resolved, root, f"{path}.")
        else:
            default = _literal(entry["default"]) if "default" in entry else "*required*"
            yield path, _type(resolved, root), default, _plain(entry.get("description", "")).removesuffix(".")


def _resolve(entry: Schema, root: Schema) -> Schema:
    """Follow a reference into the definitions of the schema."""
    return root["$defs"][entry["$ref"].rsplit("/", 1)[1]] if "$ref" in entry else entry


def _is_section(entry: Schema) -> bool:
    return "properties" in entry or "oneOf" in entry or isinstance(entry.get("additionalProperties"), dict)


def _type(entry: Schema, root: Schema) -> str:
    """Return the type of a value in words, e.g. `list of integer ≥ 1` or `auto, cpu, cuda`."""
    entry = _resolve(entry, root)
    if "anyOf" in entry:
        return " or ".join(_type(part, root) for part in entry["anyOf"])
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    if entry.get("type") == "array":
        return f"list of {_type(entry.get('items', {}), root)}"
    kind = str(entry.get("type", "any"))
    bounds = [f"{sign} {entry[key]:g}" for key, sign in BOUNDS.items() if key in entry]
    return " ".join(["none" if kind == "null" else kind, *bounds])


def _table(rows: Iterator[tuple[str, str, str, str]]) -> list[str]:
    head = ["| key | type | default | meaning |", "|---|---|---|---|"]
    return head + [f"| `{path}` | {kind} | {default} | {meaning} |" for path, kind, default, meaning in rows]


def _literal(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
    return "`" + text.removesuffix("...\n").strip() + "`"


def _plain(text: str) -> str:
    """Return a description as Markdown on one line, with an initial capital."""
    line = " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")
    return line[:1].upper() + line[1:]


def _without_titles(schema: Any) -> Any:
    """Return a schema without the titles that repeat the keys' names."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))
    }


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.documentation", "Write the configuration's schema and table.")
    parser.add_argument("--schema", type=Path, required=True, help="JSON schema, written as YAML")
    parser.add_argument("--table", type=Path, required=True, help="Markdown page with every key")
    parser.add_argument("--check", action="store_true", help="only check that both files are up to date")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both files, or check them.

    Raises:
        HeadroomError: With `--check`, if a file differs from what would be written.
    """
    options = build_parser().parse_args(arguments)
    for path, text in ((options.schema, schema_text()), (options.table, table_text())):
        if options.check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                raise HeadroomError(f"{path} is not what the configuration's models say; run `make docs`")
        else:
            with atomic_path(path) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="\n")
            logging.info("wrote %s", path)


if __name__ == "__main__":
    run(main)
