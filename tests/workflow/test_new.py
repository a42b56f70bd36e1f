"""What a user begins with: the study that is written for a model, and the cells of docs/notebook.ipynb."""

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import headroom
import nbformat
import pytest
from headroom import new
from headroom.core.errors import HeadroomError
from headroom.data.labelled import read_labelled
from headroom.models.outline import read_outline
from headroom.settings.load import read_study
from headroom.settings.models import HubModelSettings
from headroom.settings.study import Study
from models import STRINGS, letter_tokenizer, train_sorter, write_decoder, write_encoder, write_masked, write_translator
from study import run_stage
from transformers import LlamaForCausalLM, Olmo2Config, Olmo2ForCausalLM

WORDS = ["the", "old", "red", "house", "a", "small", "dog", "sees", "many", "birds", "near", "that", "tree", "one"]


def sentences(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(count)]


def write(path: str, lines: list[str]) -> str:
    Path(path).write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def decoder(name: str, *of: Any, **more: Any) -> str:
    return str(write_decoder(Path(name), *of, **more))


def written(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Study, str]:
    """Return the study that is written in studies/, as the workflow reads it, and what is printed."""
    run_stage(new, arguments)
    (path,) = Path("studies").glob("*.yaml")
    return read_study(str(path)), capsys.readouterr().out


class TestKinds:
    def test_decoder_with_plain_text(self, capsys) -> None:
        text = write("text.txt", sentences(30))
        study, said = written(capsys, decoder("my.decoder", num_key_value_heads=2), "--text", text)
        (task,) = study.tasks.values()
        assert (task.task, task.corpus.path, task.corpus.documents) == ("language", text, "line")
        assert (study.study, task.released.path, task.windows.length) == ("my-decoder-text", "my.decoder", 64)
        assert "3 decoder layers, 18 heads in 6 groups" in said

    def test_documents_between_empty_lines(self, capsys) -> None:
        text = write("text.txt", [line for one in sentences(30) for line in (one, one, "")])
        study, said = written(capsys, decoder("mine"), "--text", text)
        assert study.tasks["language"].corpus.documents == "blank"
        assert "30 documents" in said

    def test_classifier_with_one_table(self, capsys) -> None:
        write_encoder(Path("mine"), labels=["good", "bad"])
        twice = sentences(30) * 2
        text = write("text.tsv", ["sentence\tlabel", *(f"{one}\t{['bad', 'good'][len(one) % 2]}" for one in twice)])
        study, said = written(capsys, "mine", "--text", text)
        corpus = study.tasks["classification"].corpus
        assert corpus.labels == ("good", "bad")
        halves = [read_labelled(corpus.valid).first, read_labelled(corpus.test).first]
        assert sorted(halves[0] + halves[1]) == sorted(twice)
        assert not {*halves[0]} & {*halves[1]}
        assert "2 encoder layers, 8 heads, " in said

    def test_labels_without_names_are_named(self, capsys) -> None:
        write_encoder(Path("mine"), labels=["LABEL_0", "LABEL_1"])
        rows = ["sentence\tlabel", *(f"{one}\t{len(one) % 2}" for one in sentences(30))]
        texts = write("valid.tsv", rows), write("test.tsv", rows)
        study, _ = written(capsys, "mine", "--text", *texts, "--labels", "0", "1")
        corpus = study.tasks["classification"].corpus
        assert (corpus.valid, corpus.test, corpus.labels) == (*texts, ("0", "1"))

    @pytest.mark.parametrize("columns", [True, False])
    def test_encoder_decoder_with_parallel_text(self, capsys, columns: bool) -> None:
        write_translator(Path("mine"), "bart")
        source, target = sentences(40), sentences(40, seed=2)
        rows = [*zip(source, target)]
        texts = [["\t".join(row) for row in rows]] if columns else [source, target]
        study, said = written(capsys, "mine", "--text", *(write(f"{n}.txt", text) for n, text in enumerate(texts)))
        task = study.tasks["translation"]
        assert task.released.library == "transformers"
        pairs = [task.corpus.valid, task.corpus.test]
        sides = [[Path(path).read_text().splitlines() for path in (one.source, one.target)] for one in pairs]
        assert sorted(row for own in sides for row in zip(*own)) == sorted(rows)
        assert "2 encoder layers and 2 decoder layers, 24 heads" in said

    def test_masked_language_model_with_plain_text(self, capsys) -> None:
        text = write("text.txt", sentences(30))
        study, said = written(capsys, str(write_masked(Path("mine"))), "--text", text)
        task = study.tasks["masked"]
        assert (task.corpus.path, task.windows.length, task.windows.masked_share) == (text, 40, 0.15)
        assert "BertForMaskedLM: 2 encoder layers, 8 heads" in said

    def test_heads_that_can_only_be_masked(self, capsys) -> None:
        place = decoder("mine", Olmo2ForCausalLM, Olmo2Config)
        study, _ = written(capsys, place, "--text", write("text.txt", sentences(30)))
        assert not study.tasks["language"].released.removable


def test_numbers_of_a_model_without_its_weights() -> None:
    decoder("mine", num_key_value_heads=2)
    loaded = LlamaForCausalLM.from_pretrained("mine")
    found = read_outline(HubModelSettings(path="mine"))
    assert found.parameters == sum(weight.numel() for weight in loaded.parameters())
    assert found.weight_bytes("bfloat16") == 2 * found.parameters
    assert (found.heads, found.groups, found.longest, found.tokens) == (18, 6, 64, 100)


def test_a_study_that_is_there_is_not_overwritten_but_by_force() -> None:
    given = [decoder("mine"), "--text", write("text.txt", sentences(30))]
    Path("studies").mkdir()
    write("studies/mine-text.yaml", ["study: precious"])
    with pytest.raises(HeadroomError, match="exists already; replace it by --force"):
        run_stage(new, given)
    assert Path("studies/mine-text.yaml").read_text() == "study: precious\n"
    run_stage(new, [*given, "--force"])
    assert read_study("studies/mine-text.yaml").study == "mine-text"


NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


@pytest.mark.long
def test_the_notebook_scores_draws_cuts_and_saves(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    train_sorter().save_pretrained("mine")
    letter_tokenizer().save_pretrained("mine")
    monkeypatch.setenv("MODEL", "mine")
    monkeypatch.setenv("TEXT", write("text.txt", STRINGS * 8))
    monkeypatch.setenv("MPLBACKEND", "agg")
    found: dict[str, Any] = {}
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    exec(code.replace("tolerance=0.02", "tolerance=0.9"), found)  # a model that needs most of its heads
    assert sorted(found["scores"]["name"]) == sorted(found["losses"]["name"])
    drawn = ElementTree.fromstring(headroom.atlas(found["scores"]))
    assert len([one for one in drawn.iter() if one.tag.endswith("title")]) == 9
    assert found["curve"]["heads_removed"].iloc[[0, -1]].tolist() == [0, 9]
    removed = json.loads(Path("smaller/heads.json").read_text())["removed"]
    assert found["small"].heads.split() == removed
    assert headroom.load("smaller").removed.split() == removed


def test_the_notebook_is_committed_with_its_outputs() -> None:
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert {"image/png", "image/svg+xml"} <= {
        kind for cell in cells for one in cell.outputs for kind in one.get("data", {})
    }
    assert NOTEBOOK.stat().st_size < 150_000
