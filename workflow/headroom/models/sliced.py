"""Sliced models as models of transformers: a type of their own, whose classes remove the heads when they are built.

The configuration of a model that was written here says what was removed:
`"headroom": {"type": "llama", "removed": "D1:2 D2:5", "biases": "D1"}`, of a whole model `{"removed": ""}`. A sliced
model has the type `headroom-sliced`, which transformers refuses if this module was not imported.
"""

import copy
from collections.abc import Sequence
from functools import cache
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import transformers
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from headroom.core.heads import format_profile, parse_profile
from headroom.models.families import KEY
from headroom.models.find_sites import find_sites
from headroom.models.removal import add_bias, remove_heads
from headroom.models.sites import AttentionSite, site_names
from headroom.settings.models import BUILDERS

TASKS = {
    "AutoModelForSequenceClassification": "sequence classifier",
    "AutoModelForSeq2SeqLM": "encoder-decoder",
    "AutoModelForCausalLM": "language model",
    "AutoModelForMaskedLM": "masked language model",
}
"""The classes of transformers that build a model from a configuration, and what they build."""

_PREFIX = "Sliced"


class SlicedConfig(PreTrainedConfig):
    """The configuration of a sliced model of any family, before its family is known."""

    model_type = "headroom-sliced"

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **options: Any) -> Any:
        """Return the configuration of a sliced model of the family that is named in it."""
        family: Any = transformers.CONFIG_MAPPING[config_dict[KEY]["type"]]
        own = _make_classes(family)
        return own.from_dict(config_dict, **options)


def know_text_part(family: type[PreTrainedConfig]) -> None:
    """Let transformers build a model that also reads images as a language model, if it has no other class for that."""
    whole = transformers.AutoModelForImageTextToText._model_mapping.get(family, None)
    if isinstance(whole, type) and family not in transformers.AutoModelForCausalLM._model_mapping:
        transformers.AutoModelForCausalLM.register(family, whole, exist_ok=True)


@cache
def _make_classes(family: type[PreTrainedConfig]) -> type[PreTrainedConfig]:
    """Return a family's class of configurations of sliced models; transformers builds models from them."""
    know_text_part(family)
    made = type(f"{_PREFIX}{family.__name__}", (family,), {"model_type": SlicedConfig.model_type})
    for task in TASKS:
        builder: Any = getattr(transformers, task)
        whole = builder._model_mapping.get(family, None)
        if isinstance(whole, type):
            builder.register(made, _make_model(whole, made))
    base: Any = transformers.AutoModel._model_mapping.get(family, None)
    if isinstance(base, type):  # from which classifiers build themselves
        transformers.AutoModel.register(made, type(f"{_PREFIX}{base.__name__}", (base,), {"config_class": made}))
    return made


def _make_model(whole: Any, config_class: type[PreTrainedConfig]) -> type[PreTrainedModel]:
    """Return the class of models that remove heads from themselves."""

    def build(self: Any, config: PreTrainedConfig, *inputs: Any, **options: Any) -> None:
        whole.__init__(self, config, *inputs, **options)
        self.live_sites = _slice(self)

    # buffers are initialised like those of transformers' own classes, not of "custom code" (Falcon-H1)
    own = {"__init__": build, "config_class": config_class, "__module__": whole.__module__}
    made: type[PreTrainedModel] = type(f"{_PREFIX}{whole.__name__}", (whole,), own)
    return made


def _slice(model: PreTrainedModel) -> list[AttentionSite]:
    """Remove the heads that the configuration names, add the biases that it names, and return the sites."""
    said: dict[str, str] = getattr(model.config, KEY)
    sites = find_sites(model)
    remove_heads(sites, parse_profile(said["removed"], site_names(sites)))
    for live in sites:
        if str(live.site) in said.get("biases", "").split():
            add_bias(live)
    return sites


def list_sites(model: PreTrainedModel) -> list[AttentionSite]:
    """Return the sites of a model as it was built, whole or sliced."""
    sites: list[AttentionSite] | None = getattr(model, "live_sites", None)
    return sites or find_sites(model)


def configure(model: PreTrainedModel, sites: Sequence[AttentionSite]) -> PreTrainedConfig:
    """Return the configuration from which transformers builds a model like this one, with the heads of its sites."""
    config = copy.deepcopy(model.config)
    config.dtype = model.dtype
    vars(config).pop("quantization_config", None)  # of a GGUF file, whose numbers were read into floats
    said = {"removed": format_profile(head for live in sites for head in live.removed_heads())}
    if not said["removed"]:
        config.architectures = config.architectures or [plain_name(model)]  # a GGUF file has none
        setattr(config, KEY, said)
        return config
    said["type"] = getattr(config, KEY, {}).get("type", config.model_type)
    if biases := [str(live.site) for live in sites if live.bias_added]:
        said["biases"] = " ".join(biases)
    named = {"architectures": [_PREFIX + plain_name(model)], KEY: said}
    return SlicedConfig.from_dict(config.to_dict() | named)


def find_builder(config: PreTrainedConfig, name: str) -> tuple[str, type[PreTrainedModel]]:
    """Return the class of transformers that builds models of a class, by their configuration, and this class."""
    found = ((task, getattr(transformers, task)._model_mapping.get(type(config), None)) for task in TASKS)
    for task, own in found:
        if own is not None and own.__name__ == name:
            return task, own
    raise ValueError(f"transformers has no class that builds a {name} from its configuration")


def tasks_of(config: PreTrainedConfig) -> list[str]:
    """Return the kinds of task of a model by the class that its configuration names; a translator comes first."""
    builders: dict[str, Any] = {task: getattr(transformers, name) for task, name in BUILDERS.items()}
    built = {task: builder._model_mapping.get(type(config), None) for task, builder in builders.items()}
    return [task for task, own in built.items() if getattr(own, "__name__", "") in (config.architectures or ())]


def plain_name(model: PreTrainedModel) -> str:
    """Return the name of a model's class, of a sliced model that of a whole one."""
    return type(model).__name__.removeprefix(_PREFIX)


AutoConfig.register(SlicedConfig.model_type, SlicedConfig)
