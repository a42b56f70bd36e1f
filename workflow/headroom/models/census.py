"""What is found in every type of model of the installed transformers.

Each type is built at tiny size with random weights, and undergoes the checks of every loaded model. A type whose
configuration cannot be made tiny is "not built": nothing is known of it until a model of it is loaded.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel

from headroom.core.errors import HeadroomError
from headroom.models.families import KEY
from headroom.models.find_sites import first_line, is_of_another_type
from headroom.models.sliced import list_sites
from headroom.models.verification import Trial, check_causality, check_interventions, count_uses, depends_on_batch

_TOKENS, _LENGTH = 40, 7

_SIZES: dict[str, Any] = {
    r"pad_token_id": 0,
    r"(bos|sep|cls|decoder_start)_token_id": 1,
    r"eos_token_id": 2,
    r".*_token_(id|index)": 3,
    r".*vocab_size.*": _TOKENS,
    r"n_group|topk_group|n_shared_experts|num_kv_shared_layers|inner_group_num": 1,
    r"num_experts_per_tok(en)?|(.*_)?top_?k|moe_k|linear_num_key_heads": 2,
    r".*experts|.*(d_state|state_size)|rotary_dim|num_query_groups|coordinate_size": 4,
    r".*_n?groups?|n_groups": 1,
    r"mamba_(n|num)_heads|n_mamba_heads|.*chunk_size": 8,
    r"(q|kv)_lora_rank|.*_lowrank|adapter_rank|attention_head_dim": 16,
    r"mamba_d_ssm|attention_hidden_size": 64,
    r".*(key_value_heads|kv_heads)": 2,
    r".*(attention_heads|num_heads|n_heads?|num_value_heads)": 4,
    r".*(head_dim|headdim|d_head|d_kv|kv_channels|head_size)|shape_size": 8,
    r".*(ffn|intermediate|inner|d_ff|hidden_dim).*": 48,
    r".*(hidden_size|d_model|n_embd|emb_dim|embedding_size|embed_dim|lru_width|bottleneck_size).*|dim": 32,
    r".*(max_.*position|n_positions|n_ctx|max_seq|seq_length).*": 64,
}
"""By the name of a setting, the first that matches: its value in a tiny model."""

_LAYERS = re.compile(r"(num_|n_)?((hidden|encoder|decoder)_)?layers?")
_HYBRID = {"layer_types": ["linear_attention", "full_attention"]}
_VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"num_key_value_heads": 4},
    {"num_key_value_heads": 4, "head_dim": 8},
    {"num_kv_shared_layers": 0},
    {"num_experts_per_tok": 1},
    {"num_experts_per_tok": 2, "num_key_value_heads": 4},
    {"default_language": "en_XX"},
    {"vocab_size": _TOKENS},
    {"hidden_size": 512},
    _HYBRID,
    {"layer_types": ["conv", "full_attention"]},
    {**_HYBRID, "num_key_value_heads": 4},
)
"""Further values, tried in turn until a model is built and runs."""


@dataclass(frozen=True)
class Verdict:
    """What became of a type of model.

    Attributes:
        type: Its name in configurations.
        found: `exact` if heads can be removed, `gates` if they can be masked only, `half-seen` if it has more layers
            with attention by its configuration than were found, `refused`, or `not built`.
        reason: Why; "" if exact.
        layers: The layers with attention, by the model's own numbers, and the number of all; "" if none were found.
    """

    type: str
    found: str
    reason: str = ""
    layers: str = ""


def take_census(task: str, types: Collection[str] = ()) -> list[Verdict]:
    """Return the verdicts on the types of models of a task, in the order of their names.

    Args:
        task: The class of transformers that builds its models, e.g. `AutoModelForCausalLM`.
        types: The types; all that transformers has if there are none.
    """
    known = {config.model_type: config for config in getattr(transformers, task)._model_mapping}
    own = (name for name in sorted(known) if not name.startswith(KEY))  # but for those of this package
    return [_judge(known[name], task) for name in own if name in types or not types]


def _judge(config_class: type[PreTrainedConfig], task: str) -> Verdict:
    name, layers = config_class.model_type, ""
    model, problem = _build(config_class, task)
    if model is None:
        return Verdict(name, "not built", problem)
    trial = make_trial(model)
    try:
        sites = list_sites(model)
        layers = _name_layers(model.config, {live.site.layer for live in sites})
        uses = count_uses(model, trial)
        if any(site.kind == "D" for site in uses) and model.can_generate():
            check_causality(model, trial)
        depends_on_batch(model, trial)
        reason = check_interventions(model, trial)
    except HeadroomError as error:
        return Verdict(name, "refused", str(error).removeprefix(f"{type(model).__name__}: "), layers)
    except Exception as error:
        return Verdict(name, "refused", f"it fails ({first_line(error)})", layers)
    for kind in {site.kind for site in uses} - {"A"}:
        times = [number for site, number in uses.items() if site.kind == kind]
        if _count_layers(model.config) not in (len(times), sum(times)):  # layers may share a site
            return Verdict(name, "half-seen", f"its configuration has {_count_layers(model.config)}", layers)
    return Verdict(name, "gates" if reason else "exact", reason, layers)


def _name_layers(config: PreTrainedConfig, found: Collection[int]) -> str:
    return f"{', '.join(map(str, sorted(found)))} of {len(_list_layers(config))}"


def _list_layers(config: PreTrainedConfig) -> list[bool]:
    """Return for each layer by a configuration, of an encoder-decoder those of one stack, whether it has attention."""
    stack: Any = getattr(config, "encoder", config) if config.is_encoder_decoder else config
    text = config if stack is config and config.is_encoder_decoder else stack.get_text_config()
    return [not is_of_another_type(text, number + 1) for number in range(getattr(text, "num_hidden_layers", 0))]


def _count_layers(config: PreTrainedConfig) -> int:
    return sum(_list_layers(config))


def _build(config_class: type[PreTrainedConfig], task: str) -> tuple[PreTrainedModel | None, str]:
    """Return a tiny model that runs, or None and a reason why none does."""
    own = getattr(transformers, task)._model_mapping[config_class]
    model_class, problems = own[0] if isinstance(own, tuple) else own, []
    for variant in _VARIANTS:
        try:
            config = shrink(config_class, variant)
            if model_class.config_class is type(config.get_text_config()):
                config = config.get_text_config()  # of a model that also reads images
            if task == "AutoModelForCausalLM" and hasattr(config, "is_decoder"):
                config.is_decoder = True
            if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
                config.decoder_start_token_id = 0
            torch.manual_seed(1)
            model = model_class._from_config(config).eval().requires_grad_(False)
            for weights in model.parameters():
                if weights.dim() > 1:  # every head is to matter
                    weights.data.normal_(0, 0.2)
            model(**make_trial(model).inputs)
            return model, ""
        except Exception as error:  # configurations are validated in many places
            problems.append(first_line(error))
    return None, problems[0]


def shrink(config_class: type[PreTrainedConfig], variant: Mapping[str, Any]) -> PreTrainedConfig:
    """Return the configuration of a tiny model of a type: its defaults, with every size small.

    There are as many layers as have one of each kind by the defaults, and at least two.

    Args:
        config_class: The class of its configuration.
        variant: Values of settings, where it has them.
    """
    default = config_class()
    own = {name: value for name, value in vars(default).items() if not name.startswith("_")}
    counts = {value for name, value in own.items() if _LAYERS.fullmatch(name)}
    lists = [value for value in own.values() if isinstance(value, list) and (len(value) in counts or not counts)]
    kinds = [getattr(default, "layer_types", None) or (), *lists]
    firsts = [[*value].index(kind) + 1 for value in kinds for kind in value if isinstance(kind, str)]
    layers = max([2, *firsts])
    given: dict[str, Any] = {}
    for name, value in own.items():
        if isinstance(value, PreTrainedConfig):
            given[name] = shrink(type(value), variant)
        elif isinstance(value, list | tuple) and len(value) in counts:
            given[name] = value[:layers]
        elif isinstance(value, int) and _LAYERS.fullmatch(name):
            given[name] = layers
        elif type(value) is int or name.endswith("token_id"):
            given[name] = next((size for pattern, size in _SIZES.items() if re.fullmatch(pattern, name)), value)
        elif isinstance(value, float | bool | str):
            given[name] = value
    return config_class(**given | {name: value for name, value in variant.items() if name in own})


def make_trial(model: PreTrainedModel) -> Trial:
    """Return two rows of ordinary tokens, the second one shorter, and a prompt for a model that generates."""
    drawn = torch.randint(4, _TOKENS, (2, _LENGTH), generator=torch.Generator().manual_seed(1))
    if model.config.is_encoder_decoder:  # a token ends each row
        drawn[0, -1] = drawn[1, -4] = 2
    mask = torch.ones_like(drawn)
    mask[1, _LENGTH - 3 :] = 0
    inputs = {"input_ids": drawn * mask, "attention_mask": mask}
    generates = model.can_generate()
    if model.config.is_encoder_decoder and generates:
        inputs["decoder_input_ids"] = drawn.flip(1)[:, :-2]
        return Trial(inputs, {"input_ids": inputs["input_ids"], "attention_mask": mask})
    prompt = {"input_ids": inputs["input_ids"].flip(1), "attention_mask": mask.flip(1)}
    return Trial(inputs, prompt if generates else None)
