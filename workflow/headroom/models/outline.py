"""What a model is before its weights are read: its task, its heads, its size, from its configuration and tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError
from headroom.core.heads import Site
from headroom.models.checkpoint import read_configuration, read_tokenizer
from headroom.models.families import find_family
from headroom.models.find_sites import (
    CONFIGURATION,
    check_tokenizer,
    count_tokens,
    first_line,
    longest_input,
)
from headroom.models.seq2seq.text import set_languages
from headroom.models.sliced import list_sites, tasks_of
from headroom.models.sources import locate
from headroom.models.weight_files import find_weights
from headroom.settings.models import BUILDERS, HubModelSettings

_KINDS = {"classification": "E", "translation": "EAD", "language": "D", "masked": "E"}
"""By kind of task, the kinds of sites of its models."""

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Outline:
    """What is known of a model without its weights.

    Attributes:
        name: The name of its class.
        task: The kind of task that it is for.
        tokenizer: Its tokenizer.
        sites: Its attention sites.
        uses: How often its sites run in a pass, together; more than there are of them if layers share some.
        groups: The number of groups of heads that share keys and values at all sites; that of heads if none are shared.
        parameters: The number of its parameters.
        tokens: The number of tokens that it knows.
        longest: The maximum input length in tokens.
        labels: The labels of a classifier.
        kept_whole: Why its heads can be masked but not removed; "" if they can, as far as its family is known.
    """

    name: str
    task: str
    tokenizer: PreTrainedTokenizerBase
    sites: Sequence[Site]
    uses: int
    groups: int
    parameters: int
    tokens: int
    longest: int
    labels: Sequence[str]
    kept_whole: str

    @property
    def heads(self) -> int:
        """The number of its heads."""
        return sum(site.heads for site in self.sites)

    @property
    def multiply_adds(self) -> float:
        """Roughly its multiply-adds for a token: one for each parameter, as often as its layers run."""
        return self.parameters * self.uses / len(self.sites)

    def weight_bytes(self, dtype: str) -> int:
        """Return the memory of its weights in bytes."""
        return self.parameters * _BYTES[dtype]


def read_outline(settings: HubModelSettings) -> Outline:
    """Read what a model is; from the Hub only its small files are downloaded.

    Raises:
        HeadroomError: If a file is missing or damaged, or the model is of no kind of task, or its heads are not found.
    """
    place = locate(settings, "released", weights=False)
    if not settings.name and not settings.gguf:
        find_weights(place)
    config = read_configuration(place, None, file=settings.gguf)
    task = find_task(config, place / (settings.gguf or CONFIGURATION))
    model = _build_without_weights(config, task, place)
    tokenizer = read_tokenizer(place, file=settings.gguf)
    check_tokenizer(tokenizer, model, place)
    if task == "translation":
        set_languages(tokenizer, **settings.model_dump(include={"source_code", "target_code", "prefix"}))
    sites = list_sites(model)
    if others := {live.site.kind for live in sites} - {*_KINDS[task]}:
        raise HeadroomError(f"{place}: {type(model).__name__} has a decoder ({', '.join(others)}); give an encoder")
    labels: Any = config.id2label if task == "classification" else {}
    return Outline(
        name=type(model).__name__,
        task=task,
        tokenizer=tokenizer,
        sites=[live.site for live in sites],
        uses=sum(live.uses for live in sites),
        groups=sum(live.site.heads if live.groups is None else len({*live.groups}) for live in sites),
        parameters=sum(weight.numel() for weight in model.parameters()),
        tokens=count_tokens(model),
        longest=min(int(tokenizer.model_max_length), longest_input(model)),
        labels=[labels[index] for index in sorted(labels)],
        kept_whole=find_family(config).kept_whole or next((live.kept_whole for live in sites if live.kept_whole), ""),
    )


def find_task(config: PreTrainedConfig, path: Path) -> str:
    """Return the kind of task of a model, by the class that its configuration names."""
    named: Sequence[str] = config.architectures or []
    found = tasks_of(config)
    if not named and path.name != CONFIGURATION:  # a GGUF file names no class
        found = ["translation" if config.is_encoder_decoder else "language"]
    if not found:
        raise HeadroomError(
            f"{path}: {', '.join(named) or 'a model without `architectures`'} is neither a sequence classifier, "
            "nor an encoder-decoder, nor a causal or masked language model; give one of these (docs/models.md)"
        )
    return found[0]


def _build_without_weights(config: PreTrainedConfig, task: str, place: Path) -> PreTrainedModel:
    try:
        with torch.device("meta"):
            model: Any = getattr(transformers, BUILDERS[task]).from_config(config)
    except Exception as error:  # configurations are validated in many places
        raise HeadroomError(f"{place}: cannot build the model ({first_line(error)}); correct its files") from error
    return model
