"""What a stage loads is in its sources; scores of translations add up to sacrebleu's."""

import re
import subprocess
import sys
from pathlib import Path

import headroom
import numpy
import pytest
from headroom.engines.translation_scores import ReferenceSet
from headroom.study.sources import PARAMS, Sources
from sacrebleu.metrics import BLEU, CHRF


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


REFERENCES = ["the cat sat on the mat .", "a dog , it barks !", "", "naïve „quotes“ 3.5 %", "one two three four five"]
SYSTEMS = [
    REFERENCES,
    ["the cat sat on a mat .", "a dog it barks !", "", "naive quotes 3.5 %", "one two three four"],
    [""] * 5,
    ["x y z"] * 5,
    ["the cat sat on the mat .", "", "something", "3.5 %", "five four three two one"],
]


def test_scores_of_translations_are_sacrebleus():
    for system in SYSTEMS:
        found = ReferenceSet(REFERENCES).sample(system, numpy.arange(1.0, 6.0), numpy.full(5, 2.0)).scores()
        assert found["bleu"] == pytest.approx(BLEU().corpus_score(system, [REFERENCES]).score, abs=1e-9)
        assert found["chrf"] == pytest.approx(CHRF().corpus_score(system, [REFERENCES]).score, abs=1e-9)
    assert found["exact"] == pytest.approx(20)  # the first alone
    assert found["loss"] == pytest.approx((1 + 2 + 3 + 4 + 5) / 10)
