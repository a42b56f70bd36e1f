"""An arm is a settings model and a pure function: studies accept it, and both libraries train with it."""

import pytest
import torch
from fairseq_models import RUN_SHAPE
from safetensors.torch import load_file

pytestmark = pytest.mark.long

SETTINGS = '''class FrozenArm(ParticleArm):
    """The projections of heads stay as they were initialised."""

    method: Literal["frozen"] = Field("frozen", description="no gradient reaches the heads")


'''

FUNCTION = '''def frozen(gradients: Tensor) -> Tensor:
    """Return no gradient, (systems, heads, parameters)."""
    return torch.zeros_like(gradients)


'''

UNION = "GradientArm = SvgdArm | SposArm | SmoothingArm | RepulsionOnlyArm | ScaledArm | NoiseArm | GrowthArm"
UPDATE = """def _update(
    gradients: Tensor, particles: Tensor, arm: GradientArm, noise: Noise, ratios: list[Tensor] | None
) -> Tensor:
"""


def test_an_arm_is_a_model_and_a_function(project, toy, tmp_path):
    project.edit("headroom/settings/arms.py", at=UNION, before=SETTINGS, after=" | FrozenArm")
    module = "headroom/training/repulsion/particles.py"
    project.edit(module, at="    GradientArm,\n", before="    FrozenArm,\n")
    chosen = "    if isinstance(arm, FrozenArm):\n        return frozen(gradients)\n"
    project.edit(module, at=UPDATE, before=FUNCTION, after=chosen)
    assert project.touched() == {"headroom/settings/arms.py", module}

    arms = {"baseline": {"method": "baseline"}, "frozen": {"method": "frozen", "sites": ["E"]}}
    jobs = project.plan(tasks__translation__arms=arms, tasks__entailment__arms=arms)
    assert jobs["training"] == len(arms) * 4

    outputs = ["--work", tmp_path / "work", "--checkpoints", tmp_path / "run", "--output", tmp_path / "training.csv"]
    frozen = ["--method", "frozen", "--sites", "E", "--epochs", "2"]
    project.headroom("training", "--data", toy.data, *outputs, "--device", "cpu", *RUN_SHAPE, *frozen)

    before, after = (load_file(tmp_path / "run" / f"epoch{epoch}" / "model.safetensors") for epoch in (1, 2))
    same = {name for name in before if torch.equal(before[name], after[name])}
    heads = {name for name in before if ".self_attn." in name and name.endswith(("q_proj.weight", "k_proj.weight"))}
    assert heads & same == {name for name in heads if name.startswith("model.encoder.")}
    assert "model.encoder.layers.0.self_attn.out_proj.weight" not in same
