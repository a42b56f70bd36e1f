"""A data set is an entry of a catalogue: studies accept its name and `acquire` fetches it."""

import hashlib
import json

import pytest
import yaml

CONLLU = "1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n" * 2
LINES = {"train": 5, "valid": 4, "test": 3}


@pytest.fixture
def mirror(tmp_path):
    """Return a mirror directory."""
    return tmp_path / "mirror"


def published(mirror, name, text, **about):
    """Put a file into the mirror and return what a catalogue says of it."""
    place, content = mirror / "small" / name, text.encode()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    found = {"path": f"small/{name}", "url": f"https://example.org/{name}", "licence": "free", **about}
    return {**found, "bytes": len(content), "lines": text.count("\n"), "sha256": hashlib.sha256(content).hexdigest()}


def parallel(mirror):
    sides = [(name, side) for name in LINES for side in ("source", "target")]
    text = {(name, side): "".join(f"{side} {n}\n" for n in range(LINES[name])) for name, side in sides}
    files = [published(mirror, f"{name}.{side}", text[name, side], set=name, side=side) for name, side in sides]
    return {"title": "Small", "source_language": "English", "target_language": "German", "files": files}


def labelled(mirror):
    text = {name: "".join(f"a {name} {n}\t{n % 2}\n" for n in range(lines)) for name, lines in LINES.items()}
    files = [published(mirror, f"{name}.tsv", text[name]) for name in LINES]
    sets = {name: {"files": [f"small/{name}.tsv"], "examples": lines} for name, lines in LINES.items()}
    columns = {"sentences": [1], "label": 2, "names": {"0": "bad", "1": "good"}}
    about = {"title": "Small", "labels": ["bad", "good"], "metrics": ["accuracy"], "columns": columns}
    return {**about, "files": files, "sets": sets}


def documents(mirror):
    text = {name: "".join(f"a {name} {n}\n" for n in range(lines)) for name, lines in LINES.items()}
    files = [published(mirror, f"{name}.txt", text[name], set=name) for name in LINES]
    return {"title": "Small", "divided": "line", "files": files}


def trees(mirror):
    return {"title": "Small", "file": published(mirror, "small.conllu", CONLLU)}


@pytest.mark.parametrize(
    ("kind", "catalogue", "entry", "key"),
    [
        ("parallel", "catalogue.yaml", parallel, "dataset"),
        ("labelled", "labelled_catalogue.yaml", labelled, "dataset"),
        ("documents", "document_catalogue.yaml", documents, "dataset"),
        ("trees", "treebank_catalogue.yaml", trees, "treebank"),
    ],
)
def test_a_data_set_is_an_entry(project, mirror, tmp_path, kind, catalogue, entry, key):
    written = yaml.safe_dump({"small": entry(mirror)}, sort_keys=False)
    project.edit(f"headroom/data/{catalogue}", end=f"\n{written}")
    assert project.touched() == {f"headroom/data/{catalogue}"}

    chosen = {"source": "catalogue", key: "small", **({"far": []} if kind == "parallel" else {})}
    project.headroom("acquire", f"--{kind}", json.dumps(chosen), "--mirror", mirror, "--output", tmp_path / "made")
    if kind == "trees":
        assert (tmp_path / "made").read_text().count("\troot\t") == 2
        return
    assert json.loads((tmp_path / "made" / "corpus.json").read_text())["origin"]["title"] == "Small"
    if kind == "parallel":
        jobs = project.plan(tasks__translation__corpus={"source": "catalogue", "dataset": "small", "far": []})
        assert jobs["text"] >= 1
