"""Write the pages on configuration and tables, and the schema of a study, from their declarations: `make docs`."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from headroom.core.table import Column, Table
from headroom.experiments.tables import REGISTRY
from headroom.settings.study import Study
from headroom.settings.tasks import ClassificationSettings, LanguageSettings, MaskedSettings, TranslationSettings

Schema = dict[str, Any]

KINDS: tuple[Any, ...] = (TranslationSettings, ClassificationSettings, LanguageSettings, MaskedSettings)
"""The models of all kinds of tasks."""

NOTE = "written by `make docs` from the typed models in workflow/headroom/settings; do not edit"
TABLES_NOTE = "written by `make docs` from workflow/headroom/experiments/*/declared.py; do not edit"
RECURRING = 3
"""Minimum number of tables for a column to be described only once."""
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


TABLES_INTRODUCTION = """
Every table is a plain CSV file with a header row, one observation a row, written atomically. A table
about runs has one file per run, `results/<study>/<table>/<run>.csv`; the files of several runs, or of several
studies, can be concatenated. Text is UTF-8, an empty cell means "does not apply" or "cannot be computed".
Numbers have nine significant digits. With pandas:

```python
import glob, pandas

scores = pandas.concat(
    pandas.read_csv(path, keep_default_na=False) for path in glob.glob("results/starter/scores/*.csv")
)
```

(`keep_default_na=False` reads the empty profile as an empty text.) `SCORES.read(path)`, with `SCORES` from
`headroom.experiments.scores.declared`, checks the columns and types them.
"""


TASKS_INTRODUCTION = """
A task is an entry of `tasks`: `tasks: {captions: {task: translation, ...}}`. The keys below are those of an entry.
"""


def table_text() -> str:
    """Return a Markdown page with every key of a study: dotted path, type, default, meaning."""
    root = Study.model_json_schema()
    study = {**root, "properties": {name: one for name, one in root["properties"].items() if name != "tasks"}}
    lines = ["# The configuration", "", f"<!-- {NOTE} -->", "", _plain(root["description"])]
    lines += [*_section(study, root, Study(), "", 1), "", *TASKS_INTRODUCTION.strip().split("\n")]
    for kind in KINDS:
        entry, example = root["$defs"][kind.__name__], kind.model_construct()
        lines += ["", f"## `tasks.<name>` with `task: {example.task}`", "", _plain(entry["description"])]
        lines += _section(entry, root, example, "", 2)
    return "\n".join(lines) + "\n"


def tables_text() -> str:
    """Return a Markdown page with every table of a study and its columns."""
    found = REGISTRY.by_name.values()
    every = [column for table in found for column in table.columns]
    recurring = [column for column in dict.fromkeys(every) if every.count(column) >= RECURRING]
    lines = ["# The result tables", "", f"<!-- {TABLES_NOTE} -->", TABLES_INTRODUCTION]
    lines += ["## Recurring columns", "", "They have the same meaning in all tables.", ""]
    lines += _columns(recurring)
    for table in found:
        lines += ["", *_table_section(table, recurring)]
    return "\n".join(lines) + "\n"


def _table_section(table: Table, recurring: Sequence[Column]) -> Iterator[str]:
    about, _, rest = table.about.strip().partition("\n\n")
    path = table.path.replace("{", "<").replace("}", ">")
    yield from [f"## {table.name}", "", about, ""]
    yield f"`results/<study>/{path}`. Key: {', '.join(f'`{name}`' for name in table.key)}."
    yield from ["", *_columns(table.columns, known=recurring)]
    if rest:
        yield from ["", rest]


def _columns(columns: Sequence[Column], known: Sequence[Column] = ()) -> Iterator[str]:
    yield from ["| column | type | unit | meaning |", "|---|---|---|---|"]
    for one in columns:
        meaning = "see [above](#recurring-columns)" if one in known else one.meaning.replace("|", "\\|")
        yield f"| `{one.name}` | {one.type} | {one.unit} | {meaning} |"


def _section(section: Schema, root: Schema, example: Any, prefix: str, level: int) -> Iterator[str]:
    """Yield the table of a section's own keys, then the sections within it; `example` has its defaults."""
    parts = {name: (entry, _resolve(entry, root)) for name, entry in section["properties"].items()}
    if own := {name: entry for name, (entry, inner) in parts.items() if not _is_section(inner)}:
        yield from ["", *_rows({"properties": own}, root, prefix)]
    for name, (entry, inner) in parts.items():
        if _is_section(inner):
            yield from ["", f"{'#' * (level + 1)} `{prefix}{name}`", ""]
            yield from _inner(entry, inner, root, getattr(example, name, None), f"{prefix}{name}", level + 1)


