"""The stage `particles` on tiny runs of both tasks."""

import pytest
import torch
from headroom.experiments.diversity import particles
from headroom.experiments.diversity.geometry import MEASURES, geometry
from headroom.experiments.diversity.table import PARTICLES
from headroom.study.selection import rows_where
from safetensors.torch import load_file, save_file
from stages.stage_arguments import looking_at
from toy_encoder import write_encoder
from toy_self_attentive import HOPS, write_self_attentive

PLACES = {"E": "encoder.layers.{}.self_attn", "A": "decoder.layers.{}.encoder_attn", "D": "decoder.layers.{}.self_attn"}


class TestTranslation:
    @pytest.fixture(scope="class")
    def table(self, toy, tmp_path_factory):
        path = tmp_path_factory.mktemp("particles") / "table.csv"
        particles.main([*looking_at(toy, *reversed(toy.checkpoints), several=True), "--output", str(path)])
        return PARTICLES.read(path)

    def test_a_row_per_epoch_site_projection_and_measure(self, table):
        assert len(table) == 2 * 6 * 3 * len(MEASURES)
        assert not table.duplicated(list(PARTICLES.key)).any()
        assert {*table["projection"]} == {"query", "key", "value"}
        assert {*table["measure"]} == {*MEASURES}

    @pytest.mark.parametrize("kind", PLACES)
    @pytest.mark.parametrize("name", ["query", "key", "value"])
    def test_values_are_those_of_the_files(self, table, toy, kind, name):
        weights = [
            torch.load(path, weights_only=False)["model"][f"{PLACES[kind].format(1)}.{name[0]}_proj.weight"]
            for path in toy.checkpoints
        ]
        for epoch, weight in enumerate(weights, start=1):
            found = rows_where(table, epoch=epoch, kind=kind, layer=2, projection=name).set_index("measure")["value"]
            expected = geometry(weight.view(4, -1))  # four heads
            assert {measure: found[measure] for measure in MEASURES} == pytest.approx(expected, rel=1e-8)
            assert found["norm"] == pytest.approx(weight.double().norm().item())


class TestClassification:
    @pytest.fixture(scope="class")
    def table(self, tmp_path_factory):
        place = tmp_path_factory.mktemp("own")
        for epoch in (3, 4):
            weights = write_encoder(place / f"epoch{epoch}") / "model.safetensors"
        moved = load_file(weights)
        moved["bert.encoder.layer.0.attention.self.key.weight"] *= 1.5
        save_file(moved, weights, metadata={"format": "pt"})
        given = ["--engine", "classifier", "--checkpoints", str(place / "epoch3"), str(place / "epoch4")]
        given += ["--corpus", str(place), "--device", "cpu", "--run", "entailment.baseline.seed1"]
        particles.main([*given, "--output", str(place / "table.csv")])
        return PARTICLES.read(place / "table.csv")

    def test_growth_alone_changes_no_direction(self, table):
        names = [measure for measure in MEASURES if measure != "norm"]
        before, after = (
            rows_where(table, layer=1, projection="key", epoch=epoch).set_index("measure")["value"][names]
            for epoch in (3, 4)
        )
        assert after.tolist() == pytest.approx(before.tolist(), rel=1e-5)


def classified(tmp_path, *places):
    given = ["--engine", "classifier", "--checkpoints", *map(str, places), "--corpus", str(tmp_path)]
    particles.main([*given, "--device", "cpu", "--output", str(tmp_path / "table.csv")])
    return PARTICLES.read(tmp_path / "table.csv")


def test_a_site_with_one_head_has_no_rows(tmp_path):
    write_encoder(tmp_path / "epoch1", heads=1)
    assert len(classified(tmp_path, tmp_path / "epoch1")) == 0


def test_hops_are_learned_queries(tmp_path):
    for epoch in (1, 2):
        write_self_attentive(tmp_path / f"epoch{epoch}")
    table = classified(tmp_path, tmp_path / "epoch1", tmp_path / "epoch2")
    assert {*table["projection"]} == {"query"}
    hops = load_file(tmp_path / "epoch1" / "model.safetensors")["encoder.attention.hops.weight"]
    assert len(hops) == HOPS
    assert rows_where(table, measure="norm")["value"].tolist() == pytest.approx([hops.double().norm().item()] * 2)
