"""The stage `diversity` on tiny runs of both tasks."""

import pytest
import torch
from headroom.core.files import write_lines
from headroom.engines.hub.self_attentive import SelfAttentiveConfig, SelfAttentiveForSequenceClassification
from headroom.experiments.diversity import stage as diversity
from headroom.experiments.diversity.measures import MEASURES
from headroom.experiments.diversity.table import DIVERSITY
from headroom.study.selection import rows_where
from models import toy_text, toy_tokenizer, write_encoder
from safetensors.torch import load_file, save_file
from stages.stage_arguments import looking_at


class TestTranslation:
    @pytest.fixture(scope="class")
    def table(self, toy, tmp_path_factory):
        path = tmp_path_factory.mktemp("diversity") / "table.csv"
        diversity.main([*looking_at(toy, *toy.checkpoints, several=True), "--examples", "10", "--output", str(path)])
        return DIVERSITY.read(path)

    def test_steps_are_those_between_the_files(self, table, toy):
        before, after = (torch.load(path, weights_only=False)["model"] for path in toy.checkpoints)
        for kind, place in (("E", "encoder.layers.0.self_attn"), ("A", "decoder.layers.0.encoder_attn")):
            names = [f"{place}.{name}_proj.weight" for name in "qkv"]
            squares = sum(float((after[name].double() - before[name].double()).square().sum()) for name in names)
            step = rows_where(table, measure="particle_step", kind=kind, layer=1)["value"].item()
            assert step == pytest.approx(squares**0.5, rel=1e-6)


class TestClassification:
    @pytest.fixture(scope="class")
    def own(self, tmp_path_factory):
        place = tmp_path_factory.mktemp("own")
        text = toy_text(examples=12)
        lines = ["\t".join(row) for row in zip(text.first, text.second, text.labels)]
        write_lines(place / "corpus/check.tsv", ["sentence1\tsentence2\tlabel", *lines])
        for epoch in (3, 4):
            weights = write_encoder(place / f"epoch{epoch}") / "model.safetensors"
        moved = load_file(weights)
        moved["bert.encoder.layer.1.attention.self.query.weight"][0, 0] += 3
        moved["bert.encoder.layer.1.attention.self.value.weight"][7, 2] -= 4
        moved["bert.encoder.layer.1.output.dense.weight"] += 1
        save_file(moved, weights, metadata={"format": "pt"})
        return place

    @pytest.fixture(scope="class")
    def table(self, own):
        places = [str(own / f"epoch{epoch}") for epoch in (3, 4)]
        given = ["--engine", "classifier", "--checkpoints", *places, "--corpus", str(own / "corpus")]
        given += ["--device", "cpu", "--run", "entailment.baseline.seed1"]
        diversity.main([*given, "--batch-examples", "5", "--output", str(own / "table.csv")])
        return DIVERSITY.read(own / "table.csv")

    def test_steps_are_those_of_the_projections(self, table):
        steps = rows_where(table, measure="particle_step")
        assert {*steps["signature"]} == {"since:epoch3"}
        assert steps["value"].tolist() == pytest.approx([0, 5])


def test_hops_are_heads_without_values(tmp_path):
    torch.manual_seed(0)
    tokenizer, labels = toy_tokenizer("bert"), ("no", "yes")
    sizes = {"embedding_size": 8, "hidden_size": 4, "attention_size": 6, "fully_connected_size": 8}
    model = SelfAttentiveForSequenceClassification(
        SelfAttentiveConfig(
            **sizes,
            vocab_size=len(tokenizer),
            num_attention_heads=4,
            id2label=dict(enumerate(labels)),
            label2id={label: index for index, label in enumerate(labels)},
        )
    )
    for epoch in (1, 2):
        model.save_pretrained(tmp_path / f"epoch{epoch}")
        tokenizer.save_pretrained(tmp_path / f"epoch{epoch}")
        model.encoder.attention.hops.weight.data[2] += 2  # six features: 2 sqrt 6
    text = toy_text(examples=12)
    write_lines(tmp_path / "check.tsv", ["sentence\tlabel", *("\t".join(row) for row in zip(text.first, text.labels))])
    places = [str(tmp_path / f"epoch{epoch}") for epoch in (1, 2)]
    given = ["--engine", "classifier", "--checkpoints", *places, "--corpus", str(tmp_path), "--device", "cpu"]
    diversity.main([*given, "--batch-examples", "5", "--output", str(tmp_path / "table.csv")])
    table = DIVERSITY.read(tmp_path / "table.csv")
    assert len(table) == 7 + 8
    assert {*table["measure"]} == {*MEASURES} - {"value_cosine"}
    assert rows_where(table, measure="particle_step")["value"].item() == pytest.approx(2 * 6**0.5)
    assert rows_where(table, measure="z_cka")["value"].between(0, 1).all()
