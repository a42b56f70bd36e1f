"""The memory of a job, computed from its model, its text and its settings before it runs."""

import importlib.util
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core.memory import PROGRAM, ModelSize, Work, read_size
from headroom.settings.models import HubModelSettings, ModelSettings, NewEncoder, PackageEncoder, SelfAttentiveEncoder
from headroom.settings.tasks import ClassificationSettings, LanguageSettings, TaskSettings, TranslationSettings

if TYPE_CHECKING:
    from headroom.study.plan import Plan
    from headroom.study.stages import Files, Stage, Values

GPU = 3e9
"""Bytes of CUDA's libraries in a process that uses a GPU. Its weights and batches are in the GPU's own memory then."""

UNKNOWN = 2e9
"""Bytes of the weights of a model that has to be downloaded, before it is."""

LONGEST = 512
"""The pieces of an example whose text is not there yet."""

MODELS = ("checkpoint", "checkpoints", "encoder", "models", "rewound")
"""The inputs of a job that are models, by flag."""

_READ = {".bin": 2, ".npz": 2}
"""Bytes in memory of a byte of an input, by the ending of its file; of text and tables there are `_PARSED`."""

_PARSED = 10
"""Bytes of a byte of text or of a table, in Python's objects."""

_BYTES = 2
"""The fewest bytes of text that are a piece, on average over the longest example of a set."""


GENERATED = 256
"""Sentences that are generated at a time in a sweep."""

UPDATED = 5.0
"""Copies of the weights in updates: weights, gradients, two moments of the optimizer, those of a checkpoint."""

UNCOUNTED = 10_000
"""Windows of a set that are not limited."""

NONE = ModelSize(parameters=0, weights=0, kept=0, layer=0, outputs=0, heads=0, site=0)
"""The size of the model of a call that has none."""

WEIGHTS = (".safetensors", ".pt", ".gguf", ".h5", ".msgpack", ".onnx")
"""The endings of files with weights."""


