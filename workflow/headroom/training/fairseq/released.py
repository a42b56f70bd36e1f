"""Released checkpoints of fairseq, of any version, converted to models of transformers.

Checkpoints from before 2020 keep their settings as `args` and have no `cfg`; the query, key and value
projections of a site are one matrix, `in_proj_weight`. fairseq's code upgrades both.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from headroom.core.errors import HeadroomError
from headroom.core.files import cannot_write
from headroom.data.downloads import DamagedArchiveError, extract, fetch_archive, verify
from headroom.data.subwords import CODES, MosesPieces, write_moses
from headroom.models.head_model import unwrap_names
from headroom.settings.models import ReleasedModel
from headroom.training.fairseq.checkpoint import describe_mismatch, read_data
from headroom.training.fairseq.convert import compare_logits, convert, read_dictionary
from headroom.training.fairseq.library import Dictionary, TransformerModel, TranslationTask
from headroom.training.fairseq.sites import PROJECTIONS, find_sites

from fairseq import checkpoint_utils  # isort: skip


class _Meter:
    """Placeholder for the running means of training in old checkpoints, which are not used."""


_METERS = [
    (_Meter, f"fairseq.{module}.{name}")
    for module in ("meters", "logging.meters")
    for name in ("AverageMeter", "TimeMeter", "StopwatchMeter")
]


def take(settings: ReleasedModel, *, checkpoint: Path, downloads: Path | None, mirror: str | None) -> str:
    """Fetch a release, and write its model as a directory of transformers.

    A downloaded archive is kept in `downloads`, by default beside the model. A mirror is a directory or address with
    released/<archive>, tried before the network.

    Returns:
        A description of the model.

    Raises:
        HeadroomError: If there is no such release, it is damaged, or cannot be written.
    """
    try:
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        for left in checkpoint.parent.glob(".adopt.*"):  # of a killed process
            shutil.rmtree(left)
    except OSError as error:
        raise cannot_write(checkpoint, error) from error
    with tempfile.TemporaryDirectory(dir=checkpoint.parent, prefix=".adopt.") as name:
        archives = downloads or checkpoint.parent / "downloads"
        files = _find_released_files(settings, Path(name), archives, mirror)
        source, target = (files[name] for name in settings.dictionaries)
        codes = files[settings.codes_file]
        for language in (settings.source_language, settings.target_language):
            MosesPieces(codes, language, settings)  # raises for invalid codes
        vocabulary = Path(name, "vocabulary")
        vocabulary.mkdir()
        shutil.copyfile(codes, vocabulary / CODES)
        write_moses(vocabulary, settings)
        about = adopt(files[settings.checkpoint_file], checkpoint, source=source, target=target, vocabulary=vocabulary)
    return ", ".join(f"{value} {name}" for name, value in about.items())


def _find_released_files(settings: ReleasedModel, place: Path, downloads: Path, mirror: str | None) -> dict[str, Path]:
    """Return the path of every file of the release by name: in a directory, or extracted into `place`."""
    names = (settings.checkpoint_file, *settings.dictionaries, settings.codes_file)
    directory = Path(settings.path or "")
    if settings.path and directory.is_dir():
        if missing := [name for name in names if not (directory / name).is_file()]:
            raise HeadroomError(f"key path: the directory {directory} has no file {missing[0]}; add it")
        if settings.sha256:
            raise HeadroomError(f"key sha256: {directory} is a directory; give an archive, or leave the checksum out")
        return {name: directory / name for name in names}
    if settings.url:
        archive = fetch_archive(settings.url, downloads, expected=settings.sha256, mirror=mirror)
    elif directory.is_file():
        archive = directory
        verify(archive, settings.sha256, "give another archive, or correct the key sha256")
    else:
        raise HeadroomError(f"key path: no directory or archive {directory} in {Path.cwd()}; correct the path")
    files = {name: place / f"{number}.{Path(name).name}" for number, name in enumerate(names)}
    try:
        extract(archive, files)
    except DamagedArchiveError:
        if archive.parent == downloads:
            archive.unlink()  # otherwise it would be treated as complete the next time
        raise
    return files


def adopt(released: Path, output: Path, *, source: Path, target: Path, vocabulary: Path) -> dict[str, int]:
    """Write a released checkpoint as a directory of transformers, with weights in float32.

    Args:
        released: The checkpoint.
        output: The directory to write.
        source: The dictionary of the source language.
        target: That of the target language.
        vocabulary: The directory with byte-pair codes and `moses.json`.

    Returns:
        The numbers of `parameters`, of `heads`, and of `types` in the target dictionary.

    Raises:
        HeadroomError: If the checkpoint is damaged, contains code, is not a Transformer for translation, or does
            not match the dictionaries.
    """
    dictionaries = read_dictionary(source), read_dictionary(target)
    state = _upgrade_state(_read(released), released)
    model = _built(state, dictionaries, released)
    try:
        model.load_state_dict(state["model"])  # splits the projections, too
    except RuntimeError as error:
        mismatch = describe_mismatch(error, f"{source.name} and {target.name}")
        raise HeadroomError(f"{released}: {mismatch}") from error
    if wrong := next((name for name, tensor in model.named_parameters() if not tensor.isfinite().all()), ""):
        raise HeadroomError(f"{released}: {wrong} has values that are not finite; give another checkpoint")
    exported = convert(model.float().eval(), dictionaries, vocabulary)
    compare_logits(model, exported)
    exported.save(output)
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "heads": sum(len(live.kept) for live in find_sites(model)),
        "types": len(dictionaries[1]),
    }


def _read(path: Path) -> dict[str, Any]:
    with torch.serialization.safe_globals(list(_METERS)):  # in addition to those in `checkpoint`
        state = read_data(path, "truncated, or not a checkpoint of data alone ({reason})")
    known = isinstance(state, dict) and isinstance(state.get("model"), dict)
    if not known or not (state.get("args") or state.get("cfg")):
        raise HeadroomError(
            f"{path}: not a fairseq checkpoint, 'model' or both 'args' and 'cfg' are missing; give another file"
        )
    return {**state, "model": unwrap_names(state["model"], path)}


def _upgrade_state(state: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the state in fairseq's current form, with this project's languages and data directory."""
    state = {"args": None, **state}
    try:
        if state["args"] is None:
            state["cfg"] = OmegaConf.create(state["cfg"], flags={"allow_objects": True})
        state = checkpoint_utils._upgrade_state_dict(state)
        OmegaConf.set_struct(state["cfg"], False)
        state["cfg"].task.update({"data": "", "source_lang": "source", "target_lang": "target"})
    except Exception as error:  # settings of any version, composed by hydra
        reason = " ".join(str(error).split())[:160]
        raise HeadroomError(
            f"{path}: not the settings of a fairseq translation model ({reason}); give another model"
        ) from error
    return state


def _built(state: dict[str, Any], dictionaries: tuple[Dictionary, Dictionary], path: Path) -> TransformerModel:
    """Return the model of the settings, without loading its weights."""
    try:
        model = TranslationTask(state["cfg"].task, *dictionaries).build_model(state["cfg"].model)
        sites = find_sites(model)
    except Exception as error:  # fairseq raises ValueError for dictionaries; other architectures have various errors
        reason = " ".join(str(error).split())[:160]
        raise HeadroomError(
            f"{path}: not of fairseq's architecture `transformer`, or not of these dictionaries ({reason}); give others"
        ) from error
    if not all(hasattr(live.attention, name) for live in sites for name in PROJECTIONS):
        raise HeadroomError(f"{path}: no separate query, key and value projections; give another model")
    return model
