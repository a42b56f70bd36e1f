"""Models of fairseq: a tiny translation set and trainers on it, a finished run, and a released checkpoint of 2018."""

import argparse
import io
import json
import random
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import torch
from headroom.data.parallel import ParallelText
from headroom.data.providers.generated import generate_sets
from headroom.data.subwords import MosesPieces, train_pieces
from headroom.experiments.training import stage as training
from headroom.preparation import acquire, vocabulary
from headroom.settings.models import MosesSettings
from headroom.settings.parallel import GeneratedCorpus, VocabularySettings
from headroom.training.fairseq import library as _engine  # noqa: F401
from models import spread
from subword_nmt.learn_bpe import learn_bpe

from fairseq import options, tasks  # isort: skip
from fairseq.data import Dictionary, indexed_dataset  # isort: skip
from fairseq.dataclass.utils import convert_namespace_to_omegaconf  # isort: skip
from fairseq.models.transformer import TransformerModel, transformer_vaswani_wmt_en_fr_big  # isort: skip
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # isort: skip
from fairseq.trainer import Trainer  # isort: skip
from study import run_stage

TINY = (
    "--arch transformer --encoder-layers 2 --decoder-layers 2 --encoder-embed-dim 16 --decoder-embed-dim 16 "
    "--encoder-ffn-embed-dim 16 --decoder-ffn-embed-dim 16 --encoder-attention-heads 4 "
    "--decoder-attention-heads 4 --share-all-embeddings --max-tokens 200 --lr 0.01 --cpu "
    "--criterion label_smoothed_cross_entropy --label-smoothing 0.1"
)


def write_data(directory: Path, *, words: int = 20, sentences: int = 40) -> Path:
    """Write reversed random sentences as `train` and `valid` in fairseq's binary form, and a SentencePiece model."""
    directory.mkdir(parents=True, exist_ok=True)
    dictionary = Dictionary()
    for index in range(words):
        dictionary.add_symbol(f"w{index}", n=words - index)
    for side in ("source", "target"):
        dictionary.save(str(directory / f"dict.{side}.txt"))
    text = [f"w{index} w{index + 1}" for index in range(words)]
    train_pieces(text, directory / "sentencepiece.model", VocabularySettings(size=24, model_type="bpe"))
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


@cache  # hydra takes a good part of a second
def _parsed(*arguments: str) -> Any:
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, list(arguments)))


def make_trainer(data: Path, *extra: str, task: str = "headroom_translation") -> Trainer:
    """Return a trainer of a tiny model on what `write_data` wrote, initialised alike on every call."""
    optimizer = [] if "--optimizer" in extra else ["--optimizer", "adam"]
    settings = deepcopy(_parsed(str(data), "--task", task, *TINY.split(), *optimizer, *extra))
    numpy.random.seed(1)
    torch.manual_seed(1)
    built = tasks.setup_task(settings.task)
    model = built.build_model(settings.model)
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


RUN_SHAPE = [
    *("--encoder-layers", "2", "--decoder-layers", "2", "--model.heads", "4", "--width", "16"),
    *("--feed-forward", "16", "--max-tokens", "400", "--warmup-updates", "4"),
]


@dataclass(frozen=True)
class ToyRun:
    """The output of `write_run`."""

    directory: Path

    @property
    def corpus(self) -> Path:
        return self.directory / "corpus"

    @property
    def data(self) -> Path:
        return self.directory / "binarised"

    @property
    def checkpoints(self) -> list[Path]:
        return [self.directory / "run" / f"epoch{epoch}" for epoch in (1, 2)]

    @property
    def last_state(self) -> Path:
        """The last model as fairseq wrote it."""
        return self.directory / "work" / "epoch2.pt"


def write_run(directory: Path) -> None:
    """Generate, prepare and train in a few seconds."""
    run = ToyRun(directory)
    sizes = {"source": "generated", "train": 200, "valid": 24, "test": 8, "far": 8}
    run_stage(acquire, ["--parallel", json.dumps(sizes), "--output", run.corpus])
    run_stage(vocabulary, ["--corpus", str(run.corpus), "--output", str(run.data), "--size", "220"])
    run_stage(
        training,
        [
            *("--data", str(run.data), "--work", str(directory / "work"), "--checkpoints", str(directory / "run")),
            *("--output", str(directory / "training.csv"), "--device", "cpu", "--arm-name", "baseline"),
            *("--epochs", "2", *RUN_SHAPE),
        ],
    )


