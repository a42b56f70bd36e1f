"""What is found in every type of model of the installed transformers: `headroom families` writes docs/families.md.

Each type is built at tiny size with random weights, and undergoes the checks of every loaded model. A type whose
configuration cannot be made tiny is "not built": nothing is known of it until a model of it is loaded.
"""

import platform
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
import transformers
from pydantic import Field
from transformers import PreTrainedConfig, PreTrainedModel

from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.models.find_sites import first_line, is_of_another_type
from headroom.models.sliced import TASKS, list_sites
from headroom.models.verification import Trial, check_causality, check_interventions, count_uses, depends_on_batch
from headroom.settings.job import Job

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
        model: The class of the model.
        found: `exact` if heads can be removed, `gates` if they can be masked only, `refused`, or `not built`.
        reason: Why; "" if exact.
        layers: Its layers with attention that were found, by the model's own numbers.
        expected: The number of layers with attention by its configuration.
    """

    type: str
    model: str
    found: str
    reason: str = ""
    layers: tuple[int, ...] = ()
    expected: int = 0


def take_census(task: str, types: tuple[str, ...] = ()) -> Iterator[Verdict]:
    """Yield the verdict on each type of model of a task.

    Args:
        task: The class of transformers that builds its models, e.g. `AutoModelForCausalLM`.
        types: The types; all if there are none.
    """
    for config_class, own in getattr(transformers, task)._model_mapping.items():
        model_class = own[0] if isinstance(own, tuple) else own
        if not types or config_class.model_type in types:
            yield _judge(config_class, model_class, task)


def _judge(config_class: type[PreTrainedConfig], model_class: type[PreTrainedModel], task: str) -> Verdict:
    said = {"type": config_class.model_type, "model": model_class.__name__}
    model, problem = _build(config_class, model_class, task)
    if model is None:
        return Verdict(**said, found="not built", reason=problem)
    trial = make_trial(model)
    try:
        sites = list_sites(model)
        numbers = tuple(sorted({live.site.layer for live in sites}))
        said |= {"layers": numbers, "expected": _count_layers(model.config)}
        count_uses(model, trial)
        if any(live.site.kind == "D" for live in sites) and model.can_generate():
            check_causality(model, trial)
        depends_on_batch(model, trial)
        reason = check_interventions(model, trial)
    except HeadroomError as error:
        return Verdict(**said, found="refused", reason=str(error).removeprefix(f"{model_class.__name__}: "))
    except Exception as error:
        return Verdict(**said, found="refused", reason=f"it fails ({first_line(error)})")
    return Verdict(**said, found="gates" if reason else "exact", reason=reason)


def _build(
    config_class: type[PreTrainedConfig], model_class: type[PreTrainedModel], task: str
) -> tuple[PreTrainedModel | None, str]:
    """Return a tiny model that runs, or None and the first reason why none does."""
    problems = []
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
        except Exception as error:
            problems.append(first_line(error))
    return None, next((one for one in reversed(problems[:2]) if one != problems[0]), problems[0])


def shrink(config_class: type[PreTrainedConfig], variant: dict[str, Any]) -> PreTrainedConfig:
    """Return the configuration of a tiny model of a type: its defaults, with every size small.

    There are as many layers as have one of each kind by the defaults, and at least two.
    """
    default = config_class()
    counts = {value for name, value in vars(default).items() if _LAYERS.fullmatch(name)}
    lists = [value for value in vars(default).values() if isinstance(value, list) and isinstance(value[:1], list)]
    kinds = [value for value in lists if len(value) in counts or not counts]
    kinds.append(list(getattr(default, "layer_types", None) or ()))  # computed by some
    layers = max([2, *(own.index(kind) + 1 for own in kinds for kind in {*map(str, own)} if kind in own)])
    given: dict[str, Any] = {}
    for name, value in vars(default).items():
        if isinstance(value, PreTrainedConfig):
            given[name] = shrink(type(value), variant)
        elif isinstance(value, list | tuple) and len(value) in counts:
            given[name] = value[:layers]
        elif _LAYERS.fullmatch(name) and isinstance(value, int):
            given[name] = layers
        elif isinstance(value, int) and not isinstance(value, bool) or name.endswith("token_id"):
            sizes = (size for pattern, size in _SIZES.items() if re.fullmatch(pattern, name))
            given[name] = next(sizes, value)
        elif isinstance(value, float | bool | str) and not name.startswith("_"):
            given[name] = value
    given |= {name: value for name, value in variant.items() if name in vars(default)}
    return config_class(**given)


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


def _count_layers(config: PreTrainedConfig) -> int:
    """Return the number of layers with attention by a configuration; of an encoder-decoder those of one stack."""
    stack = getattr(config, "encoder", config) if config.is_encoder_decoder else config
    text = stack if stack is config and config.is_encoder_decoder else stack.get_text_config()
    layers = int(getattr(text, "num_hidden_layers", 0))
    return sum(not is_of_another_type(text, layer) for layer in range(1, layers + 1))


class FamiliesJob(Job):
    """Try every type of model that the installed transformers has."""

    types: tuple[str, ...] = Field((), description="types of models, as `model_type` in config.json; unset for all")
    output: Path = Field(Path("docs/families.md"), description="page that is written")


def run(job: FamiliesJob) -> None:
    """Write the page, or print the verdicts on some types."""
    warnings.simplefilter("ignore")
    lines = [
        "# Families of models",
        "",
        f"Every type of model of transformers {transformers.__version__} (torch {torch.__version__.partition('+')[0]}, "
        f"Python {platform.python_version()}), tiny and with random weights, tried by `python -m headroom families`.",
        "",
    ]
    for task, about in TASKS.items():
        found = list(take_census(task, job.types))
        counts = Counter(one.found for one in found)
        lines += [
            f"## As {about}",
            "",
            f"{len(found)} types: {', '.join(f'{n} {name}' for name, n in counts.items())}.",
        ]
        lines += ["", "| type | heads | layers | why |", "|---|---|---|---|"]
        lines += [_row(one) for one in sorted(found, key=lambda one: one.type)] + [""]
    if job.types:
        print("\n".join(lines))
    else:
        write_lines(job.output, lines)


def _row(verdict: Verdict) -> str:
    layers = f"{len(verdict.layers)} of {verdict.expected}" if verdict.layers else ""
    return f"| {verdict.type} | {verdict.found} | {layers} | {verdict.reason.replace('|', ' ')} |"
