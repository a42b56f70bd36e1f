"""Engines are complete and chosen by a flag, and what a stage loads is in its sources."""

import subprocess
import sys
from pathlib import Path

import headroom.stages
import pytest
from headroom.engines.classification.engine import ClassificationEngine
from headroom.engines.classification.judging import LabelledSet
from headroom.engines.classification.model import ClassificationModel
from headroom.engines.classification.timing import ClassificationWorkload
from headroom.engines.classification.training import FineTuning
from headroom.engines.command import chosen_engine, engine_for
from headroom.engines.engine import Engine, EvaluationSet, Workload
from headroom.engines.head_model import HeadModel
from headroom.engines.training import Training
from headroom.engines.translation.engine import TranslationEngine
from headroom.engines.translation.judging import TranslatedSet
from headroom.engines.translation.model import TranslationModel
from headroom.engines.translation.timing import TranslationWorkload
from headroom.engines.translation.training import TranslationTraining
from headroom.sources import PARAMS, Sources


def test_the_engine_is_chosen_by_its_flag_wherever_it_stands():
    assert chosen_engine(["--run", "x", "--task", "classification", "--help"]) is engine_for("classification")
    assert chosen_engine(["--task=classification"]) is engine_for("classification")
    assert chosen_engine(["--run", "classification"]) is engine_for("translation")


INTERFACES = [
    *((Engine, one) for one in (TranslationEngine, ClassificationEngine)),
    *((EvaluationSet, one) for one in (TranslatedSet, LabelledSet)),
    *((HeadModel, one) for one in (TranslationModel, ClassificationModel)),
    *((Workload, one) for one in (TranslationWorkload, ClassificationWorkload)),
    *((Training, one) for one in (TranslationTraining, FineTuning)),
]


@pytest.mark.parametrize(("interface", "made"), INTERFACES)
def test_a_class_without_one_method_of_its_interface_cannot_be_instantiated(interface: type, made: type):
    assert not made.__abstractmethods__
    for name in interface.__abstractmethods__:
        lacking = type("Lacking", (interface,), {key: value for key, value in vars(made).items() if key != name})
        with pytest.raises(TypeError, match=name):
            lacking()


def test_a_command_line_waits_for_no_engine():
    code = "import sys; import headroom.engines.command as e; e.chosen_engine(['--task', 'classification']); "
    code += "assert not {'torch', 'fairseq', 'transformers', 'headroom.engines.translation'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(headroom.stages.__path__[0]).parents[1])


LOADS = """
import sys
from headroom.stages import {stage}
{stage}.main(sys.argv[1:])
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("headroom.")))
"""


@pytest.mark.long
def test_what_a_running_stage_loads_is_in_its_import_closure(toy, tmp_path):
    place = ["--vocabulary", str(toy.data), "--corpus", str(toy.corpus), "--device", "cpu"]
    words = ["--checkpoints", str(toy.checkpoints[-1]), *place, "--set", "check", "--output", str(tmp_path / "s.csv")]
    root = Path(headroom.stages.__path__[0]).parents[1]
    command = [sys.executable, "-c", LOADS.format(stage="scores"), *words]
    ended = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    settings = tuple(str(root.joinpath(*name.split("."))) for name in PARAMS)
    loaded = {file for file in ended.stdout.split() if not file.startswith(settings)}
    assert loaded <= set(Sources(root).of_stage("scores", engine="translation"))
