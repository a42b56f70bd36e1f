"""The effect of `gpus` on the workflow: more processes and GPUs for trainings, no other changes."""

import re

import pytest

pytestmark = pytest.mark.long

TRAININGS = ["training_translation", "training_classification", "training_from_scratch"]


def jobs(bare, gpus):
    """Return the commands and the numbers of GPUs of the jobs of a dry run, by rule."""
    changes = {"device": "cuda", "gpus": gpus, "translation.training.update_frequency": 2}
    ended = bare.snakemake("-n", "-p", study=bare.configure(changes))
    assert ended.status == 0, ended.output
    found = re.findall(r"^rule (\w+):\n(.*?)\n\n", ended.output, flags=re.M | re.S)
    asked = {
        name: [re.findall(r"(?:python -m .*|gpu=\d+)", text) for rule, text in found if rule == name]
        for name, _ in found
    }
    return {name: sorted(commands) for name, commands in asked.items()}


def doubled(text: str) -> str:
    """Return the line of a training on one GPU as it is on two: with two processes, and twice the memory."""
    text = re.sub(r'("seed":\d+)', r'\1,"processes":2', text.replace("gpu=1", "gpu=2"))
    return re.sub(r"--bound (\d+)", lambda found: f"--bound {2 * int(found[1])}", text)


def test_trainings_get_the_gpus_and_nothing_else_changes(bare):
    one, two = (jobs(bare, gpus) for gpus in (1, 2))
    for name in TRAININGS:
        assert two[name] == [[doubled(text) for text in job] for job in one[name]] != one[name]
    others = set(one) - {*TRAININGS, "configuration"}  # which is written down for the report
    assert {name: one[name] for name in others} == {name: two[name] for name in others}
    assert set(one) == set(two)
    assert len(others) > 20
