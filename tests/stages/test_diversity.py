"""The stage `diversity` on tiny runs: steps of heads between the epochs of both tasks, and what hops have."""

import pytest
from headroom.experiments.diversity import stage as diversity
from headroom.experiments.diversity.declared import DIVERSITY
from headroom.experiments.diversity.measures import MEASURES
from headroom.study.selection import rows_where
from models import toy_text, write_encoder, write_self_attentive
from safetensors.torch import load_file, save_file
from stages.stage_arguments import classifying, looking_at, write_tsv
from study import run_stage


def test_steps_of_a_translation_model_are_those_between_the_files(toy, tmp_path):
    given = [*looking_at(toy, *toy.checkpoints, several=True), "--examples", "10"]
    run_stage(
        diversity, [*given, "--output", str(tmp_path / "table.csv"), "--particles", str(tmp_path / "particles.csv")]
    )
    table = DIVERSITY.read(tmp_path / "table.csv")
    before, after = (load_file(path / "model.safetensors") for path in toy.checkpoints)
    for kind, place in (("E", "encoder.layers.0.self_attn"), ("A", "decoder.layers.0.encoder_attn")):
        names = [f"model.{place}.{name}_proj.weight" for name in "qkv"]
        squares = sum(float((after[name].double() - before[name].double()).square().sum()) for name in names)
        step = rows_where(table, measure="particle_step", kind=kind, layer=1)["value"].item()
        assert step == pytest.approx(squares**0.5, rel=1e-6)


def moved(place, write, changes):
    """Write two epochs of a classifier, the second with other weights; return the table of the stage."""
    for epoch in (1, 2):
        weights = write(place / f"epoch{epoch}") / "model.safetensors"
    state = load_file(weights)
    for name, where, change in changes:
        state[name][where] += change
    save_file(state, weights, metadata={"format": "pt"})
    given = classifying(place, place / "epoch1", place / "epoch2", several=True)
    run_stage(
        diversity,
        [
            *given,
            "--batch-examples",
            "5",
            "--output",
            str(place / "table.csv"),
            "--particles",
            str(place / "particles.csv"),
        ],
    )
    return DIVERSITY.read(place / "table.csv")


def test_steps_of_a_classifier_are_those_of_its_projections(tmp_path):
    write_tsv(tmp_path / "check.tsv", toy_text(examples=12))
    attention = "bert.encoder.layer.1.attention.self"
    changes = [
        (f"{attention}.query.weight", (0, 0), 3),
        (f"{attention}.value.weight", (7, 2), -4),
        ("bert.encoder.layer.1.output.dense.weight", ..., 1),
    ]
    steps = rows_where(moved(tmp_path, write_encoder, changes), measure="particle_step")
    assert {*steps["signature"]} == {"since:epoch1"}
    assert steps["value"].tolist() == pytest.approx([0, 5])


def test_hops_are_heads_without_values(tmp_path):
    write_tsv(tmp_path / "check.tsv", toy_text(pairs=False))
    table = moved(tmp_path, write_self_attentive, [("encoder.attention.hops.weight", 2, 2)])
    assert {*table["measure"]} == {*MEASURES} - {"value_cosine"}
    features = load_file(tmp_path / "epoch1/model.safetensors")["encoder.attention.hops.weight"].shape[1]
    assert rows_where(table, measure="particle_step")["value"].item() == pytest.approx(2 * features**0.5)
    assert rows_where(table, measure="z_cka")["value"].between(0, 1).all()
