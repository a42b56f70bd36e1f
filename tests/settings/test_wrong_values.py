"""What a user gets wrong in a configuration: each mistake is told before any job, in one line that begins with its key.

A row is a change of a right configuration and tokens of the message; single mistakes are tested here alone.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.missing import missing_files, wrong_criteria
from headroom.settings.load import load_study, read_study
from headroom.study.plan import Plan
from study import ROOT, TINY, with_keys

PAIRS = "{source: files, train: {source: a, target: b}, valid: {source: a, target: b}, test: {source: a, target: b}}"
LABELLED = "{source: files, train: a.tsv, valid: b.tsv, test: c.tsv, labels: [bad, good]}"

ROWS = {
    "tests/workflow/tiny.yaml": """
trainning: {epochs: 2} => trainning:
seeds: [1, 2147483649] => seeds: 1 and 2147483649 are 2^31 apart; choose another
gpus: 0 => gpus:
gpus: 2, device: cpu => gpus: 2 require device: cuda, which is cpu
gpus: 2, device: cuda, tasks.translation.training.update_frequency: 3
  => tasks.translation.training.update_frequency: 2 gpus cannot share 3
gpus: 3, device: cuda, tasks.translation.training.update_frequency: 3
  => tasks.entailment.training.batch_size: 3 gpus cannot share 32; make it a multiple of 3
study: mine.v2 => study: 'mine.v2' has the character '.'; use
a b: 1 => a b: Extra inputs are not permitted
1: 1 => (got 1)
tasks.translation.arms: {my arm: {method: svgd}} => invalid name 'my arm'
tasks.translation.arms: {a: {method: svgd, alfa: 1}} => tasks.translation.arms.a.alfa:
tasks.translation.arms: {a: {method: smoothing, alpha: 0.1}} => tasks.translation.arms.a.alpha:
tasks.translation.arms: {a: {method: svgd, sites: [E, E]}} => tasks.translation.arms.a.sites
tasks.translation.arms: {a: {method: svgd, stepsize: .nan}} => tasks.translation.arms.a.stepsize:
tasks.translation.arms: {a: {method: drophead, rate: 0.1}}
  => tasks.translation.arms.a: … 'drophead' … 'baseline', 'svgd', 'spos', 'smoothing'
tasks.translation.arms: {many: {method: svgd, heads: 32}}
  => tasks.translation.arms.many.heads: 32 does not divide the width 16
tasks.translation.model.heads: 3 => tasks.translation.model: … width 16 … heads 3
tasks.translation.training.epochs: many => tasks.translation.training.epochs: … valid integer … 'many'
tasks.translation.training.learning_rate: .inf => tasks.translation.training.learning_rate:
tasks.translation.training.early_checkpoints: [0.5, 1.0]
  => tasks.translation.training.early_checkpoints: 1 is no share; give numbers between 0 and 1 with at most three
tasks.translation.training.early_checkpoints: [0.5, 0.5]
  => tasks.translation.training.early_checkpoints: 0.5 does not rise; give each share once, the lowest first
tasks.translation.intervention.replacement: [mean] => tasks.translation.intervention.replacement:
tasks.translation.intervention.replacement: [zero, mean, mean] => tasks.translation.intervention.replacement:
tasks.translation.intervention.replacement: [zero, first]
  => tasks.translation.intervention.replacement: first applies only to language mo
tasks.translation.pruning.criteria: [gradients] => tasks.translation.pruning.criteria: unknown criterion 'gradients'
tasks.translation.pruning.main: nothing => tasks.translation.pruning.main:
tasks.translation.pruning.criteria: [gradient-example, gates], tasks.translation.gates: {ways: []}
  => pruning.criteria of translation:
