"""Examples as a model reads them, and the batches that they are trained in."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
from torch.utils.data import Sampler
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerBase

from headroom.data.labelled import LabelledText
from headroom.ground.errors import HeadroomError
from headroom.models.classification.inputs import plain

Examples = list[dict[str, Any]]


def load_tokenizer(encoder: Path, max_length: int) -> PreTrainedTokenizerBase:
    """Return a prepared encoder's tokenizer that cuts inputs to a length.

    Raises:
        HeadroomError: If the encoder cannot read inputs of this length.
    """
    tokenizer = AutoTokenizer.from_pretrained(encoder, local_files_only=True, trust_remote_code=False)
    if max_length > tokenizer.model_max_length:
        raise HeadroomError(f"--max-length {max_length}: the encoder reads at most {tokenizer.model_max_length} pieces")
    tokenizer.model_max_length = max_length
    return plain(tokenizer)


def encode(text: LabelledText, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> Examples:
    """Return examples as the model reads them: numbers of pieces, cut to the tokenizer's length, and of labels."""
    found = tokenizer(text.first, text.second, truncation=True, padding=False)
    plain(tokenizer)  # it is saved with the model
    numbers: Any = config.label2id
    # a model with one kind of segment has no embedding for the second sentence's
    names = [name for name in found if name != "token_type_ids" or getattr(config, "type_vocab_size", 0) > 1]
    return [
        {**{name: found[name][index] for name in names}, "labels": numbers[label]}
        for index, label in enumerate(text.labels)
    ]


def length(example: dict[str, Any]) -> int:
    """Return the number of pieces of an example."""
    return len(example["input_ids"])


class GroupedBatches(Sampler[list[int]]):
    """Batches of examples of about equal length, in an order that is a function of seed and epoch alone.

    Examples are shuffled and sorted by length within pools of 50 batches, then the batches are shuffled;
    the batch that is not full is the last. Processes that train together each have a part of every batch; one
    for which the last batch is too small has its first example, which counts for another (`has_part`).
    """

    def __init__(self, lengths: Sequence[int], *, batch_size: int, seed: int, part: int = 0, parts: int = 1):
        self.lengths = numpy.asarray(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.part = part
        self.parts = parts
        self.epoch = 0

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self._batches():
            yield batch[self.part :: self.parts] or batch[:1]

    def has_part(self, number: int) -> bool:
        """Return whether a batch of an epoch, counted from 0, has examples for this part."""
        return self.part < min(self.batch_size, len(self.lengths) - number * self.batch_size)

    def _batches(self) -> Iterator[list[int]]:
        random = numpy.random.default_rng((self.seed, self.epoch))
        order = random.permutation(len(self.lengths))
        full, pool = len(order) // self.batch_size * self.batch_size, 50 * self.batch_size
        pools = [order[start : min(start + pool, full)] for start in range(0, full, pool)]
        grouped = [one[numpy.argsort(self.lengths[one], kind="stable")] for one in pools]
        batches = numpy.concatenate([order[:0], *grouped]).reshape(-1, self.batch_size)
        yield from random.permutation(batches).tolist()
        if full < len(order):
            yield order[full:].tolist()

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch (from 0) comes next; the Trainer calls this, also when it resumes."""
        self.epoch = epoch
