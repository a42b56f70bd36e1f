"""A tiny translation set in fairseq's form, and trainers on it, for tests."""

import random
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import torch
from headroom.engines.fairseq import library as _engine  # noqa: F401

from fairseq import options, tasks  # isort: skip
from fairseq.data import Dictionary, indexed_dataset  # isort: skip
from fairseq.dataclass.utils import convert_namespace_to_omegaconf  # isort: skip
from fairseq.trainer import Trainer  # isort: skip

TINY = (
    "--arch transformer --encoder-layers 2 --decoder-layers 2 --encoder-embed-dim 16 --decoder-embed-dim 16 "
    "--encoder-ffn-embed-dim 16 --decoder-ffn-embed-dim 16 --encoder-attention-heads 4 "
    "--decoder-attention-heads 4 --share-all-embeddings --max-tokens 200 --lr 0.01 --cpu "
    "--criterion label_smoothed_cross_entropy --label-smoothing 0.1"
)


def write_data(directory: Path, *, words: int = 20, sentences: int = 40) -> Path:
    """Write reversed random sentences as `train` and `valid` in fairseq's binary form."""
    directory.mkdir(parents=True, exist_ok=True)
    dictionary = Dictionary()
    for index in range(words):
        dictionary.add_symbol(f"w{index}", n=words - index)
    for side in ("source", "target"):
        dictionary.save(str(directory / f"dict.{side}.txt"))
    generator = random.Random(0)
    for split in ("train", "valid"):
        lines = [[generator.randrange(words) for _ in range(generator.randint(2, 7))] for _ in range(sentences)]
        for side, step in (("source", 1), ("target", -1)):
            prefix = directory / f"{split}.source-target.{side}"
            builder = indexed_dataset.make_builder(f"{prefix}.bin", impl="mmap", vocab_size=len(dictionary))
            for line in lines:
                text = " ".join(f"w{index}" for index in line[::step])
                builder.add_item(dictionary.encode_line(text, add_if_not_exist=False))
            builder.finalize(f"{prefix}.idx")
    return directory


def configuration(data: Path, *extra: str, task: str = "headroom_translation") -> Any:
    """Return fairseq's configuration of a tiny model."""
    optimizer = [] if "--optimizer" in extra else ["--optimizer", "adam"]
    return deepcopy(_parsed(str(data), "--task", task, *TINY.split(), *optimizer, *extra))


@cache  # hydra takes a good part of a second
def _parsed(*arguments: str) -> Any:
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, list(arguments)))


def make_trainer(data: Path, *extra: str, task: str = "headroom_translation", freeze: str = "-") -> Trainer:
    """Return a trainer of a tiny model, initialised alike on every call.

    Args:
        data: What `write_data` wrote.
        extra: Further fairseq arguments.
        task: Name of the task.
        freeze: Parameters whose name contains this get no gradient.
    """
    settings = configuration(data, *extra, task=task)
    numpy.random.seed(1)
    torch.manual_seed(1)
    built = tasks.setup_task(settings.task)
    model = built.build_model(settings.model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(freeze not in name)
    built.load_dataset("train")
    trainer = Trainer(settings, built, model, built.build_criterion(settings.criterion))
    trainer.begin_epoch(1)
    return trainer


def batch(trainer: Trainer, rows: Sequence[int]) -> dict[str, Any]:
    """Return sentences of the training set as one batch."""
    dataset = trainer.task.dataset("train")
    return dataset.collater([dataset[row] for row in rows])


def gradients(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Return the gradients that the last update used, by parameter name."""
    named = trainer.model.named_parameters()
    return {name: parameter.grad.clone() for name, parameter in named if parameter.grad is not None}


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Return copies of the parameters by name."""
    return {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}
