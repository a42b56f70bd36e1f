"""The library `datasets`, told not to wait for a Hub that does not answer."""

import importlib
import logging
import os
from typing import Any

import requests

from headroom.core.errors import HeadroomError

TIMEOUT = 10.0
"""Seconds without an answer after which the Hub is out of reach."""

_log = logging.getLogger(__name__)


def open_library(dataset: str, way_out: str) -> Any:
    """Return the library, told to look only into its cache if the Hub does not answer.

    By itself it would try again for minutes where a network swallows what is sent.

    Args:
        dataset: What will be loaded, for messages.
        way_out: What else a user can do, for messages.

    Raises:
        HeadroomError: If the library is not installed.
    """
    if not hub_answers():
        _log.warning("the Hugging Face Hub does not answer: looking for %s in the cache", dataset)
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported; this process only
    try:
        return importlib.import_module("datasets")  # optional, and slow to import
    except ImportError as error:
        raise HeadroomError(
            f"key dataset: {dataset} needs the library 'datasets' ({error}): install it, or {way_out}"
        ) from error


def hub_answers() -> bool:
    """Return whether the Hub can be reached."""
    try:
        requests.head(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), timeout=TIMEOUT)
    except requests.RequestException:
        return False
    return True


def load_split(library: Any, *, dataset: str, name: str | None, revision: str | None, split: str, way_out: str) -> Any:
    """Return a split of a data set as the library gives it.

    Args:
        library: From `open_library`.
        dataset: Name on the Hub.
        name: Configuration, if it has several.
        revision: Commit, tag or branch.
        split: Name of the split, or a part of one.
        way_out: What else a user can do, for messages.

    Raises:
        HeadroomError: If it cannot be had.
    """
    try:
        return library.load_dataset(dataset, name, revision=revision, split=split)
    except Exception as error:  # of many kinds: network, cache, name, configuration, split, format
        full_name = dataset if name is None else f"{dataset} ({name})"
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise HeadroomError(
            f"key dataset: cannot load {full_name}, split {split}, from the Hugging Face Hub: {reason}; {way_out}"
        ) from error
