"""Engines are complete and chosen by a flag, and what a stage loads is in its sources."""

import re
import subprocess
import sys
from pathlib import Path

import headroom
import pytest
from headroom.engines.command import chosen_engine
from headroom.engines.engine import Engine, EvaluationSet
from headroom.engines.fairseq.engine import TranslationEngine
from headroom.engines.fairseq.judging import TranslatedSet
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.fairseq.timing import TranslationWorkload
from headroom.engines.fairseq.training import TranslationTraining
from headroom.engines.head_model import HeadModel
from headroom.engines.hub.classifier.engine import ClassificationEngine
from headroom.engines.hub.classifier.judging import LabelledSet
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.classifier.timing import ClassificationWorkload
from headroom.engines.hub.classifier.training import FineTuning
from headroom.engines.training import Training
from headroom.engines.workload import Workload
from headroom.study.sources import PARAMS, Sources


def test_the_engine_is_chosen_by_its_flag_wherever_it_stands():
    assert chosen_engine(["--run", "x", "--engine", "classifier", "--help"]) == "classifier"
    assert chosen_engine(["--engine=classifier"]) == "classifier"
    assert chosen_engine(["--run", "classifier"]) == "fairseq"


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
    code = "import sys; import headroom.engines.command as e; e.chosen_engine(['--engine', 'classifier']); "
    code += "assert not {'torch', 'fairseq', 'transformers', 'headroom.engines.fairseq'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(headroom.__path__[0]).parent)


LOADS = """
import sys
from headroom.experiments.{stage} import stage
stage.main(sys.argv[1:])
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("headroom.")))
"""


@pytest.mark.long
def test_what_a_running_stage_loads_is_in_its_import_closure(toy, tmp_path):
    place = ["--vocabulary", str(toy.data), "--corpus", str(toy.corpus), "--device", "cpu"]
    words = ["--checkpoints", str(toy.checkpoints[-1]), *place, "--set", "check", "--output", str(tmp_path / "s.csv")]
    root = Path(headroom.__path__[0]).parent
    command = [sys.executable, "-c", LOADS.format(stage="scores"), *words]
    ended = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    modules = {file: ".".join(Path(file).relative_to(root).with_suffix("").parts) for file in ended.stdout.split()}
    loaded = {file for file, name in modules.items() if not re.fullmatch(PARAMS, name.removesuffix(".__init__"))}
    assert loaded <= set(Sources(root).of_stage("headroom.experiments.scores.stage", engine="fairseq"))
