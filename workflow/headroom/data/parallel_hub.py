"""Parallel text of a data set on the Hugging Face Hub, by the library `datasets` if it is installed."""

import logging
import re
from dataclasses import dataclass
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.data.hub_library import load_split, open_library
from headroom.data.parallel import ParallelText
from headroom.settings.parallel import ParallelHubCorpus

WAY_OUT = "give a local copy as text files with source: files"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HubPairs:
    """What a data set of the Hub gave: pairs by set (train, valid, test, far domains), and their licence."""

    sets: dict[str, ParallelText]
    licence: str


def load_hub_pairs(settings: ParallelHubCorpus) -> HubPairs:
    """Load every set. Pairs with an empty side are left out, and a warning counts them.

    Raises:
        HeadroomError: If the library, the network, the data set, a split, the column or a language is missing;
            names the key.
    """
    library = open_library(settings.dataset, WAY_OUT)
    chosen: dict[str, Any] = settings.model_dump(include={"dataset", "name", "revision"})
    tables = {
        name: load_split(library, split=split, way_out=WAY_OUT, **chosen) for name, split in settings.splits.items()
    }
    sets = {name: _text(settings, name, table) for name, table in tables.items()}
    return HubPairs(sets, str(getattr(tables["train"].info, "license", "") or "not stated"))


def _text(settings: ParallelHubCorpus, name: str, table: Any) -> ParallelText:
    dataset = settings.dataset
    if settings.column not in table.column_names:
        raise HeadroomError(
            f"key column: {dataset} has no column '{settings.column}', but {_listed(table.column_names)}"
        )
    rows = list(table[settings.column])
    if not rows:
        raise HeadroomError(f"key {name}: split {settings.splits[name]} of {dataset} is empty; name another split")
    for key in ("source_language", "target_language"):
        language = getattr(settings, key)
        known = list(rows[0]) if isinstance(rows[0], dict) else []
        if language not in known:
            raise HeadroomError(
                f"key {key}: column '{settings.column}' of {dataset} has no text in '{language}', but {_listed(known)}"
            )
    pairs = [tuple(_plain(row[side]) for side in (settings.source_language, settings.target_language)) for row in rows]
    whole = [pair for pair in pairs if all(pair)]
    if len(whole) < len(pairs):
        _log.warning("left out %d of %d pairs of %s: a side is empty", len(pairs) - len(whole), len(pairs), name)
    return ParallelText([source for source, _ in whole], [target for _, target in whole])


def _plain(text: Any) -> str:
    r"""Return a sentence on one line: ends of lines ("\r", "\n") and NUL inside it become one space."""
    return re.sub(r"[\0\r\n]+", " ", str(text or "")).strip()


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"
