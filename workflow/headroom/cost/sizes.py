"""The numbers of examples and the lengths of a task's sets, from its configuration or the acquired text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError
from headroom.data.catalogue import Dataset, LabelledDataset, find_entry
from headroom.settings.base import SPLITS
from headroom.settings.study import Study

PIECES_PER_WORD = 1.15
"""Subword pieces of a word, for vocabularies of a few thousand pieces."""

USUAL_WORDS = 12.0
"""Words of a sentence where the text is not known yet; captions and generated sentences have about as many."""

UNKNOWN = {"train": 100_000, "valid": 2_000}
"""Examples of sets that are known only after a download from the Hub or by sacrebleu; others have 1,000."""


@dataclass(frozen=True)
class Sizes:
    """The text of a task.

    Attributes:
        examples: By set; `choose` and `check` are the halves of the validation set.
        pieces: Mean number of pieces of a sentence.
        assumed: Whether the numbers are assumptions, because the text is not known yet.
    """

    examples: Mapping[str, int]
    pieces: float
    assumed: bool = False

    def first(self, name: str, limit: int | None) -> int:
        """Return the number of examples of a set, or of its first ones."""
        return min(self.examples[name], limit or self.examples[name])


def sizes_of(study: Study, task: str, results: Path) -> Sizes:
    """Return the sizes of a task's sets: of the acquired text if the study has it, else of the configuration.

    Raises:
        HeadroomError: If a local file of text does not exist.
    """
    corpus: Any = study.tasks[task].corpus
    names = [*SPLITS, *corpus.far_names]
    acquired = results / task / "corpus"
    files = {name: acquired / (f"{name}.source" if task == "translation" else f"{name}.tsv") for name in names}
    if all(file.is_file() for file in files.values()):
        return _counted(files, task)
    if corpus.source == "files":
        return _own(corpus, task)
    found = _configured(corpus, task)
    assumed = not found
    found = found or {**dict.fromkeys((*names, "valid"), 1000), **UNKNOWN}
    return Sizes(_halved(found), USUAL_WORDS * PIECES_PER_WORD, assumed)


def _configured(corpus: Any, task: str) -> dict[str, int]:
    """Return the examples by set of generated text or of the catalogue; empty if it does not have them."""
    if corpus.source == "generated":
        return {name: getattr(corpus, name) for name in ("train", "valid", "test", "far")}
    if corpus.source != "catalogue":
        return {}
    model: type[Dataset | LabelledDataset] = Dataset if task == "translation" else LabelledDataset
    entry = find_entry(model, corpus.dataset, corpus.far)
    return {name: entry.size(name) for name in ("train", "valid", "test", *corpus.far)}


def _own(corpus: Any, task: str) -> Sizes:
    pairs = corpus.pairs if task == "translation" else {}
    named = {name: pair.source for name, pair in pairs.items()} or {
        key.removeprefix("far."): path for key, path in corpus.paths.items()
    }
    counted = _counted({name: Path(path) for name, path in named.items()}, task)
    return Sizes(_halved({"train": 0, **counted.examples}), counted.pieces)


def _halved(examples: Mapping[str, int]) -> dict[str, int]:
    valid = examples["valid"]
    return {**examples, "choose": (valid + 1) // 2, "check": valid // 2}


def _counted(files: Mapping[str, Path], task: str) -> Sizes:
    header = int(task != "translation")
    examples, words = {}, 0
    for name, path in files.items():
        try:
            lines = path.read_text("utf-8").splitlines()[header:]
        except OSError as error:
            raise HeadroomError(f"{path}: {error.strerror}; correct the path in the configuration") from error
        examples[name] = len(lines)
        words += sum(len(line.split()) for line in lines)
    return Sizes(examples, words / max(sum(examples.values()), 1) * PIECES_PER_WORD)
