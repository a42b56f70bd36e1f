"""Runs that several files of tests look at: a decoder of 3 x 3 heads that sorts, and a classifier of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from headroom.experiments.scores import stage as scores
from models import (
    STRINGS,
    letter_tokenizer,
    toy_text,
    train_sorter,
    write_documents,
    write_encoder,
    write_language_model,
)
from stages.sorter import SETS, run
from stages.stage_arguments import write_tsv


@pytest.fixture(scope="session")
def sorter() -> Any:
    """The model, of plain transformers; read-only."""
    return train_sorter()


@pytest.fixture(scope="session")
def letters(sorter: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with its run of two epochs and corpus: the first epoch is the last one without D2:2."""
    letters = tmp_path_factory.mktemp("sorter")
    write_language_model(letters / "run/epoch2", sorter, letter_tokenizer())
    weight = sorter.model.layers[1].self_attn.o_proj.weight
    columns = weight[:, 8:16].clone()
    weight[:, 8:16] = 0
    write_language_model(letters / "run/epoch1", sorter, letter_tokenizer())
    weight[:, 8:16] = columns
    write_documents(letters / "corpus", STRINGS)
    some = "".join(f"{json.dumps(one)}\n" for one in STRINGS[SETS["choose"]])
    (letters / "corpus/choose.jsonl").write_text(some)
    return letters


@pytest.fixture(scope="session")
def letter_scores(letters: Path) -> list[Path]:
    """The tables of scores: by gradients at both epochs, by other criteria at the last one."""
    every, last = letters / "scores.csv", letters / "scores_compared.csv"
    run(scores, letters, "--set", "test", "--output", every, epochs=[1, 2])
    criteria = ["loss-ablation", "backward-elimination", "shapley"]
    run(scores, letters, "--set", "test", "--criteria", *criteria, "--output", last, epochs=[2])
    return [every, last]


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a classifier, `epoch3`, and its `corpus` as a user would bring them: without corpus.json."""
    place, labels = tmp_path_factory.mktemp("own"), ("contradiction", "entailment", "neutral")
    write_encoder(place / "epoch3", labels=labels)
    for name, examples in {"choose": 24, "test": 30, "check": 8, "train": 72}.items():
        write_tsv(place / "corpus" / f"{name}.tsv", toy_text(examples=examples, labels=labels))
    return place
