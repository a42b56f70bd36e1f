"""The files of the package that a job depends on: of criteria those whose functions it calls."""

from pathlib import Path

import pytest
from headroom.methods.criteria import criteria, module_of, modules_of
from headroom.plan import Plan
from headroom.settings.study import load_study
from headroom.sources import Sources

PLACE = Path(__file__).parents[2] / "workflow"
PACKAGE = "headroom.methods.criteria"
PLAN = Plan(load_study({"study": "s", "seeds": [1], "translation": {}}))


@pytest.fixture(scope="module")
def sources() -> Sources:
    return Sources(PLACE)


def criteria_in(files: list[str]) -> set[str]:
    return {Path(file).stem for file in files if "/methods/criteria/" in file} - {"__init__"}


@pytest.mark.parametrize(
    ("family", "modules"),
    [
        ("gradient_shared", {"gradient_shared", "gradient"}),
        ("weights", {"weights", "activation", "gradient"}),  # each imports the next
        ("integrated_gradients", {"integrated_gradients"}),
        ("loss_ablation", {"loss_ablation"}),
    ],
)
def test_a_family_depends_on_its_own_imports(sources: Sources, family: str, modules: set[str]) -> None:
    files = sources.of_stage("bakeoff_scores", "translation", PLAN.family_modules(family))
    assert criteria_in(files) == modules
    shared = {str(PLACE / "headroom" / "methods" / f"{name}.py") for name in ("masked_losses", "passes")}
    assert (shared <= set(files)) == (family in ("integrated_gradients", "loss_ablation"))


@pytest.mark.parametrize(
    ("order", "modules"),
    [
        ("shapley", {"shapley"}),
        ("gradient-token", {"gradient"}),
        ("confidence", {"experiments"}),
        ("random", set()),
        ("reverse", set()),
    ],
)
def test_curves_depend_on_the_criterion_of_their_order(sources: Sources, order: str, modules: set[str]) -> None:
    files = sources.of_stage("bakeoff_curves", "classification", PLAN.order_modules(order))
    assert criteria_in(files) == modules


@pytest.mark.parametrize(
    ("stage", "modules"),
    [
        ("scores", {"gradient"}),
        ("bakeoff", set()),
        ("pruning", {"gradient", "experiments"}),
        ("rank_correlation", {"gradient", "experiments"}),
        ("ablation", set()),
    ],
)
def test_other_stages_depend_on_the_criteria_of_their_tables(sources: Sources, stage: str, modules: set[str]) -> None:
    assert criteria_in(sources.of_stage(stage)) == modules


def test_modules_of_criteria() -> None:
    assert module_of("gradient-token") == f"{PACKAGE}.gradient"
    assert module_of("output-norm") == f"{PACKAGE}.activation"
    assert set(modules_of()) == {f"{PACKAGE}.gradient", f"{PACKAGE}.experiments"}
    assert {module_of(name) for name in criteria()} == set(modules_of([one.table for one in criteria().values()]))