def _inner(entry: Schema, inner: Schema, root: Schema, example: Any, path: str, level: int) -> Iterator[str]:
    """Yield one section: its description and its keys, each once for all of its variants."""
    values = inner.get("additionalProperties")
    named = isinstance(values, dict)
    if isinstance(values, dict):
        inner, path = _resolve(values, root), f"{path}.<name>"
    if "properties" in inner:
        yield _plain(inner.get("description", ""))
        yield from _section(inner, root, next(iter(example.values())) if named else example, f"{path}.", level)
        return
    key = inner["discriminator"]["propertyName"]
    chosen = {item: getattr(value, key) for item, value in example.items()} if named else getattr(example, key, None)
    default = f"{key} {_literal(chosen)}" if chosen else "unset" if "default" in entry else "none, it is required"
    yield f"{_plain(entry.get('description', ''))}. Default: {default}."
    forms = {
        value: _resolve({"$ref": reference}, root) for value, reference in inner["discriminator"]["mapping"].items()
    }
    order = [option["$ref"] for option in inner["oneOf"]]  # as the typed model lists them
    forms = dict(sorted(forms.items(), key=lambda form: order.index(inner["discriminator"]["mapping"][form[0]])))
    yield from ["", f"| `{key}` | meaning |", "|---|---|"]
    yield from (f"| `{value}` | {_plain(form.get('description', ''))} |" for value, form in forms.items())
    having: dict[str, list[str]] = {}
    for value, form in forms.items():
        others = {name: one for name, one in form["properties"].items() if name != key}
        for row in _cells({"properties": others}, root, f"{path}."):
            having.setdefault(row, []).append(value)
    yield from ["", f"| key | type | default | meaning | with `{key}` |", "|---|---|---|---|---|"]
    yield from (f"{row} {_all_but(values, list(forms))} |" for row, values in having.items())


def _all_but(values: list[str], every: list[str]) -> str:
    """Return which of all variants have a key: all, all but a few, or their names."""
    without = [value for value in every if value not in values]
    if len(without) < len(values):
        return f"all but {', '.join(without)}" if without else "all"
    return ", ".join(values)


def _rows(section: Schema, root: Schema, prefix: str) -> Iterator[str]:
    """Yield the table of every key below a section, depth first."""
    yield from ["| key | type | default | meaning |", "|---|---|---|---|"]
    yield from _cells(section, root, prefix)


def _cells(section: Schema, root: Schema, prefix: str) -> Iterator[str]:
    for name, entry in section["properties"].items():
        resolved, path = _resolve(entry, root), f"{prefix}{name}"
        values = resolved.get("additionalProperties")
        if isinstance(values, dict):
            resolved, path = _resolve(values, root), f"{path}.<name>"
        if "properties" in resolved:
            yield from _cells(resolved, root, f"{path}.")
        else:
            default = _literal(entry["default"]) if "default" in entry else "*required*"
            meaning = _plain(entry.get("description", "")).removesuffix(".")
            yield f"| `{path}` | {_type(resolved, root)} | {default} | {meaning} |"


def _resolve(entry: Schema, root: Schema) -> Schema:
    """Follow a reference into the definitions of the schema; of a section that may be unset, that of the section."""
    options = [option for option in entry.get("anyOf", ()) if "$ref" in option or "oneOf" in option]
    entry = options[0] if options else entry
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
    shown = {key: entry[key] if isinstance(entry[key], int) else f"{entry[key]:g}" for key in BOUNDS if key in entry}
    bounds = [f"{BOUNDS[key]} {bound}" for key, bound in shown.items()]
    return " ".join(["none" if kind == "null" else kind, *bounds])


def _literal(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
    return "`" + text.removesuffix("...\n").strip() + "`"


def _plain(text: str) -> str:
    """Return a description as Markdown on one line, with an initial capital."""
    line = " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")
    return line[:1].upper() + line[1:]


def schema_text() -> str:
    """Return the JSON schema of a study, by which editors complete and check its file."""
    return json.dumps(Study.model_json_schema(), indent=1, ensure_ascii=False) + "\n"


PAGES = {"docs/configuration.md": table_text, "docs/tables.md": tables_text, "studies/schema.json": schema_text}

if __name__ == "__main__":
    stale = [
        path for path, text in PAGES.items() if not Path(path).is_file() or Path(path).read_text("utf-8") != text()
    ]
    if "--check" in sys.argv[1:]:
        sys.exit(f"{', '.join(stale)}: not as declared; run make docs" if stale else 0)
    for path in stale:
        Path(path).write_text(PAGES[path](), encoding="utf-8", newline="\n")
