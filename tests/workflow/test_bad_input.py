import re
from pathlib import Path

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.catalogue import Dataset, read_entries
from headroom.missing import missing_files, wrong_criteria
from headroom.settings.load import load_study
from headroom.study.plan import Plan
from study import SENTENCES, Ended, Project, new_project, own_text


def made_by_a_run(root: Path) -> list[Path]:
    """Return what lies in the places that runs write to; the reference reports come with the project."""
    reports = [path for path in root.glob("reports/*") if path.name != "reference"]
    return [*root.glob("results/*"), *root.glob("work/*"), *reports]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return the project before any run."""
    return new_project(tmp_path / "project")


def says(ended: Ended, *parts: str) -> None:
    """Check that a command failed with a message, and that all of it is within two lines."""
    assert ended.status != 0, ended.output
    is_told(ended.output, *parts)


def is_told(output: str, *parts: str) -> None:
    assert "Traceback" not in output, output
    lines = output.split("\n")
    both = [f"{line} {following}" for line, following in zip(lines, [*lines[1:], ""])]
    assert any(all(part in text for part in parts) for text in both), output


WRONG_KEYS = re.findall(
    r"^(.+?)\s+=> (.+)$",
    """
trainning: {epochs: 2} => trainning:
translation.training.epochs: many => translation.training.epochs:  … valid integer … 'many'
translation.arms: {bare: {method: headmask, masked: 2}}
  => translation.arms.bare.masked: 2 exceeds the heads of E1; give at most 1
translation.arms: {many: {method: svgd, heads: 32}}
  => translation.arms.many.heads: 32 does not divide the width 16
classification.entailment.arms: {decoder: {method: disagreement-output, sites: [D]}}
  => classification.entailment.arms.decoder.sites: an encoder has no site D
classification.entailment.arms: {odd: {method: baseline, heads: 3}}
  => classification.entailment.arms.odd.heads: 3 does not divide the width
translation.pruning.criteria: [gradients]
  => translation.pruning.criteria: unknown criterion 'gradients' … gradient-token
translation.model.heads: 3 => translation.model:  … width 16 … heads 3
seeds: [1, 2147483649] => seeds: 1 and 2147483649 are 2^31 apart; choose another
translation.gates.kept_shares: [1.5] => translation.gates:  … kept_shares: 1.5
translation.gates.kept_heads: [13] => translation.gates.kept_heads: 13 exceeds scope E; give at most 4
translation.gates.from_scratch: [0.5] => translation.gates:  … from_scratch: 0.5
translation.gates.from_scratch_starts: [scratch, scratch]
  => translation.gates:  … from_scratch_starts: scratch
translation.gates.from_scratch_starts: [rewound] => translation.gates.from_scratch_starts.0:  … 'rewound-init'
translation.gates.ways: [hard-concrete.X] => translation.gates.ways.0:  … 'hard-concrete.E'
translation.timing.batch_sizes: [1, 64]
  => translation.timing.batch_sizes: a batch of 64 is larger than the test set … translation.corpus.test
translation.scores.examples: 50 => translation.scores.examples: 50 exceeds the examples of `choose`; give at most 20
translation.corpus.source: internet => translation.corpus:  … 'internet' … 'files'
translation.corpus: {source: sacrebleu}
  => translation.corpus.source: test sets of sacrebleu have no training text … translation.released
translation.released: {path: here}, translation.arms: {baseline: {method: baseline}}
  => translation.vocabulary: does not apply to the released model at translation.released … leave this section out
translation: {released: {path: somewhere}}, seeds: [1]
  => translation.arms: a released model is not trained; give one arm
translation: {released: {path: here}, arms: {baseline: {method: baseline}}}
  => seeds: translation.released is a single run; give one seed
translation: {released: {path: 'no', url: 'http://x'}} => translation.released:  … give either
translation: {released: {path: gone}, arms: {baseline: {method: baseline}}}, seeds: [1]
  => translation.released.path: no directory or archive gone in
classification.entailment.released: {path: mine}, seeds: [1]
  => classification.entailment.arms: a released model is not trained; give one arm
