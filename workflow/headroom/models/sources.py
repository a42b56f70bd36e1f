"""Locating a pretrained model: a directory, or on the Hub."""

import logging
from pathlib import Path
from typing import Literal

import huggingface_hub
from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils.tqdm import disable_progress_bars

from headroom.core.errors import HeadroomError
from headroom.models.find_sites import first_line
from headroom.models.weight_files import check_weights
from headroom.settings.models import DirectoryEncoder, HubEncoder, HubModelSettings

SECONDS = 10
"""Timeout of requests to the Hub in seconds."""

_WANTED = ["config.json", "generation_config.json", "tokenizer*", "special_tokens_map.json", "added_tokens.json"]
_WANTED += ["vocab.*", "merges.txt", "*.model", "*.spm", "spiece.*", "*adapter_config.json"]

_log = logging.getLogger(__name__)

Source = DirectoryEncoder | HubEncoder

Section = Literal["encoder", "released"]
"""The section of the configuration with a model, for messages."""

_DIRECTORY_INSTEAD: dict[Section, str] = {"encoder": "encoder.source: directory", "released": "released.path"}


def locate(settings: Source | HubModelSettings, section: Section = "encoder", *, weights: bool = True) -> Path:
    """Return the directory of a pretrained model, with all files of its weights; if it is on the Hub, it is downloaded.

    Args:
        settings: Where it is.
        section: The section of the configuration with it, for messages.
        weights: Whether weights are downloaded from the Hub, too.

    Raises:
        HeadroomError: If it cannot be found or is incomplete; names the key of the configuration.
    """
    own = settings.place if isinstance(settings, HubModelSettings) else settings
    gguf = settings.gguf if isinstance(settings, HubModelSettings) else None
    if isinstance(own, HubEncoder):
        found = _download_model(own, section, gguf, weights=weights)
    else:
        found = _directory(Path(own.path), section)
    if weights or not isinstance(own, HubEncoder):
        check_weights(found, gguf)
    return found


def _directory(path: Path, section: Section) -> Path:
    if not path.is_dir():
        raise HeadroomError(f"{section}.path: no directory {path} in {Path.cwd()}; correct the path")
    return path


def _download_model(settings: HubEncoder, section: Section, gguf: str | None, *, weights: bool) -> Path:
    """Download a model; pickled weights only if it has no others."""
    name = settings.name
    disable_progress_bars()
    reason = _reason_not_reached(name, settings.revision, section)
    _log.info("%s: %s", name, "using earlier downloads, the Hub cannot be reached" if reason else "downloading")

    def download(*weights: str) -> Path:
        wanted = [*_WANTED, *weights]
        return Path(
            huggingface_hub.snapshot_download(
                name, revision=settings.revision, allow_patterns=wanted, local_files_only=bool(reason)
            )
        )

    try:
        if not weights:
            return download()
        if gguf:
            return download(gguf)
        place = download("model*.safetensors", "model.safetensors.index.json")
        return place if any(place.glob("*.safetensors")) else download("pytorch_model*.bin*")
    except Exception as error:  # the client raises errors of several libraries
        raise HeadroomError(
            f"{section}.name: cannot download {name} from the Hub ({reason or first_line(error)});\n"
            f"download it on a machine with a network, copy the directory here, and use {_DIRECTORY_INSTEAD[section]}"
        ) from error


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