tasks.translation.bakeoff.retraining: {share: 1} => tasks.translation.bakeoff.retraining.share:
tasks.translation.bakeoff: {criteria: [wanda], retraining: {updates: 5}} => tasks.translation.bakeoff:
tasks.translation.gates.kept_shares: [1.5] => tasks.translation.gates: … kept_shares: 1.5
tasks.translation.gates.penalties: [0.1234567, 0.12345671] => tasks.translation.gates:
tasks.translation.gates.from_scratch: [0.5] => tasks.translation.gates: … from_scratch: 0.5
tasks.translation.gates.ways: [hard-concrete.X] => tasks.translation.gates.ways.0: … 'hard-concrete.E'
tasks.translation.timing.batch_sizes: [1, 64]
  => tasks.translation.timing.batch_sizes: a batch of 64 is larger than the test set … tasks.translation.corpus.test
tasks.translation.scores.examples: 50
  => tasks.translation.scores.examples: 50 exceeds the examples of `choose`; give at most 20
tasks.translation.attention_stats.relations: [obj, obj] => tasks.translation.attention_stats.relations:
tasks.translation.corpus: {source: catalogue}, tasks.translation.treebank: {source: generated}
  => tasks.translation.treebank.source: text that is not generated
tasks.translation.corpus.source: internet => tasks.translation.corpus: … 'internet' … 'files'
tasks.translation.corpus: {source: files, train: {source: a, target: b}} => tasks.translation.corpus.valid:
tasks.translation.corpus: {source: sacrebleu}
  => tasks.translation.corpus.source: test sets of sacrebleu have no training text … tasks.translation.released
tasks.translation.corpus: PAIRS => tasks.translation.corpus.train.source: no file a in
tasks.translation.encoder: {source: new} => tasks.translation.encoder:
tasks.translation.released: {path: here}, tasks.translation.arms: {baseline: {method: baseline}}
  => tasks.translation.vocabulary: does not apply to the released model at tasks.translation.released
tasks.translation: {task: translation, released: {path: somewhere}}, seeds: [1]
  => tasks.translation.arms: a released model is not trained; give one arm
tasks.translation: {task: translation, released: {path: here}, arms: {baseline: {method: baseline}}}
  => seeds: tasks.translation.released is a single run; give one seed
tasks.translation: {task: translation, released: {path: 'no', url: 'http://x'}}
  => tasks.translation.released: … give either
tasks.translation: {task: translation, released: {path: gone}, arms: {baseline: {method: baseline}}}, seeds: [1]
  => tasks.translation.released.path: no directory or archive gone in
translation: {} => translation: tasks stand in `tasks` now; write tasks: {translation: {task: translation, ...}}
classification: {} => classification: tasks stand in `tasks` now; write tasks: {NAME: {task: classification, ...}}
tasks.entailment.encoder: {source: package, package: x} => tasks.entailment.encoder: … 'directory'
tasks.entailment.released: {package: x}
  => tasks.entailment.released.package: … copy the directory of its model and give it as path
tasks.no/a: {task: classification} => tasks.no/a
tasks.entailment.arms: {decoder: {method: svgd, sites: [D]}}
  => tasks.entailment.arms.decoder.sites: an encoder has no site D
tasks.entailment.arms: {odd: {method: baseline, heads: 3}}
  => tasks.entailment.arms.odd.heads: 3 does not divide the width
tasks.entailment.encoder.heads: 3 => tasks.entailment.encoder.width: … width 16 … heads 3
tasks.entailment.encoder: {source: disk} => tasks.entailment.encoder: … 'disk' … 'directory'
tasks.entailment.encoder: {source: directory, path: none}
  => tasks.entailment.encoder.path: no directory none
tasks.entailment.encoder: {source: self-attentive, heads: 4} => tasks.entailment.encoder.heads:
tasks.entailment.released: {path: mine}, seeds: [1]
  => tasks.entailment.arms: a released model is not trained; give one arm
tasks.entailment.released: {path: mine}, tasks.entailment.arms: {b: {method: baseline}}, seeds: [1]
  => tasks.entailment.encoder: does not apply to the released model at tasks.entailment.released
tasks.rte: {task: classification, corpus: LABELLED, released: {path: ., prefix: 'say: '}}, seeds: [1]
  => tasks.rte.released.prefix: applies only to translation; leave it out
