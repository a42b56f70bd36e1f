"""Every key of the configuration, by its JSON schema, which is generated from the typed models."""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from whole_project import ROOT

SCHEMA: dict[str, Any] = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())


def schema_keys() -> list[str]:
    """Return every key by its dotted path, `translation.corpus.seed (generated)`.

    `<name>` stands for names that a study gives; in brackets is the form of the section, where it has several.
    """
    return list(_keys(SCHEMA, "", ""))


def without_names(key: str) -> str:
    """Return a key of a study, `classification.entailment.training.epochs`, as the schema has it."""
    return re.sub(r"(?<=^classification\.)[\w-]+|(?<=\.arms\.)[\w-]+|(?<=\.far\.)\w+", "<name>", key)


def path_of(key: str) -> str:
    """Return the path of a key in a study, without the variant of its section."""
    return key.partition(" (")[0]


def _keys(section: dict[str, Any], above: str, form: str) -> Iterator[str]:
    for name, entry in section["properties"].items():
        inner, path = _resolved(entry), f"{above}{name}"
        if isinstance(inner.get("additionalProperties"), dict):
            inner, path = _resolved(inner["additionalProperties"]), f"{path}.<name>"
        if "oneOf" in inner:
            for chosen, reference in inner["discriminator"]["mapping"].items():
                yield from _keys(_resolved({"$ref": reference}), f"{path}.", f" ({chosen})")
        elif "properties" in inner:
            yield from _keys(inner, f"{path}.", form)
        else:
            yield path + form


def _resolved(entry: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference into the definitions; of a section that may be unset, that of the section."""
    references = [option["$ref"] for option in (entry, *entry.get("anyOf", ())) if "$ref" in option]
    return SCHEMA["$defs"][references[0].rsplit("/", 1)[1]] if references else entry