classification.entailment.released: {path: mine}, classification.entailment.arms: {b: {method: baseline}}, seeds: [1]
  => classification.entailment.encoder: does not apply to the released model at classification.entailment.released
classification.entailment.corpus: {source: files, valid: valid.tsv, test: test.tsv, labels: [a, b]}
  => classification.entailment.corpus.train: missing; give training text, or a model at
classification.entailment.encoder.heads: 3
  => classification.entailment.encoder.width:  … width 16 … heads 3
classification.entailment.encoder: {source: disk}
  => classification.entailment.encoder:  … 'disk' … 'directory'
classification.entailment.encoder: {source: directory, path: none}
  => classification.entailment.encoder.path: no directory none
""",
    flags=re.M,
)
"""Changes of the tiny study, and their error messages, with omissions."""


def ids(value: str) -> str:
    return value.partition(": ")[0]


class TestConfiguration:
    @pytest.mark.parametrize(("changes", "message"), WRONG_KEYS, ids=ids)
    def test_is_checked(self, bare: Project, changes: str, message: str) -> None:
        study = yaml.safe_load((bare.root / bare.configure(yaml.safe_load(f"{{{changes}}}"))).read_text())
        try:
            found = load_study(study)
            mistakes = "\n".join([*missing_files(found), *wrong_criteria(Plan(found))])
        except HeadroomError as error:
            mistakes = str(error)
        is_told(mistakes, "configuration", *message.split(" … "))

    @pytest.mark.long
    @pytest.mark.parametrize(("changes", "message"), WRONG_KEYS[::30], ids=ids)
    def test_before_any_job(self, bare: Project, changes: str, message: str) -> None:
        study = bare.configure(yaml.safe_load(f"{{{changes}}}"))
        says(bare.snakemake(study=study), "configuration", *message.split(" … "))
        assert made_by_a_run(bare.root) == []


VOCABULARY = "results/{}/translation/binarised/prepared.json"


@pytest.mark.long
class TestOwnText:
    def test_is_checked_before_anything_is_made_of_it(self, project: Project) -> None:
        ended = project.snakemake(VOCABULARY.format("own"), study=own_text(project, train_target=SENTENCES + "more\n"))
        says(ended, "text/train.source: 40 lines, but text/train.target has 41")
        nothing_made(project, ended, "own")


def nothing_made(project: Project, ended: Ended, study: str) -> None:
    """Check that no later job was started and that no part of a corpus is left."""
    assert "rule vocabulary:" not in ended.output
    assert "rule training_translation:" not in ended.output
    corpus = project.root / "results" / study / "translation" / "corpus"
    assert [path for path in corpus.rglob("*") if path.is_file()] == []


@pytest.mark.long
def test_corrupt_download(project: Project) -> None:
    file = read_entries(Dataset.place, Dataset)["multi30k"].file("train", "source")
    wrong = project.root / "mirror" / file.path
    wrong.parent.mkdir(parents=True)
    wrong.write_bytes(b"wrong")
    corpus = {"source": "catalogue", "dataset": "multi30k", "far": []}
    study = project.configure({"translation.corpus": corpus, "mirror": "mirror", "study": "corrupt"})
    ended = project.snakemake(VOCABULARY.format("corrupt"), study=study)
    says(
        ended, f"mirror/{file.path}: checksum mismatch, expected sha256 {file.sha256}", "replace the file in the mirror"
    )
    nothing_made(project, ended, "corrupt")


RUN = "translation.baseline.seed1"


class TestFinishedStudy:
    def test_truncated_checkpoint(self, study: Project) -> None:
        checkpoint = study.root / "results" / "tiny" / "runs" / RUN / "epoch2.pt"
        whole = checkpoint.read_bytes()
        checkpoint.write_bytes(whole[: len(whole) // 2])
        table = f"results/tiny/evaluation/{RUN}.csv"
        ended = study.snakemake(table)
        says(ended, f"{RUN}/epoch2.pt: truncated or not a checkpoint", "train or copy it again")
        assert "rule training_translation:" not in ended.output
        assert not (study.root / table).exists()
        checkpoint.write_bytes(whole)
