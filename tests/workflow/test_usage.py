"""What a user gets wrong on a command line: of the package, called in this process, and of `make`."""

import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from headroom.__main__ import main
from study import ROOT, Project

WRONG_WORDS = re.findall(
    r"^(.*?)\s+=> (.+)$",
    """
  => usage: python -m headroom <stage> [--help]
nothing => error: nothing: unknown stage; python -m headroom --help lists the stages
nothing '{}' => error: nothing: unknown stage
scores => error: corpus: missing; give it as python -m headroom scores --help says
scores SOME --engine jax => error: engine: Input should be 'causal', 'classifier', 'masked' or 'seq2seq' (got 'jax')
scores SOME --exmaples 3 => scores: error: unrecognized arguments: --exmaples 3
scores '{"scores": {"exmaples": 3}}' SOME => error: scores.exmaples: Extra inputs are not permitted
scores '{' SOME => error: scores: not JSON
scores SOME --scores [1] => error: scores
scores SOME --windows.length 64 => error: windows: does not apply to the engine seq2seq; leave it out
scores SOME --engine causal --windows.masked-share 0.2 => error: windows.masked_share: does not apply
scores SOME --set check --set => argument --set: expected one argument
training --method svgd --stepsize -1 ONE => error: arm.stepsize: Input should be greater than 0 (got '-1')
training --method svgd --beta 1 ONE => error: arm.beta: Extra inputs are not permitted
training --method svgd --until 0 ONE => error: until: Input should be greater than 0 (got '0')
acquire --output x => error: acquire: 0 sources; give one of parallel, labelled, documents, trees
acquire --parallel.source catalogue --parallel.dataset europarl --output x
  => error: parallel.dataset: Input should be 'multi30k'
encoder --source directory --corpus x --output x => error: encoder.path: missing
new => error: the following arguments are required: MODEL
new . --text none => error: .: no weights; add model.safetensors
new . --text a b c => error: text: List should have at most 2 items
compare none --output x => error: none
report --study x => error: output: missing
""",
    flags=re.M,
)
"""Words after `python -m headroom`, and a token of the message."""

SOME = "--checkpoints x --corpus x --set check --output x"
ONE = "--data x --work x --checkpoints x --output x"


def test_words_that_make_no_command_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for words, message in WRONG_WORDS:
        given = shlex.split(words.replace("SOME", SOME).replace("ONE", ONE))
        monkeypatch.setattr("sys.argv", ["headroom", *given])
        stream = io.StringIO()
        with redirect_stdout(stream), redirect_stderr(stream), pytest.raises(SystemExit) as caught:
            main()
        told = stream.getvalue()
        if caught.value.code != 2 or message not in told or "Traceback" in told or list(tmp_path.iterdir()):
            wrong.append((words, message, caught.value.code, told))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.fixture
def ready(tmp_path: Path) -> Project:
    """Return a directory with a Makefile and what it needs; its python says what it is called with, and a name."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "create.sh").touch()
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "<%s>" "$@" >&2\necho >&2\necho mine\n')
    python.chmod(0o755)
    return Project(tmp_path)


def test_make_says_what_it_lacks(ready: Project) -> None:
    rows = [
        ("new", "make new: say e.g. make new MODEL=my-model TEXT=text.txt"),
        ("new MODEL=x", "make new: say e.g."),
        ("compare", "make compare: no studies named; say e.g."),
        ("archives STUDIES=x", "make archives: say e.g."),
    ]
    ended = {words: ready.run("make", *words.split()) for words, _ in rows}
    wrong = [(words, ended[words]) for words, message in rows if message not in ended[words].output]
    assert not wrong, wrong
    assert all(one.status == 2 and "<" not in one.output for one in ended.values())  # nothing was called


STRANGE = ("my study.yaml", "study (2) [a].yaml", "user's.yaml", 'a"$HOME$(b)`c`*&;.yaml', "Täst/שלום.yaml")


def test_make_takes_any_name_of_a_file(ready: Project) -> None:
    for name in ("own.yaml", *STRANGE):
        output = ready.run("make", "study", f"STUDY={name}", "CORES=3", f"MIRROR=../{name}").output
        assert f"<headroom.missing><{name}>" in output
        assert f"<--cores><3><--configfile><{name}><--config><mirror=../{name}>" in output
        assert f"The report: {ready.root}/reports/mine.html" in output
        assert "<--config>" not in ready.run("make", "study", f"STUDY={name}").output
        text = ready.root / name
        text.parent.mkdir(exist_ok=True)
        text.touch()
        assert f"<new><{name}><--text><{name}>\n" in ready.run("make", "new", f"MODEL={name}", f"TEXT={name}").output
    two = ready.run("make", "new", "MODEL=m", "TEXT=a.tsv [b].tsv", "OPTIONS=--dtype 'a b'").output
    assert "<new><m><--text><a.tsv><[b].tsv><--dtype><a b>" in two
