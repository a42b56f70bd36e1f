"""Five tiny studies, one for each kind of model that users bring, and their tables: `make golden` writes them again.

A user of fairseq trains here (tests/workflow/tiny.yaml). The others bring a small trained model and text, which are in
the archives of their studies; `headroom new` writes these studies. It is trained again if there is no archive:
on another processor it is other weights, and every number changes.
"""

import io
import json
import random
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from headroom.report import __main__ as report
from headroom.study.configuration import paths_in
from lxml import html
from made_once import made_once
from models import letter_tokenizer, plain_tokenizer, toy_configuration, toy_model, toy_tokenizer
from study import TINY, Project, new_project, run_stage
from transformers import AutoModelForMaskedLM, LlamaConfig, LlamaForCausalLM, MarianConfig, MarianMTModel

from tools.archives import texts_in, times_in

HERE = Path(__file__).parent
LETTERS = ("a", "b", "c", "d", "e")
SOURCES = ("the", "old", "red", "house", "a", "small", "dog", "sees", "many", "birds")
TARGETS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TRIMMED = {
    "sampling.resamples": 100,
    "relevance.examples": 4,
    "pruning.step": 0.25,
    "pruning.criteria": ["gradient-example"],
    "pruning.random_draws": 2,
    "removal.tolerance": 0.7,  # of few examples the interval is wide
    "timing": {"shares": [0.5], "batch_sizes": [1, 4], "warmup": 1, "repeats": 6},
}
"""What is changed in the studies that `headroom new` writes: keys of the study, or of its task."""


def drawn(count: int, seed: int, words: Sequence[str], least: int, most: int) -> list[list[str]]:
    draw = random.Random(seed)
    return [draw.choices(words, k=draw.randint(least, most)) for _ in range(count)]


def learn(model: Any, batch: Callable[[int], dict[str, Any]], updates: int) -> None:
    """Train a model, and round its weights, which takes half of their space."""
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    falling = torch.optim.lr_scheduler.LinearLR(optimiser, 1, 0.05, updates)
    for update in range(updates):
        optimiser.zero_grad()
        model(**batch(update)).loss.backward()
        optimiser.step()
        falling.step()
    for weight in model.parameters():
        weight.data = weight.data.half().float()


def encoded(tokenizer: Any, texts: Sequence[str], labels: str = "labels") -> dict[str, torch.Tensor]:
    """Return texts in tokens, and the same as labels, without padding."""
    tokens = tokenizer(texts, return_tensors="pt", padding=True)
    asked = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, -100)
    return {"input_ids": tokens["input_ids"], "attention_mask": tokens["attention_mask"], labels: asked}


def sorting(count: int, seed: int) -> list[str]:
    return [" ".join([*letters, ">", *sorted(letters)]) for letters in drawn(count, seed, LETTERS, 3, 6)]


