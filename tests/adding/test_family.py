"""A family of models is an entry of a table: heads of an attention unlike that of all others are removed exactly."""

import pytest

pytestmark = pytest.mark.long

GATED = """
import torch
from headroom.models import verification
from headroom.models.verification import Trial, check_interventions
from transformers import AutoConfig, AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification
from transformers.models.bert.modeling_bert import BertSelfAttention

class GatedConfig(BertConfig):
    model_type = "gated-bert"

class GatedAttention(BertSelfAttention):
    # z of every head times a gate for each of its features, which a projection of the states' first half computes
    def __init__(self, config, **options):
        super().__init__(config, **options)
        self.features = torch.nn.Linear(config.hidden_size // 2, self.all_head_size)

    def forward(self, hidden_states, *inputs, **options):
        z, *others = super().forward(hidden_states, *inputs, **options)
        return z * self.features(hidden_states[..., :8]).sigmoid(), *others

class GatedBert(BertForSequenceClassification):
    config_class = GatedConfig

    def __init__(self, config):
        super().__init__(config)
        for number, layer in enumerate(self.bert.encoder.layer):
            layer.attention.self = GatedAttention(config, layer_idx=number)

AutoConfig.register("gated-bert", GatedConfig)
AutoModelForSequenceClassification.register(GatedConfig, GatedBert)
torch.manual_seed(1)
sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
model = GatedBert(GatedConfig(vocab_size=30, attn_implementation="eager", **sizes)).eval()
for weights in model.parameters():
    torch.nn.init.normal_(weights, std=0.3)
tokens = torch.randint(1, 30, (3, 7))
verification._SHARE = 0.0  # equal to the last digits
print(check_interventions(model, Trial({"input_ids": tokens, "attention_mask": torch.ones_like(tokens)})))
"""
ENTRY = '    Family(name="Gated", types=("gated-bert",), others=("features",)),\n'


def test_a_family_is_an_entry(project):
    def check() -> str:
        ended = project.run("env", "PYTHONPATH=workflow", "python", "-W", "ignore", "-c", GATED)
        assert ended.status == 0, ended.output
        return ended.output.strip().split("\n")[-1]

    assert check().startswith("it fails with heads sliced out (The size of tensor a")
    project.edit("headroom/models/families.py", at="FAMILIES = (\n", after=ENTRY)
    assert project.touched() == {"headroom/models/families.py"}
    assert check() == ""