RELEASE_SHAPE = {
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_{width}": 16 for side in ("encoder", "decoder") for width in ("embed_dim", "ffn_embed_dim")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
}
TRAINED_WITH = {
    "adam_betas": "(0.9, 0.98)", "adam_eps": 1e-08, "adaptive_softmax_cutoff": None, "attention_dropout": 0.0,
    "arch": "transformer_vaswani_wmt_en_fr_big", "clip_norm": 0.0, "criterion": "label_smoothed_cross_entropy",
    "data": "/somewhere/wmt14_en_fr_joined_dict", "decoder_embed_path": None, "decoder_learned_pos": False,
    "decoder_normalize_before": False, "device_id": 0, "distributed_backend": "nccl", "distributed_port": 5342,
    "distributed_rank": 0, "distributed_world_size": 128, "dropout": 0.1, "encoder_embed_path": None,
    "encoder_learned_pos": False, "encoder_normalize_before": False, "fp16": True, "keep_interval_updates": -1,
    "label_smoothing": 0.1, "left_pad_source": "True", "left_pad_target": "False", "log_format": "simple",
    "log_interval": 100, "lr": [0.0007], "lr_scheduler": "inverse_sqrt", "lr_shrink": 0.1, "max_epoch": 0,
    "max_sentences": None, "max_source_positions": 1024, "max_target_positions": 1024, "max_tokens": 5120,
    "max_update": 80000, "min_lr": 1e-09, "momentum": 0.99, "no_progress_bar": True, "optimizer": "adam",
    "optimizer_overrides": "{}", "raw_text": False, "relu_dropout": 0.0, "restore_file": "checkpoint_last.pt",
    "save_dir": "/checkpoint", "seed": 1, "sentence_avg": False, "share_all_embeddings": True,
    "share_decoder_input_output_embed": True, "source_lang": "en", "target_lang": "fr", "task": "translation",
    "train_subset": "train", "update_freq": [1], "valid_subset": "valid", "warmup_init_lr": 1e-07,
    "warmup_updates": 4000, "weight_decay": 0.0,
}  # fmt: skip
"""Settings as such a checkpoint has them."""


def left_padded(batch: Any, padding: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sources of a batch as fairseq pads them, on their left, and their lengths."""
    lengths = batch.mask.sum(1)
    source = torch.full_like(batch.source, padding)
    for row, tokens, length in zip(source, batch.source, lengths.tolist()):
        row[len(row) - length :] = tokens[:length]
    return source, lengths


@dataclass(frozen=True)
class Release:
    """A released model as its files, and as its makers had it in memory."""

    directory: Path
    model: Any
    dictionary: Dictionary
    text: ParallelText


def write_release(directory: Path, **changed: Any) -> Release:
    """Write model.pt, with some settings changed, dict.en.txt, dict.fr.txt and bpecodes."""
    directory.mkdir(parents=True, exist_ok=True)
    text = generate_sets(GeneratedCorpus(train=80, valid=2, test=1, far=1))["train"]
    dictionary = _write_vocabulary(directory, text)
    arguments = argparse.Namespace(**{**TRAINED_WITH, **RELEASE_SHAPE, **changed})
    whole = argparse.Namespace(**vars(arguments))
    transformer_vaswani_wmt_en_fr_big(whole)
    torch.manual_seed(1)
    model = TransformerModel.build_model(whole, TranslationTask(TranslationConfig(), dictionary, dictionary))
    spread(model)
    for parameter in model.parameters():
        parameter.data = parameter.data.half().float()  # weights that half precision can hold
    torch.save(old_checkpoint(model, arguments), directory / "model.pt", _use_new_zipfile_serialization=False)
    return Release(directory, model.eval(), dictionary, text)


def old_checkpoint(model: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return a model as a checkpoint of 2018: fused projections, half precision, `args`, running means."""
    state = {name: value.half() for name, value in model.state_dict().items()}
    for name in [name for name in state if ".q_proj." in name]:
        parts = [state.pop(name.replace(".q_proj.", f".{part}_proj.")) for part in "qkv"]
        state[name.replace("q_proj.weight", "in_proj_weight").replace("q_proj.bias", "in_proj_bias")] = torch.cat(parts)
    state.pop("decoder.output_projection.weight")
    for side in ("encoder", "decoder"):
        state[f"{side}.embed_positions._float_tensor"] = torch.zeros(1).half()
        state[f"{side}.version"] = torch.tensor([3.0])
    history = {"criterion_name": "LabelSmoothedCrossEntropyCriterion", "best_loss": 1.5, "optimizer_name": "FP16Adam"}
    return {
        "args": arguments,
        "model": state,
        "optimizer_history": [{**history, "lr_scheduler_state": {"best": 1.5}, "num_updates": 80000}],
        "last_optimizer_state": {"loss_scaler": 128.0},
        "extra_state": {
            "train_iterator": {"epoch": 30, "iterations_in_epoch": 0},
            "train_meters": {"train_loss": _meter()},
            "val_loss": 1.5,
        },
    }


def _write_vocabulary(directory: Path, text: ParallelText) -> Dictionary:
    codes = io.StringIO()
    with redirect_stderr(io.StringIO()):  # it draws a bar
        learn_bpe(io.StringIO("\n".join(text.source + text.target)), codes, 60)
    (directory / "bpecodes").write_text(codes.getvalue(), "utf-8")
    dictionary = Dictionary()
    for language, side in (("en", text.source), ("fr", text.target)):
        for line in MosesPieces(directory / "bpecodes", language, MosesSettings()).encode_lines(side):
            for token in line.split(" "):
                dictionary.add_symbol(token)
    dictionary.finalize()
    for language in ("en", "fr"):
        dictionary.save(str(directory / f"dict.{language}.txt"))
    return dictionary


def _meter() -> Any:
    """Return an object of a class that fairseq had in 2018 and has no more."""
    module = ModuleType("fairseq.meters")
    meter = type("AverageMeter", (), {"__module__": "fairseq.meters"})
    module.AverageMeter = meter  # type: ignore[attr-defined]
    sys.modules["fairseq.meters"] = module  # its place for pickle
    found = meter()
    found.sum, found.count = 3.0, 2
    return found


class Exploit:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (str(self.path), "w")