tasks.rte: {task: classification, corpus: LABELLED, released: {path: "-x"}}, seeds: [1] => tasks.rte.released.path:
tasks.entailment.corpus: {source: files, valid: valid.tsv, test: test.tsv, labels: [a, b]}
  => tasks.entailment.corpus.train: missing; give training text, or a model at
tasks.rte: {task: classification} => tasks.rte.corpus: missing; give
tasks.rte: {task: classification, corpus: {source: generated}}
  => tasks.rte.corpus: … 'generated' … 'catalogue', 'files', 'hub'
tasks.rte: {task: classification, corpus: {dataset: rte}} => tasks.rte.corpus: the key 'source' is missing
tasks.rte: {task: classification, corpus: {source: hub, dataset: "{run}"}} => tasks.rte.corpus.dataset:
tasks.rte: {task: classification, corpus: {source: hub, dataset: x, sentences: [a, b, c]}}
  => tasks.rte.corpus.sentences:
tasks.rte: {task: classification, corpus: {source: hub, dataset: x, far: {choose: x}}} => tasks.rte.corpus.far:
tasks.entailment.corpus: LABELLED, tasks.entailment.corpus.labels: [a, " b"] => corpus.labels
tasks.entailment.corpus: LABELLED, tasks.entailment.corpus.labels: [1, "1.0"] => is given twice
tasks.entailment.corpus: LABELLED, tasks.entailment.corpus.metrics: [f1, f1]
  => entailment.corpus.metrics: … 'f1' is given twice
tasks.entailment.labelling: {metrics: [f1, f1]} => entailment.labelling.metrics: … 'f1' is given twice
""",
    "language": """
released: null => tasks.text.released:
released: {library: fairseq, path: .} => tasks.text.released.library:
released: {path: ., source_code: de} => tasks.text.released.source_code: applies only to
arms: {b: {method: baseline}, svgd: {method: svgd}} => tasks.text.arms: a released model is not trained
gates: {} => tasks.text.gates:
training: {epochs: 2} => tasks.text.training:
bakeoff: {criteria: [wanda], retraining: {updates: 5, criterion: wanda}}
  => tasks.text.bakeoff.retraining.updates: language models are not trained further
corpus: {source: generated} => tasks.text.corpus:
corpus: {source: files} => tasks.text.corpus: no text; give path, or valid and test
corpus.test: t => tasks.text.corpus: give either path, or valid and test
corpus.valid_share: 0.6, corpus.test_share: 0.6 => tasks.text.corpus: valid_share 0.6 and
corpus.far: {check: f} => tasks.text.corpus.far: 'check' cannot name a far-domain
windows: {length: 8, stride: 9} => tasks.text.windows: stride 9 leaves tokens out
pairs: {path: ""} => tasks.text.pairs.path:
treebank: {source: generated} => tasks.text.treebank.source: text that is not generated
ablation: {far_sets: [moon]} => tasks.text.ablation.far_sets: 'moon' is not a far domain
pruning: {scopes: [E]} => tasks.text.pruning.scopes:
""",
    "released": """
released: {path: ., dtype: float32} => tasks.translation.released.dtype:
released: {library: transformers, path: ., name: owner/model} => give either path or name
bakeoff: {criteria: [wanda], retraining: {updates: 5, criterion: wanda}}
  => tasks.translation.bakeoff.retraining.updates: there is no training text; give some at tasks.translation.corpus, or
