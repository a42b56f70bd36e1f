"""What a user gets wrong in a configuration: each mistake is told before any job, in one line that begins with its key.

A row is a change of a right configuration and pieces of the message; single mistakes are tested here alone.
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
gpus: 2, device: cuda, translation.training.update_frequency: 3
  => translation.training.update_frequency: 2 gpus cannot share 3
gpus: 3, device: cuda, translation.training.update_frequency: 3
  => classification.entailment.training.batch_size: 3 gpus cannot share 32; make it a multiple of 3
study: mine.v2 => study: 'mine.v2' has the character '.'; use
a b: 1 => a b: Extra inputs are not permitted
1: 1 => (got 1)
translation.arms: {my arm: {method: svgd}} => invalid name 'my arm'
translation.arms: {a: {method: svgd, alfa: 1}} => translation.arms.a.alfa:
translation.arms: {a: {method: smoothing, alpha: 0.1}} => translation.arms.a.alpha:
translation.arms: {a: {method: svgd, sites: [E, E]}} => translation.arms.a.sites
translation.arms: {a: {method: svgd, stepsize: .nan}} => translation.arms.a.stepsize:
translation.arms: {a: {method: drophead, rate: 0.1}}
  => translation.arms.a: … 'drophead' … 'baseline', 'svgd', 'spos', 'smoothing'
translation.arms: {many: {method: svgd, heads: 32}} => translation.arms.many.heads: 32 does not divide the width 16
translation.model.heads: 3 => translation.model: … width 16 … heads 3
translation.training.epochs: many => translation.training.epochs: … valid integer … 'many'
translation.training.learning_rate: .inf => translation.training.learning_rate:
translation.training.early_checkpoints: [0.5, 1.0]
  => translation.training.early_checkpoints: 1 is no share; give numbers between 0 and 1 with at most three
translation.training.early_checkpoints: [0.5, 0.5]
  => translation.training.early_checkpoints: 0.5 does not rise; give each share once, the lowest first
translation.intervention.replacement: [mean] => translation.intervention.replacement:
translation.intervention.replacement: [zero, mean, mean] => translation.intervention.replacement:
translation.intervention.replacement: [zero, first]
  => translation.intervention.replacement: first applies only to language mo
translation.pruning.criteria: [gradients] => translation.pruning.criteria: unknown criterion 'gradients'
translation.pruning.main: nothing => translation.pruning.main:
translation.pruning.criteria: [gradient-example, gates], translation.gates: {ways: []}
  => pruning.criteria of translation:
translation.bakeoff.retraining: {share: 1} => translation.bakeoff.retraining.share:
translation.bakeoff: {criteria: [wanda], retraining: {updates: 5}} => translation.bakeoff:
translation.gates.kept_shares: [1.5] => translation.gates: … kept_shares: 1.5
translation.gates.penalties: [0.1234567, 0.12345671] => translation.gates:
translation.gates.from_scratch: [0.5] => translation.gates: … from_scratch: 0.5
translation.gates.ways: [hard-concrete.X] => translation.gates.ways.0: … 'hard-concrete.E'
translation.timing.batch_sizes: [1, 64]
  => translation.timing.batch_sizes: a batch of 64 is larger than the test set … translation.corpus.test
translation.scores.examples: 50 => translation.scores.examples: 50 exceeds the examples of `choose`; give at most 20
translation.attention_stats.relations: [obj, obj] => translation.attention_stats.relations:
translation.corpus: {source: catalogue}, translation.treebank: {source: generated}
  => translation.treebank.source: text that is not generated
translation.corpus.source: internet => translation.corpus: … 'internet' … 'files'
translation.corpus: {source: files, train: {source: a, target: b}} => translation.corpus.valid:
translation.corpus: {source: sacrebleu}
  => translation.corpus.source: test sets of sacrebleu have no training text … translation.released
translation.corpus: PAIRS => translation.corpus.train.source: no file a in
translation.encoder: {source: new} => translation.encoder:
translation.released: {path: here}, translation.arms: {baseline: {method: baseline}}
  => translation.vocabulary: does not apply to the released model at translation.released … leave this section out
translation: {released: {path: somewhere}}, seeds: [1]
  => translation.arms: a released model is not trained; give one arm
translation: {released: {path: here}, arms: {baseline: {method: baseline}}}
  => seeds: translation.released is a single run; give one seed
translation: {released: {path: 'no', url: 'http://x'}} => translation.released: … give either
translation: {released: {path: gone}, arms: {baseline: {method: baseline}}}, seeds: [1]
  => translation.released.path: no directory or archive gone in
tasks: {translation: {task: translation}} => translation: there is another task of this name
classification.entailment.encoder: {source: package, package: x} => classification.entailment.encoder: … 'directory'
classification.entailment.released: {package: x}
  => classification.entailment.released.package: … copy the directory of its model and give it as path
classification: {no/a: {}} => classification.no/a
classification.entailment.arms: {decoder: {method: svgd, sites: [D]}}
  => classification.entailment.arms.decoder.sites: an encoder has no site D
classification.entailment.arms: {odd: {method: baseline, heads: 3}}
  => classification.entailment.arms.odd.heads: 3 does not divide the width
classification.entailment.encoder.heads: 3 => classification.entailment.encoder.width: … width 16 … heads 3
classification.entailment.encoder: {source: disk} => classification.entailment.encoder: … 'disk' … 'directory'
classification.entailment.encoder: {source: directory, path: none}
  => classification.entailment.encoder.path: no directory none
classification.entailment.encoder: {source: self-attentive, heads: 4} => classification.entailment.encoder.heads:
classification.entailment.released: {path: mine}, seeds: [1]
  => classification.entailment.arms: a released model is not trained; give one arm
classification.entailment.released: {path: mine}, classification.entailment.arms: {b: {method: baseline}}, seeds: [1]
  => classification.entailment.encoder: does not apply to the released model at classification.entailment.released
classification: {rte: {corpus: LABELLED, released: {path: ., prefix: 'say: '}}}, seeds: [1]
  => classification.rte.released.prefix: applies only to translation; leave it out
classification: {rte: {corpus: LABELLED, released: {path: "-x"}}}, seeds: [1] => classification.rte.released.path:
classification.entailment.corpus: {source: files, valid: valid.tsv, test: test.tsv, labels: [a, b]}
  => classification.entailment.corpus.train: missing; give training text, or a model at
classification: {rte: {}} => classification.rte.corpus: missing; give
classification: {rte: {corpus: {source: generated}}}
  => classification.rte.corpus: … 'generated' … 'catalogue', 'files', 'hub'
classification: {rte: {corpus: {dataset: rte}}} => classification.rte.corpus: the key 'source' is missing
classification: {rte: {corpus: {source: hub, dataset: "{run}"}}} => classification.rte.corpus.dataset:
classification: {rte: {corpus: {source: hub, dataset: x, sentences: [a, b, c]}}} => classification.rte.corpus.sentences:
classification: {rte: {corpus: {source: hub, dataset: x, far: {choose: x}}}} => classification.rte.corpus.far:
classification.entailment.corpus: LABELLED, classification.entailment.corpus.labels: [a, " b"] => corpus.labels
classification.entailment.corpus: LABELLED, classification.entailment.corpus.labels: [1, "1.0"] => is given twice
classification.entailment.corpus: LABELLED, classification.entailment.corpus.metrics: [f1, f1]
  => entailment.corpus.metrics: … 'f1' is given twice
classification.entailment.labelling: {metrics: [f1, f1]} => entailment.labelling.metrics: … 'f1' is given twice
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
windows: {length: 8, stride: 9} => tasks.text.windows: stride 9 leaves pieces out
pairs: {path: ""} => tasks.text.pairs.path:
treebank: {source: generated} => tasks.text.treebank.source: text that is not generated
ablation: {far_sets: [moon]} => tasks.text.ablation.far_sets: 'moon' is not a far domain
pruning: {scopes: [E]} => tasks.text.pruning.scopes:
""",
    "released": """
released: {path: ., dtype: float32} => translation.released.dtype:
released: {library: transformers, path: ., name: owner/model} => give either path or name
bakeoff: {criteria: [wanda], retraining: {updates: 5, criterion: wanda}}
  => translation.bakeoff.retraining.updates: there is no training text; give some at translation.corpus, or
""",
}
"""By the right configuration, or the kind of its task: changed keys, and the message, with omissions."""

