"""Read and check the configuration of a study."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from headroom.core.errors import HeadroomError
from headroom.settings.checks import mistakes
from headroom.settings.job import explain_error, one_line
from headroom.settings.study import Study

OLD = {
    key: f"{key}: tasks stand in `tasks` now; write tasks: {{{name}: {{task: {key}, ...}}}}"
    for key, name in {"translation": "translation", "classification": "NAME"}.items()
}
"""By the key of a configuration that is written as it was before, what to write."""


def load_study(configuration: object, source: str = "configuration") -> Study:
    """Validate a configuration and fill in the defaults.

    Args:
        configuration: The sections and keys.
        source: Where they come from, for messages.

    Raises:
        HeadroomError: `<source>: <key>: <message>` for every mistake; first those within sections, then across them.
    """
    if not isinstance(configuration, dict):
        raise HeadroomError(f"{source}: no keys at the top; write a study as keys with values, e.g. `study: mine`")
    try:
        study = Study.model_validate(configuration)
        lines = list(mistakes(study))
    except ValidationError as error:
        # defaults that depend on an invalid value are no mistakes of their own
        own = [one for one in error.errors() if one["type"] != "default_factory_not_called"]
        within = {one["loc"][:-1] for one in own}  # and lists are short without invalid items
        own = [one for one in own if one["type"] != "too_short" or one["loc"] not in within]
        lines = [OLD.get(str(next(iter(one["loc"]), ""))) or explain_error(one, configuration) for one in own]
    except ValueError as error:
        lines = [str(error)]
    if lines:
        raise HeadroomError("\n".join(one_line(f"{source}: {line}") for line in dict.fromkeys(lines)))
    return study


def read_study(path: str) -> Study:
    """Read and validate a study's file.

    Raises:
        HeadroomError: As in `read_keys` and `load_study`.
    """
    return load_study(read_keys(path), path)


def read_keys(path: str) -> object:
    """Return the content of a study's file.

    Raises:
        HeadroomError: If it is not UTF-8 or not YAML, or has a key twice, with the line.
    """
    try:
        return _EachKeyOnce(Path(path).read_text(encoding="utf-8")).get_single_data()
    except OSError as error:
        raise HeadroomError(f"{path}: {error.strerror}; studies are config.yaml and those in studies/") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise HeadroomError(f"{path}, line {line}: not UTF-8; save the file in this encoding") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise HeadroomError(one_line(f"{path}, line {line}: not YAML, {error.problem}; correct the line")) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # characters and values that are invalid in YAML
        raise HeadroomError(one_line(f"{path}: not YAML, {error}; correct the file")) from None


class _EachKeyOnce(yaml.SafeLoader):
    """A loader that refuses what YAML forbids and PyYAML accepts: a key that is given twice."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set[str]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"the key '{key.value}' is given twice"
                raise yaml.composer.ComposerError(problem=problem, problem_mark=key.start_mark)
            seen.add(str(key.value))
        return node