def translated(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Return sentences, and their words backwards in another language."""
    sentences = drawn(count, seed, SOURCES, 2, 5)
    backwards = [[TARGETS[SOURCES.index(word)] for word in reversed(words)] for words in sentences]
    return [" ".join(words) for words in sentences], [" ".join(words) for words in backwards]


def labelled(count: int, seed: int) -> tuple[list[str], list[int]]:
    """Return sentences, and whether their first word comes again."""
    sentences = drawn(count, seed, SOURCES, 3, 7)
    return [" ".join(words) for words in sentences], [int(words[0] in words[1:]) for words in sentences]


def bring_decoder() -> tuple[Any, Any, dict[str, list[str]]]:
    tokenizer = letter_tokenizer("".join(LETTERS))
    size = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    marks = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 64}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=2, **size, **marks))
    learn(model, lambda update: encoded(tokenizer, sorting(32, update)), 400)
    return model, tokenizer, {"txt": sorting(60, -1)}


def bring_translator(
    layers: int = 2, heads: int = 4, width: int = 16, updates: int = 700
) -> tuple[Any, Any, dict[str, list[str]]]:
    tokenizer = plain_tokenizer()
    sides = ("encoder", "decoder")
    shape = {
        f"{side}_{name}": count for side in sides for name, count in (("layers", layers), ("attention_heads", heads))
    }
    size = {"d_model": width, "max_position_embeddings": 64, "dropout": 0.0}
    size |= {f"{side}_ffn_dim": width for side in sides}
    marks = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    tokens = {"vocab_size": len(tokenizer), "decoder_vocab_size": len(tokenizer), "forced_eos_token_id": None}
    model = MarianMTModel(MarianConfig(**shape, **size, **marks, **tokens))

    def batch(update: int) -> dict[str, Any]:
        source, target = translated(32, update)
        return encoded(tokenizer, source, "same") | {"labels": encoded(tokenizer, target)["labels"]}

    learn(model, lambda update: {name: own for name, own in batch(update).items() if name != "same"}, updates)
    return model, tokenizer, dict(zip(("source", "target"), translated(60, -1)))


def bring_classifier() -> tuple[Any, Any, dict[str, list[str]]]:
    tokenizer = toy_tokenizer("bert", words=SOURCES)
    model = toy_model(toy_configuration("bert", labels=("new", "again"), tokens=len(tokenizer)), lively=False)

    def batch(update: int) -> dict[str, Any]:
        texts, labels = labelled(64, update)
        return encoded(tokenizer, texts) | {"labels": torch.tensor(labels)}

    learn(model, batch, 1500)
    rows = [f"{text}\t{('new', 'again')[label]}" for text, label in zip(*labelled(120, -1))]
    return model, tokenizer, {"tsv": ["sentence\tlabel", *rows]}


def bring_masked() -> tuple[Any, Any, dict[str, list[str]]]:
    """Bring an encoder of strings and their sorted letters: what is masked in a half is in the other one."""
    tokenizer = toy_tokenizer("bert", words=[">", *LETTERS])
    configuration = toy_configuration("bert", tokens=len(tokenizer))
    model = AutoModelForMaskedLM.from_config(configuration)

    def batch(update: int) -> dict[str, Any]:
        found = encoded(tokenizer, sorting(32, update))
        tokens, mask = found["input_ids"], tokenizer.mask_token_id
        drawn = torch.rand(tokens.shape, generator=torch.Generator().manual_seed(update)) < 0.2
        hidden = drawn & (tokens > mask)  # special tokens come before the others
        return found | {"input_ids": tokens.masked_fill(hidden, mask), "labels": tokens.where(hidden, -100)}

    learn(model, batch, 1500)
    return model, tokenizer, {"txt": sorting(60, -1)}


BROUGHT = {
    "decoder": bring_decoder,
    "translator": bring_translator,
    "classifier": bring_classifier,
    "masked": bring_masked,
}
KINDS = ("tiny", *BROUGHT)
"""The studies by name; those of models that are brought are named by their kind."""


def bring(kind: str, root: Path) -> None:
    """Write a model and its text into a project: those of the archive, or new ones without it."""
    archive = HERE / f"{kind}.tar.xz"
    if archive.is_file():
        unpack(kind, root, beside=True)
        return
    torch.manual_seed(1)
    model, tokenizer, texts = BROUGHT[kind]()
    model.save_pretrained(root / kind)
    tokenizer.save_pretrained(root / kind)
    for end, lines in texts.items():
        (root / f"{kind}.{end}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def unpack(kind: str, root: Path, *, beside: bool = False) -> Path:
    """Extract the results of a study into a project, or what is beside them; return the directory of results."""
    with tarfile.open(HERE / f"{kind}.tar.xz") as packed:
        for one in packed:
            if one.name.startswith("results/") != beside:
                (root / one.name).parent.mkdir(parents=True, exist_ok=True)
                content = packed.extractfile(one)
                assert content, one.name
                (root / one.name).write_bytes(content.read())
    return root / "results" / kind


def pack(kind: str, root: Path) -> None:
    """Write the archive of a study that has been run; the same files make the same bytes."""
    results = root / "results" / kind
    tables = [*results.rglob("*.csv"), *results.rglob("*.npz"), *texts_in(results), *times_in(results)]
    own = [path for path in tables if not {"corpus", "runs"} & {*path.relative_to(results).parts[:-1]}]
    own += [results / "configuration.json", *texts_in(results), *results.glob("attention_maps/*.json")]
    own += [*(root / kind).glob("*.json"), *(root / kind).glob("*.safetensors"), *root.glob(f"{kind}.*")]
    with tarfile.open(HERE / f"{kind}.tar.xz", "w:xz", preset=9) as packed:
        for path in sorted(set(own)):
            about = tarfile.TarInfo(str(path.relative_to(root)))
            about.size = path.stat().st_size
            packed.addfile(about, io.BytesIO(path.read_bytes()))


def write_page(results: Path, directory: Path) -> None:
    """Write the page of a study from its results."""
    read = [f"--{name}={results / name}.csv" for name in ("claims", "numbers")]
    read += [f"--configuration={results}/configuration.json", "--tables", *map(str, paths_in(results))]
    read += ["--texts", *map(str, texts_in(results)), "--benchmarks", *map(str, times_in(results))]
    read += ["--maps", *map(str, sorted(results.glob("attention_maps/*.json")))]
    run_stage(report, ["--study", results.name, *read, "--output", str(directory / "page.html")])


def _text(element: Any) -> str:
    return " ".join(element.text_content().split())


LEFT_OUT = ("paper", "cite", "provenance")
"""Sections that have only texts, versions and times of jobs."""


def sections_of(page: Path) -> dict[str, dict[str, Any]]:
    """Return the headings of every section of a page, the names of its figures, and its tables by line."""
    found = {}
    for section in html.parse(page).xpath("//main/section"):
        if section.get("id") in LEFT_OUT:
            continue
        headings = [_text(one) for one in section.xpath("./h2 | .//summary[not(parent::*[@class='claim'])]")]
        tables = {_text(one.find("caption")): one.xpath(".//tr") for one in section.iter("table")}
        lines = {title: ["|".join(map(_text, row)) for row in rows] for title, rows in tables.items()}
        figures = [one.get("id") for one in section.iter("figure")]
        found[section.get("id")] = {"headings": headings, "figures": figures, "tables": lines}
    return found


def run_study(kind: str, directory: Path) -> None:
    """Run the study of a kind of model, in a project of its own, and write how that ended beside it."""
    project = new_project(directory / "project")
    study = TINY
    if kind in BROUGHT:
        bring(kind, project.root)
        texts = sorted(path.name for path in project.root.glob(f"{kind}.*"))
        ended = project.stage("new", kind, "--text", *texts, "--output", f"studies/{kind}.yaml")
        assert ended.status == 0, ended.output
        written = yaml.safe_load((project.root / "studies" / f"{kind}.yaml").read_text("utf-8"))
        (task,) = written["tasks"]
        changes = {key if key.startswith("sampling") else f"tasks.{task}.{key}": own for key, own in TRIMMED.items()}
        changes["study"] = kind
        study = project.write_study(written, changes)
    ended = project.snakemake(study=study)
    assert ended.status == 0, ended.output
    (directory / "ended.json").write_text(json.dumps(asdict(ended)), encoding="utf-8")


def run_once(factory: pytest.TempPathFactory, kind: str) -> Project:
    """Return the project in which the study of a kind of model was run, by the first process that asked for it."""
    return Project(made_once(factory, f"run-{kind}", lambda place: run_study(kind, place)) / "project")


if __name__ == "__main__":
    for kind in sys.argv[1:] or KINDS:
        with tempfile.TemporaryDirectory() as directory:
            run_study(kind, Path(directory))
            pack(kind, Path(directory) / "project")
    pages = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as directory:
            write_page(unpack(kind, Path(directory)), Path(directory))
            pages[kind] = sections_of(Path(directory) / "page.html")
    (HERE / "sections.json").write_text(json.dumps(pages, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