RELEASED = {
    "language": {"task": "language", "released": {"path": "model"}, "corpus": {"source": "files", "path": "text.txt"}},
    "released": {
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
    return {"seeds": [1], **({"tasks": {"text": task}} if base == "language" else {"translation": task})}


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
        pieces = message.split(" … ")
        fitting = [line for line in lines if all(piece in line for piece in pieces)]
        if len(fitting) != 1 or not all(line.startswith("configuration: ") for line in lines):
            wrong.append((changes, message, lines))
    assert not wrong, "\n".join(map(str, wrong))


def keys(configuration: object) -> list[str]:
    """Return the key that each line of a message names, in order of the alphabet."""
    return sorted(line.removeprefix("configuration: ").partition(": ")[0] for line in mistakes(configuration))


def test_all_mistakes_are_named_in_one_run_a_line_each() -> None:
    within = {
        "seeds": ["one", 1, -1],
        "translation": {
            "modle": {},
            "training": {"epochs": "many"},
            "treebank": {"source": "files"},
            "arms": {"a": {"method": "nope"}},
        },
        "classification": {"rte": {"corpus": {"source": "catalogue"}, "pruning": {"step": 2}}},
    }
    assert keys(within) == [
        "classification.rte.pruning.step",
        *("seeds.0", "seeds.2", "translation.arms.a", "translation.modle", "translation.training.epochs"),
        "translation.treebank.path",
    ]
    across = {
        "seeds": [1, 1],
        "gpus": 2,
        "translation": {"detailed_seeds": 3, "arms": {"a": {"method": "svgd", "heads": 3}}},
        "classification": {"rte": {"corpus": {"source": "catalogue"}, "ablation": {"far_sets": ["moon"]}}},
    }
    assert keys(across) == [
        *("classification.rte.ablation.far_sets", "gpus", "seeds"),
        *("translation.arms.a.heads", "translation.detailed_seeds"),
    ]


def test_a_key_is_named_as_it_is_written() -> None:
    """Tasks may be named as sections are, and be written below their kind or below `tasks`."""
    task = {"corpus": {"source": "catalogue"}, "arms": {"arms": {"method": "svgd", "alpha": "x"}}}
    assert keys({"classification": {"arms": task}}) == ["classification.arms.arms.arms.alpha"]
    wrong = {"timing": {"repeats": 0}}
    assert keys({"tasks": {"captions": {"task": "translation", **wrong}}}) == ["tasks.captions.timing.repeats"]
    assert keys({}) == ["no task; give the key tasks, or translation, or classification"]
    for key, shown in (("a\nb", r"a\nb"), ("\x1b[31m", r"\x1b[31m"), ("", '""'), ("x" * 5000, "x" * 60)):
        assert keys({key: 1}) == [shown]


def test_a_file_is_named_and_what_yaml_does_not_read_as_text(tmp_path: Path) -> None:
    text = "study: 2026-01-31\nclassification: {mine: {corpus: {source: hub, dataset: 1.0, labels: [no, yes]}}}"
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(HeadroomError) as caught:
        read_study(str(tmp_path / "mine.yaml"))
    lines = str(caught.value).split("\n")
    assert len(lines) == 4  # without one on too few labels
    assert all("mine.yaml: " in line and line.endswith("; put it in quotes") for line in lines)
