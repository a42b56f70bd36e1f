"""Both tasks offer what the stages ask of them."""

import inspect

import pytest
from headroom.tasks import TASKS, Task, chosen_task, task_named

OFFERED = [name for name, member in inspect.getmembers(Task, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("name", TASKS)
def test_a_task_offers_the_protocol(name):
    module = task_named(name)
    assert len(OFFERED) == 8
    for function in OFFERED:
        wanted = list(inspect.signature(getattr(Task, function)).parameters)[1:]
        assert list(inspect.signature(getattr(module, function)).parameters) == wanted, function
    assert module.PARTS
    assert module.LOSS


def test_the_task_is_chosen_by_its_flag_wherever_it_stands():
    assert chosen_task(["--run", "x", "--task", "classification", "--help"]) is task_named("classification")
    assert chosen_task(["--task=classification"]) is task_named("classification")
    assert chosen_task(["--run", "classification"]) is task_named("translation")