""",
}
"""By the right configuration, or the kind of its task: changed keys, and the message, with omissions."""

RELEASED = {
    "language": {"task": "language", "released": {"path": "model"}, "corpus": {"source": "files", "path": "text.txt"}},
    "released": {
        "task": "translation",
        "released": {"path": "."},
        "corpus": {"source": "sacrebleu"},
        "treebank": {"source": "none"},
        "arms": {"baseline": {"method": "baseline"}},
    },
}


def configured(base: str, changes: str) -> dict[str, Any]:
    """Return a right configuration with some keys changed: those of a study, or of its only task."""
    for name, text in {"PAIRS": PAIRS, "LABELLED": LABELLED}.items():
        changes = changes.replace(name, text)
    changed = yaml.safe_load(f"{{{changes}}}")
    if base == TINY:
        return with_keys(yaml.safe_load((ROOT / TINY).read_text()), changed)
    task = with_keys(RELEASED[base], changed)
    return {"seeds": [1], "tasks": {"text" if base == "language" else "translation": task}}


def mistakes(configuration: object) -> list[str]:
    """Return the lines on a configuration in an empty directory."""
    try:
        found = load_study(configuration)
        return [*missing_files(found), *wrong_criteria(Plan(found))]
    except HeadroomError as error:
        return str(error).split("\n")


@pytest.mark.parametrize("base", ROWS)
def test_a_mistake_is_one_line_with_its_key(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for changes, message in re.findall(r"^(.+?)\s+=> (.+)$", ROWS[base], flags=re.M):
        lines = mistakes(configured(base, changes))
        tokens = message.split(" … ")
        fitting = [line for line in lines if all(token in line for token in tokens)]
        if len(fitting) != 1 or not all(line.startswith("configuration: ") for line in lines):
            wrong.append((changes, message, lines))
    assert not wrong, "\n".join(map(str, wrong))


def keys(configuration: object) -> list[str]:
    """Return the key that each line of a message names, in order of the alphabet."""
    return sorted(line.removeprefix("configuration: ").partition(": ")[0] for line in mistakes(configuration))


def test_all_mistakes_are_named_in_one_run_a_line_each() -> None:
    catalogue = {"task": "classification", "corpus": {"source": "catalogue"}}
    wrong = {
        "task": "translation",
        "modle": {},
        "training": {"epochs": "many"},
        "treebank": {"source": "files"},
        "arms": {"a": {"method": "nope"}},
    }
    within = {
        "seeds": ["one", 1, -1],
        "tasks": {"translation": wrong, "rte": {**catalogue, "pruning": {"step": 2}}},
    }
    assert keys(within) == [
        *("seeds.0", "seeds.2", "tasks.rte.pruning.step"),
        *("tasks.translation.arms.a", "tasks.translation.modle", "tasks.translation.training.epochs"),
        "tasks.translation.treebank.path",
    ]
    arms = {"a": {"method": "svgd", "heads": 3}}
    across = {
        "seeds": [1, 1],
        "gpus": 2,
        "tasks": {
            "translation": {"task": "translation", "detailed_seeds": 3, "arms": arms},
            "rte": {**catalogue, "ablation": {"far_sets": ["moon"]}},
        },
    }
    assert keys(across) == [
        *("gpus", "seeds", "tasks.rte.ablation.far_sets"),
        *("tasks.translation.arms.a.heads", "tasks.translation.detailed_seeds"),
    ]


def test_a_key_is_named_as_it_is_written() -> None:
    """Tasks may be named as sections are."""
    task = {
        "task": "classification",
        "corpus": {"source": "catalogue"},
        "arms": {"arms": {"method": "svgd", "alpha": "x"}},
    }
    assert keys({"tasks": {"arms": task}}) == ["tasks.arms.arms.arms.alpha"]
    wrong = {"timing": {"repeats": 0}}
    assert keys({"tasks": {"captions": {"task": "translation", **wrong}}}) == ["tasks.captions.timing.repeats"]
    assert keys({}) == ["no task; give some in tasks"]
    for key, shown in (("a\nb", r"a\nb"), ("\x1b[31m", r"\x1b[31m"), ("", '""'), ("x" * 5000, "x" * 60)):
        assert keys({key: 1}) == [shown]


def test_a_file_is_named_and_what_yaml_does_not_read_as_text(tmp_path: Path) -> None:
    corpus = "{source: hub, dataset: 1.0, labels: [no, yes]}"
    text = f"study: 2026-01-31\ntasks: {{mine: {{task: classification, corpus: {corpus}}}}}"
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(HeadroomError) as caught:
        read_study(str(tmp_path / "mine.yaml"))
    lines = str(caught.value).split("\n")
    assert len(lines) == 4  # without one on too few labels
    assert all("mine.yaml: " in line and line.endswith("; put it in quotes") for line in lines)
