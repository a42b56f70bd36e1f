"""Both tasks offer what the stages ask of them."""

import inspect

import pytest
from headroom.tasks import TASKS, chosen_task, module_of
from headroom.tasks.judging import Judging
from headroom.tasks.loading import Loading
from headroom.tasks.timing import Timing

PARTS = {"loading": (Loading, 4), "judging": (Judging, 3), "timing": (Timing, 1)}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("part", PARTS)
def test_a_task_offers_the_protocol(task, part):
    protocol, count = PARTS[part]
    module = module_of(task, part)
    functions = [name for name, _ in inspect.getmembers(protocol, inspect.isfunction) if not name.startswith("_")]
    assert len(functions) == count
    for function in functions:
        wanted = list(inspect.signature(getattr(protocol, function)).parameters)[1:]
        assert list(inspect.signature(getattr(module, function)).parameters) == wanted, function
    for constant in protocol.__annotations__:
        assert getattr(module, constant), constant


def test_the_task_is_chosen_by_its_flag_wherever_it_stands():
    assert chosen_task(["--run", "x", "--task", "classification", "--help"]) == "classification"
    assert chosen_task(["--task=classification"]) == "classification"
    assert chosen_task(["--run", "classification"]) == "translation"
