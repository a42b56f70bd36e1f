"""Files in their published form, with lines that break naive readers."""

import zipfile

import pytest
from headroom.data.catalogue import LabelledDataset, Rows
from headroom.data.labelled import LabelledText
from headroom.data.providers.catalogue import chosen_rows, read_set

NAMES = {"0": "no", "1": "yes"}


def dataset(files, columns, **wanted):
    """Return a data set of which every set is read in the same way, from files of these names."""
    published = [
        {"path": f"set/{name}", "url": "http://127.0.0.1:9/x", "bytes": 1, "sha256": "0" * 64, "licence": "free"}
        for name in files
    ]
    one = {"files": [f"set/{name}" for name in files], **wanted}
    entry = {
        "title": "small",
        "labels": ["no", "yes"],
        "metrics": ["accuracy"],
        "columns": {"names": NAMES, **columns},
        "files": published,
        "sets": dict.fromkeys(("train", "valid", "test"), one),
    }
    return LabelledDataset.model_validate(entry)


@pytest.fixture
def read(tmp_path):
    """Return a function that writes files, a mapping of names to text, and reads them as a set."""

    def write_and_read(files, columns, **wanted):
        fetched = {}
        for name, content in files.items():
            fetched[f"set/{name}"] = tmp_path / name
            (tmp_path / name).write_bytes(content.encode())
        return read_set(dataset(list(files), columns, **wanted), "train", fetched)

    return write_and_read


@pytest.fixture
def archive(tmp_path):
    """Return a function that writes an archive of members and returns where it is, as a fetched file."""

    def write(members):
        with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
            for name, content in members.items():
                packed.writestr(name, content)
        return {"set/packed.zip": tmp_path / "packed.zip"}

    return write


HEADED = {"header": True, "sentences": ["one", "two"], "label": "gold"}


def test_table_without_header_by_number(read):
    text = read({"a.tsv": "src\t1\t*\tgood\nsrc\t0\t\tbad\n"}, {"sentences": [4], "label": 2}, examples=2)
    assert text == LabelledText(["good", "bad"], None, ["yes", "no"])


def test_table_with_header_by_name_in_any_order(read):
    text = read({"a.tsv": "gold\tid\ttwo\tone\n1\t7\tB\tA\n0\t8\tD\tC\n"}, HEADED, examples=2)
    assert text == LabelledText(["A", "C"], ["B", "D"], ["yes", "no"])


@pytest.mark.parametrize("sentence", ["a\u0085b", '"a" "b', '"a\\', "a\rb"], ids=ascii)
def test_table_is_split_at_newlines_and_tabs_alone_and_quotes_are_kept(read, sentence):
    content = f"gold\tone\ttwo\n1\t{sentence}\tx\n0\tx\t{sentence}\n1\ty\tz\n"
    text = read({"a.tsv": content}, HEADED, examples=3)
    assert text == LabelledText([sentence, "x", "y"], ["x", sentence, "z"], ["yes", "no", "yes"])


@pytest.mark.parametrize("sentence", ["a\u0085b", "a\u2028b", '"a', "a\tb"], ids=ascii)
def test_aligned_files_keep_step(read, sentence):
    files = {"s1": f"{sentence} \nb\n", "s2": f"c\n{sentence}\n", "labels": "1\n0\n"}
    text = read(files, {"sentences": [1, 2], "label": 3}, examples=2)
    assert text == LabelledText([sentence, "b"], ["c", sentence], ["yes", "no"])


def test_mark_in_front_is_no_part_of_the_first_column(read):
    assert read({"a.txt": "\ufeffgold\tone\ttwo\n1\ta\tb\n"}, HEADED, examples=1).labels == ["yes"]
    assert read({"a.txt": "\ufeff1\ta\n"}, {"sentences": [2], "label": 1}, examples=1).labels == ["yes"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6]),
        ({"last": 3}, [0, 1, 2]),
        ({"first": 6}, [5, 6]),
        ({"first": 3, "last": 4}, [2, 3]),
        ({"last": 99}, [0, 1, 2, 3, 4, 5, 6]),
        ({"only_every": 3}, [2, 5]),
        ({"except_every": 3}, [0, 1, 3, 4, 6]),
    ],
)
def test_rows_are_counted_from_one_below_the_header(rows, expected):
    assert chosen_rows(7, Rows.model_validate(rows)) == expected


@pytest.mark.parametrize(("key", "expected"), [("only", ["a", "c"]), ("without", ["b", "d"])])
def test_rows_told_by_pairs_of_identifiers(tmp_path, key, expected):
    (tmp_path / "a.tsv").write_text(
        "gold\tid1\tid2\tone\ttwo\n1\t1\t2\ta\tx\n1\t2\t1\tb\tx\n0\t1\t3\tc\tx\n0\t4\t2\td\tx\n"
    )
    (tmp_path / "list.tsv").write_text("1\t3\n1\t2\n9\t9\n")
    entry = dataset(["a.tsv"], HEADED, examples=2).model_dump(mode="json")
    entry["files"].append(entry["files"][0] | {"path": "set/list.tsv"})
    for wanted in entry["sets"].values():
        wanted[key] = {"file": "set/list.tsv", "columns": ["id1", "id2"]}
    fetched = {f"set/{name}": tmp_path / name for name in ("a.tsv", "list.tsv")}
    assert read_set(LabelledDataset.model_validate(entry), "train", fetched).first == expected


class TestArchive:
    def read(self, fetched, member="deep/in.tsv"):
        columns = {"sentences": [2], "label": 1}
        return read_set(dataset(["packed.zip"], columns, member=member, examples=1), "train", fetched)

    def test_a_member_is_read(self, archive):
        fetched = archive({"deep/in.tsv": '1\t"a\u0085b\n'.encode(), "other.tsv": b"x"})
        assert self.read(fetched) == LabelledText(['"a\u0085b'], None, ["yes"])