@dataclass(frozen=True)
class Call:
    """A call of a stage, of which the memory is computed.

    Attributes:
        plan: The plan.
        values: Its wildcards.
        inputs: Its input files by flag, as they are on the disk.
        size: The size of its model.
    """

    plan: "Plan"
    values: "Values"
    inputs: "Files"
    size: ModelSize

    @property
    def task(self) -> TaskSettings:
        """The settings of its task."""
        return self.plan.study.tasks[self.plan.task_of(self.values)]

    def passes(self, examples: int, *sets: str, limit: int | None = None, **options: Any) -> Work:
        """Return the work of passes over batches of examples of some sets.

        Args:
            examples: The examples of a batch.
            sets: The sets.
            limit: The examples of each that are read at most; None for all.
            options: Those of `Work`.
        """
        examples = min(examples, self.count(sets, limit) or examples)
        return Work(examples=examples, pieces=self.find_longest(sets), **options)

    def judge(self, *sets: str, limit: int | None = None, beam: int = 1, **options: Any) -> Work:
        """Return the work of answering sets, of so many examples at most; `options` are those of `Work`."""
        judged, task = self.count(sets, limit), self.task
        own = self.passes(0, *sets, **options)
        resampled = replace(own, judged=judged, resamples=self.plan.study.sampling.resamples)
        if isinstance(task, TranslationSettings):  # with references and with the plain model's translations
            at_once = task.decoding.sentences_at_once
            return replace(resampled, examples=2 * at_once, generated=beam * at_once)
        at_once = (
            task.windows.windows_at_once if isinstance(task, LanguageSettings) else task.labelling.examples_at_once
        )
        return replace(resampled, examples=min(at_once, judged or at_once))

    def sweep(self, *sets: str, limit: int | None = None, outcomes: int = 0) -> Work:
        """Return the work of judging models with heads removed, by default each head, whose outcomes are kept."""
        own = self.judge(*sets, limit=limit, outcomes=(outcomes or self.size.heads) * len(sets))
        if own.generated:  # changed translations together; references and the plain model's translations are stored
            return replace(own, generated=max(own.generated, GENERATED), stored=2 * own.judged)
        return replace(own, stored=own.judged)

    def count(self, sets: Iterable[str], limit: int | None = None) -> int:
        """Return the number of examples of the largest of some sets, of so many at most; 0 if it is unknown."""
        found = max((measure_text(file)[0] for file in self.find_files(sets)), default=limit or 0)
        if isinstance(self.task, LanguageSettings):  # a document is any number of windows
            found = self.task.windows.per_set or limit or UNCOUNTED
        return min(found, limit or found)

    def find_longest(self, sets: Iterable[str]) -> int:
        """Return the most pieces of an example of some sets that a model reads."""
        task = self.task
        if isinstance(task, LanguageSettings):
            return task.windows.length
        most = LONGEST
        if isinstance(task, ClassificationSettings) and not task.released:
            most = task.training.max_length
        files = self.find_files(sets)
        return min(most, max(measure_text(file)[1] for file in files) // _BYTES + 2) if files else most

    def find_files(self, sets: Iterable[str]) -> list[Path]:
        """Return those files with the text of sets that are there already."""
        named = {*sets}
        files = map(Path, self.inputs.get("corpus", ()))
        return [file for file in files if file.stem in named and file.suffix != ".json" and file.is_file()]


def count_megabytes(stage: "Stage", plan: "Plan", values: "Values", inputs: "Files") -> int:
    """Return the bound of the memory of a call in megabytes.

    Args:
        stage: The stage.
        plan: The plan.
        values: The wildcards of the call.
        inputs: Its input files by flag, as they are on the disk.
    """
    found = 1e6 * megabytes_read(path for flag, paths in inputs.items() if flag not in MODELS for path in paths)
    if stage.work or stage.loads_model:
        size = find_size(plan, values, inputs)
        work = stage.work(Call(plan, values, inputs, size)) if stage.work else Work()
        found += work.count_bytes(size) + (GPU if plan.study.device == "cuda" else 0)
    return round(found / 1e6)


def megabytes_read(paths: Iterable[str]) -> int:
    """Return the megabytes of a process that holds these inputs, which are no models."""
    return round((PROGRAM + sum(map(count_read, paths))) / 1e6)


def find_size(plan: "Plan", values: "Values", inputs: "Files") -> ModelSize:
    """Return the size of the model of a call: that of its files or, before they are there, as it is configured."""
    name = plan.task_of(values)
    task = plan.study.tasks[name] if name else None
    if isinstance(task, TranslationSettings) and not task.released:  # a file of fairseq has no header
        return size_of_task(task)
    places = [Path(path) for flag in MODELS for path in inputs.get(flag, ())]
    for place in dict.fromkeys(path if path.suffix == ".pt" else path.parent for path in places[::-1]):
        if found := measure_model(place):
            return found
    return size_of_task(task) if task else NONE


def size_of_task(task: TaskSettings) -> ModelSize:
    """Return the size of the models of a task as they are configured."""
    if task.released:
        dtype = task.released.dtype if isinstance(task.released, HubModelSettings) else ""
        place = find_place(task.released)
        return (place and measure_model(place, dtype)) or ModelSize.of_bytes(UNKNOWN)
    if isinstance(task, TranslationSettings):
        return size_of_shapes(shape_layers(task.model), task.vocabulary.size, task.model.width, task.model.heads)
    assert isinstance(task, ClassificationSettings)
    encoder = task.encoder
    if isinstance(encoder, SelfAttentiveEncoder):
        states = [(4 * encoder.hidden, encoder.embedding + encoder.hidden)] * 2
        layers = {"encoder.0.": [*states, (encoder.attention, 2 * encoder.hidden), (encoder.hops, encoder.attention)]}
        return size_of_shapes(layers, encoder.vocabulary, encoder.embedding, encoder.hops, classes=True)
    if isinstance(encoder, NewEncoder):
        layer = [(encoder.width, encoder.width)] * 4 + [(encoder.width, encoder.feed_forward)] * 2
        layers = {f"encoder.{number}.": layer for number in range(encoder.layers)}
        return size_of_shapes(layers, encoder.vocabulary, encoder.width, encoder.heads, classes=True)
    place = find_place(encoder)
    return (place and measure_model(place, "float32")) or ModelSize.of_bytes(UNKNOWN)


def shape_layers(model: ModelSettings) -> dict[str, list[tuple[int, int]]]:
    """Return the shapes of the matrices of the layers of a translation model, by the beginning of their names."""
    attention, rest = [(model.width, model.width)] * 4, [(model.width, model.feed_forward)] * 2
    layers = {f"encoder.layers.{number}.": attention + rest for number in range(model.encoder_layers)}
    return layers | {f"decoder.layers.{number}.": 2 * attention + rest for number in range(model.decoder_layers)}


def size_of_shapes(
    layers: Mapping[str, Sequence[tuple[int, int]]], pieces: int, width: int, heads: int, *, classes: bool = False
) -> ModelSize:
    """Return the size of a model in float32 with these matrices, and embeddings of pieces."""
    shapes = {f"{name}{number}": shape for name, own in layers.items() for number, shape in enumerate(own)}
    shapes |= {f"{name}.weight": (pieces, width) for name in ("read", "written", "predicted")}
    named = {"num_attention_heads": heads, "architectures": ["Classification"] if classes else []}
    return ModelSize.of_shapes(shapes, named, weights=4.0 * sum(map(math.prod, shapes.values())))


def find_place(settings: Any) -> Path | None:
    """Return the directory or file of a model on this machine; None of one that has to be downloaded."""
    own = settings.place if isinstance(settings, HubModelSettings) else settings
    if isinstance(own, PackageEncoder):
        spec = importlib.util.find_spec(own.package)
        found = Path(spec.origin).parent / own.directory if spec and spec.origin else None
    else:
        path = getattr(own, "path", None)
        found = Path(path) if path else None
    file = getattr(settings, "gguf", None) or getattr(settings, "checkpoint_file", None)
    return found / file if found and file and found.is_dir() else found


def measure_model(place: Path, dtype: str = "") -> ModelSize | None:
    """Return the size of the model at a place, as `read_size` does; unchanged files are read once."""
    stamps = [file.stat() for file in (place.iterdir() if place.is_dir() else [place] if place.is_file() else [])]
    return _measure_model(place, dtype, tuple(sorted((one.st_mtime_ns, one.st_size) for one in stamps)))


@lru_cache(maxsize=1000)
def _measure_model(place: Path, dtype: str, _stamps: tuple[tuple[int, int], ...]) -> ModelSize | None:
    return read_size(place, dtype=dtype)


def measure_text(file: Path) -> tuple[int, int]:
    """Return the number of lines of a text, and the bytes of the longest; an unchanged file is read once."""
    stamp = file.stat()
    return _measure_text(file, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=1000)
def _measure_text(file: Path, _time: int, _size: int) -> tuple[int, int]:
    lines = longest = 0
    with open(file, "rb") as stream:
        for line in stream:
            lines, longest = lines + 1, max(longest, len(line))
    return lines, longest


def count_read(path: str) -> float:
    """Return the bytes in memory of an input that is no model; 0 of one that is not there yet."""
    suffix = os.path.splitext(path)[1]
    if suffix in WEIGHTS or os.path.basename(path).startswith("pytorch_model") or not os.path.isfile(path):
        return 0.0
    return os.path.getsize(path) * _READ.get(suffix, _PARSED)
