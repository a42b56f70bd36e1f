"""What a study's page says of its text."""

import json

import pytest
from headroom.report.cautions import cautions, read_records

SIZES = {"train": 300, "choose": 30, "check": 30, "test": 300}


@pytest.fixture
def said(example_tables, tmp_path):
    """Return a function from the content of `corpus.json` of SST-2 to the sentences about its text."""

    def say(**record):
        path = tmp_path / "sst2/corpus/corpus.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"sizes": SIZES, **record}))
        with_text, without = cautions(example_tables, read_records([path])), cautions(example_tables)
        assert all(with_text[task] == own for task, own in without.items() if task != "SST-2")
        return [one.text for one in with_text["SST-2"] if one not in without["SST-2"]]

    return say


def test_copies_are_said_with_their_numbers_and_what_they_do(said):
    rows = [
        {"set": "test", "also_in": "test", "exact": 39, "normalised": 39, "widening": 2.49},
        {"set": "choose", "also_in": "train", "exact": 2, "normalised": 2},
        {"set": "test", "also_in": "train", "exact": 30, "normalised": 90},
    ]
    assert said(repeated=rows) == [
        "Of the examples of train there are copies: 2 of 30 of choose and 90 of 300 of test, 60 of them with another "
        "case, spaces or punctuation.",
        "39 of 300 of test repeat another one of the set; its intervals are too narrow, by a factor of up to 2.49.",
    ]


def test_what_was_dropped_is_said_by_reason(said):
    assert said(left_out={"because a side is empty": {"valid": 3, "test": 1}}, odd={"U+FFFD": {"test": 2}}) == [
        "Left out because a side is empty: 3 of valid and 1 of 300 of test.",
        "Kept, though they contain U+FFFD: 2 of 300 of test.",
    ]


@pytest.mark.parametrize(("peak", "amount"), [(801, 1), (800, 0)])
def test_a_job_with_more_memory_than_its_bound_is_named(example_tables, tmp_path, peak, amount):
    path = tmp_path / "benchmarks" / "ablation" / "one.tsv"
    path.parent.mkdir(parents=True)
    path.write_text(f"s\tmax_rss\tcpu_time\tbound\n1.0\t{peak}\t1.0\t800\n")
    said = [one.text for one in cautions(example_tables, benchmarks=[path]).get("", ())]
    assert len(said) == amount
    assert all("ablation 801 MB (bound: 800 MB)" in text for text in said)
