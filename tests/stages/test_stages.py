"""What all stages have in common: help that lists every setting, and wrong values refused in one line."""

import argparse
import importlib
import pkgutil

import headroom.stages
import pytest
from headroom.core.command import run
from headroom.engines.engine import ENGINES, engine_for
from headroom.settings.base import SamplingSettings
from headroom.settings.experiments import (
    AblationSettings,
    AttentionMapsSettings,
    AttentionStatsSettings,
    DecodingSettings,
    DiversitySettings,
    EvaluationSettings,
    GateSettings,
    KeepOneSettings,
    LabellingSettings,
    PruningSettings,
    RelevanceSettings,
    RemovalSettings,
    RoleSettings,
    ScoreSettings,
    TimingSettings,
    UpdateCostSettings,
)
from headroom.settings.models import ModelSettings, TrainingSettings

MODULES = {
    name: importlib.import_module(f"headroom.stages.{name}")
    for name in (module.name for module in pkgutil.iter_modules(headroom.stages.__path__))
}
ON_TASKS = (
    *(
        "ablation",
        "relevance",
        "from_scratch",
        "parameters",
        "diversity",
        "evaluation",
        "gates",
        "keep_one",
        "attention_stats",
        "pruning",
    ),
    *("removal", "scores", "timing", "attention_maps", "training", "released"),
)
"""Stages whose flags depend on `--task`."""

SETTINGS = {
    "ablation": (AblationSettings, DecodingSettings, SamplingSettings),
    "relevance": (RelevanceSettings,),
    "from_scratch": (DecodingSettings, SamplingSettings),
    "update_cost": (ModelSettings, TrainingSettings, UpdateCostSettings),
    "diversity": (DiversitySettings,),
    "evaluation": (EvaluationSettings, DecodingSettings, SamplingSettings),
    "gates": (GateSettings, DecodingSettings, SamplingSettings),
    "keep_one": (KeepOneSettings, DecodingSettings, SamplingSettings),
    "roles": (RoleSettings,),
    "attention_stats": (AttentionStatsSettings, SamplingSettings),
    "pruning": (PruningSettings, ScoreSettings, DecodingSettings, SamplingSettings),
    "removal": (RemovalSettings, DecodingSettings, SamplingSettings),
    "scores": (ScoreSettings,),
    "timing": (TimingSettings,),
    "attention_maps": (AttentionMapsSettings,),
    "training": (ModelSettings, TrainingSettings),
}

NUMBERS = [
    (stage, "--" + name.replace("_", "-"))
    for stage, models in SETTINGS.items()
    if stage != "update_cost"  # its arms are read first
    for model in models
    for name, field in model.model_fields.items()
    if "int" in str(field.annotation) or "float" in str(field.annotation)
    if "Literal" not in str(field.annotation)
]


def parser_of(name, task="translation"):
    module = MODULES[name]
    if name in ("training", "released"):
        return module.build_parser(task)
    return module.build_parser(engine_for(task)) if name in ON_TASKS else module.build_parser()


def flags(model):
    return ["--" + name.replace("_", "-") for name in model.model_fields]


def required(parser):
    """Return a value for every flag that must be given."""
    return [text for action in parser._actions if action.required for text in (action.option_strings[0], "x")]


@pytest.mark.parametrize("name", MODULES)
def test_help_says_what_every_flag_means(name, capsys):
    with pytest.raises(SystemExit) as caught:
        run(MODULES[name].main, ["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: python -m headroom {name} ")
    for action in parser_of(name)._actions:
        assert action.option_strings[-1] in text
        assert action.help is not None
    if name in SETTINGS:
        assert [flag for model in SETTINGS[name] for flag in flags(model) if f"{flag} " not in text] == []


@pytest.mark.parametrize("task", ENGINES)
@pytest.mark.parametrize("name", ON_TASKS)
def test_help_is_that_of_the_task(name, task, capsys):
    with pytest.raises(SystemExit) as caught:
        run(MODULES[name].main, ["--task", task, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert ("--vocabulary" in text or "--data" in text) == (task == "translation")
    for action in parser_of(name, task)._actions:
        assert action.option_strings[-1] in text
    judges = name not in (
        "relevance",
        "parameters",
        "diversity",
        "attention_stats",
        "scores",
        "timing",
        "attention_maps",
        "training",
        "released",
    )
    if task == "classification" and judges:
        wanted = [*flags(LabellingSettings), *flags(SamplingSettings)]
        assert [flag for flag in wanted if flag not in text] == []


def test_an_unknown_task_is_named_with_the_tasks(capsys):
    with pytest.raises(SystemExit) as caught:
        run(MODULES["scores"].main, ["--task", "parsing"])
    assert caught.value.code == 2
    last = capsys.readouterr().err.split("\n")[-2]
    assert "'parsing'" in last
    assert all(task in last for task in ENGINES)


@pytest.mark.parametrize("name", MODULES)
def test_no_flag_means_two_things(name):
    """argparse would refuse them when the parser is built."""
    assert isinstance(parser_of(name), argparse.ArgumentParser)


@pytest.mark.parametrize(("name", "flag"), NUMBERS)
def test_a_wrong_value_is_named_in_one_line_before_any_work(name, flag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        run(MODULES[name].main, [*required(parser_of(name)), flag, "many"])
    assert caught.value.code == 2
    text = capsys.readouterr().err
    assert text.startswith(f"error: {flag} many: ")
    assert text.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_a_flag_that_does_not_exist_is_named(name, capsys):
    with pytest.raises(SystemExit) as caught:
        run(MODULES[name].main, [*required(parser_of(name)), "--beem", "5"])
    assert caught.value.code == 2
    assert "--beem" in capsys.readouterr().err.split("\n")[-2]


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_a_flag_that_is_needed_is_named(name, capsys):
    with pytest.raises(SystemExit) as caught:
        run(MODULES[name].main, [])
    assert caught.value.code == 2
    assert "required: --" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "flag", "value"),
    [
        ("pruning", "--criteria", "magnitude"),
        ("training", "--precision", "int8"),
        ("training", "--device", "tpu"),
        ("scores", "--device", "tpu"),
    ],
)
def test_an_unknown_choice_is_named_with_the_choices(name, flag, value, capsys):
    with pytest.raises(SystemExit) as caught:
        run(MODULES[name].main, [*required(parser_of(name)), flag, value])
    assert caught.value.code == 2
    last = capsys.readouterr().err.split("\n")[-2]
    assert flag in last
    assert f"'{value}'" in last
