"""Every wrong configuration is told in short lines with the key; every right one is read."""

import copy
import datetime
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from headroom.core.errors import HeadroomError
from headroom.settings.job import one_line
from headroom.settings.load import load_study, read_study
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from study import ROOT, TINY

Place = tuple[Any, ...]
"""Where something stands: the keys of the sections it is in, and its own; or its index in a list."""

STUDIES = [ROOT / "config.yaml", ROOT / TINY, *sorted((ROOT / "studies").glob("*.yaml"))]

NUMBERS = [0, 1, -1, 2, 3, 7, 1000, 1001, 2**31, 2**63, 10**30, -(10**30), 0.0, -0.5, 0.5, 1.5, 1e-300, 1e300, -1e-5]
NUMBERS += [0.1234567, 100000000.0, math.nan, math.inf, -math.inf]
COMMON = '| |x|many|none|null|yes|1e3|1|0.5|12:30|2026-01-01|~|*|all|../..|..|.|/|a b|it\'s|say "so"|a;b'
ODD = "$HOME|`id`|-x|--flag|{run}|{|}}|line\nbreak|a\tb|\x00|\x1b[31mred|\u202e|\u2028|\ud800|käse|日本語|😀|²"
TEXTS = [*COMMON.split("|"), *ODD.split("|"), "x" * 300, "y" * 20_000, "a.b.c", "results/tiny/roles/x.csv", "<script>"]
TEXTS += ["pruned", "translation", "E1:1"]
OTHERS: list[Any] = [None, True, False, datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 12, 30), b"bytes"]
OTHERS += [[], {}, [None], [[]], [{}], {"a": 1}, {1: 2}, {None: None}, ["a", "a"], [1, 1], [*range(50)], {"source": 5}]
VALUES = [*NUMBERS, *TEXTS, *OTHERS]
LIKE_KEYS = "|x|Seeds|translation|source|a.b|two words|line\nbreak|käse"
NAMES: list[Any] = [*LIKE_KEYS.split("|"), "n" * 5000, "-x", 1, 0.5, None, True, (1, 2), datetime.date(2026, 1, 1)]
NAMES += ["\ud800", "__class__", "model_config", "used", "pruned"]


@dataclass(frozen=True)
class Mutant:
    """A configuration, and the places in it that were changed."""

    configuration: Any
    changed: tuple[Place, ...]


def originals() -> list[dict[str, Any]]:
    """Return the project's studies as they are written, and two of them with every default filled in."""
    written: list[dict[str, Any]] = [yaml.safe_load(path.read_text()) for path in STUDIES]
    return written + [load_study(study).model_dump(mode="json") for study in written[:2]]


ORIGINALS = originals()


@st.composite
def mutants(draw: st.DrawFn) -> Mutant:
    """Draw a study of the project and change one to three things in it, at any depth."""
    configuration: Any = copy.deepcopy(draw(st.sampled_from(ORIGINALS)))
    changed: list[Place] = []
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        if not (places := list(places_in(configuration))):
            break
        place = draw(st.sampled_from(places))
        changed += CHANGES[draw(st.sampled_from(list(CHANGES)))](draw, configuration, place)
    return Mutant(configuration, tuple(changed))


def places_in(section: Any, above: Place = ()) -> Iterator[Place]:
    """Yield the place of everything within a section or list."""
    entries = section.items() if isinstance(section, dict) else enumerate(section) if isinstance(section, list) else ()
    for key, value in entries:
        yield (*above, key)
        yield from places_in(value, (*above, key))


def found(configuration: Any, place: Place) -> Any:
    """Return the value at a place."""
    for key in place:
        configuration = configuration[key]
    return configuration


def _drop(draw: st.DrawFn, configuration: Any, place: Place) -> list[Place]:
    del found(configuration, place[:-1])[place[-1]]
    return [place]


def _replace(draw: st.DrawFn, configuration: Any, place: Place) -> list[Place]:
    found(configuration, place[:-1])[place[-1]] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    return [place]


def _rename(draw: st.DrawFn, configuration: Any, place: Place) -> list[Place]:
    section = found(configuration, place[:-1])
    if isinstance(section, list):
        return _replace(draw, configuration, place)
    other = draw(st.sampled_from([*NAMES, f"{place[-1]}s", str(place[-1])[1:]]))
    section[other] = section.pop(place[-1])
    return [place, (*place[:-1], other)]


def _add(draw: st.DrawFn, configuration: Any, place: Place) -> list[Place]:
    section, value = found(configuration, place), copy.deepcopy(draw(st.sampled_from(VALUES)))
    if isinstance(section, dict):
        other = draw(st.sampled_from(NAMES))
        section[other] = value
        return [(*place, other)]
    if isinstance(section, list):
        section.append(draw(st.sampled_from([value, *section])))
        return [(*place, len(section) - 1)]
    found(configuration, place[:-1])[place[-1]] = draw(st.sampled_from([[section], [section, section], {"a": section}]))
    return [place]


def _move(draw: st.DrawFn, configuration: Any, place: Place) -> list[Place]:
    """Put here what stands elsewhere."""
    elsewhere = draw(st.sampled_from(list(places_in(configuration))))
    found(configuration, place[:-1])[place[-1]] = copy.deepcopy(found(configuration, elsewhere))
    return [place]


def _negate(draw: st.DrawFn, configuration: Any, place: Place) -> list[Place]:
    """Make numbers negative, empty the rest."""
    value = found(configuration, place)
    empty = type(value)() if isinstance(value, str | list | dict) else None
    found(configuration, place[:-1])[place[-1]] = -value if isinstance(value, int | float) else empty
    return [place]


CHANGES = {"drop": _drop, "replace": _replace, "rename": _rename, "add": _add, "move": _move, "negate": _negate}


def is_told_well(message: str, mutant: Mutant) -> None:
    """Check that a message has short lines that can be printed, one of which names the key."""
    lines = message.split("\n")
    assert all(line.isprintable() and len(line) <= 520 for line in lines), message
    assert lines[0].startswith("configuration"), message
    assert any(names_the_key(line, mutant) for line in lines), (message, mutant.changed)


def names_the_key(message: str, mutant: Mutant) -> bool:
    """Return whether a message names the changed key, its section, or a key that was checked against it."""
    if not isinstance(mutant.configuration, dict):
        return message.startswith("configuration: no keys at the top")
    text = message.removeprefix("configuration: ")
    key = text.partition(": ")[0]
    of_one_value = " (got " in text or "Extra inputs" in text
    for place in mutant.changed:
        parts = [one_line(str(part)[:60]) or '""' for part in without_places_in_lists(place)]
        changed = ".".join(parts)
        if key.startswith(changed) or changed.startswith(key):
            return True
        if parts[-1] in ("source", "method") and key.startswith(".".join(parts[:-1])):
            return True  # another form of the section, which has other keys
        if f"(got {place[-1]!r})" in text:
            return True  # a key that is no text
        if any(part in text for part in (parts[-1:] if of_one_value else parts)):
            return True
    return False


def without_places_in_lists(place: Place) -> Place:
    """Return a place up to the first list: what is in one moves when something before it goes."""
    inside = [index for index, part in enumerate(place) if isinstance(part, int) and index]
    return place[: inside[0]] if inside else place


reported = 0


@given(mutants())
@settings(
    max_examples=400,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def try_mutant(mutant: Mutant) -> None:
    global reported
    try:
        load_study(mutant.configuration)
    except HeadroomError as error:
        reported += 1
        is_told_well(str(error), mutant)


def test_mutants_are_read_or_told_with_their_key() -> None:
    try_mutant()
    assert reported >= 200


BROKEN = [
    (b"study: x\n\tseeds: [1]\n", "study.yaml, line 2: not YAML"),
    (b"seeds: [1\nstudy: x\n", "study.yaml, line 2: not YAML"),
    (b"study: *x\n", "study.yaml, line 1: not YAML, found undefined alias 'x'"),
    (b"study: !python x\n", "study.yaml, line 1: not YAML, could not determine a constructor"),
    (b"study: x\n---\nstudy: y\n", "study.yaml, line 2: not YAML"),
    (b"study: \x07\n", "study.yaml: not YAML, unacceptable character"),
    ("study: x\n# K\u00e4se\n".encode("latin-1"), "study.yaml, line 2: not UTF-8"),
    ("study: x\n".encode("utf-16"), "study.yaml, line 1: not UTF-8"),
    (b"study: 2026-13-45\n", "study.yaml: not YAML, month must be in 1..12"),
    (b"seeds: [" + b"1" * 5000 + b"]\n", "study.yaml: not YAML, Exceeds the limit"),
    (b"seeds: " + b"[" * 3000 + b"]" * 3000 + b"\n", "study.yaml: not YAML, maximum recursion depth"),
    (b"tasks: {a: {task: translation, model: &a {model: *a}}}\n", "study.yaml: tasks.a.model.model: "),
    (b"- study\n", "study.yaml: no keys at the top"),
    (b"study\n", "study.yaml: no keys at the top"),
    (b"# a comment\n", "study.yaml: no keys at the top"),
    (b"", "study.yaml: no keys at the top"),
    (b"seeds: [1]\nstudy: x\nseeds: [2]\n", "study.yaml, line 3: not YAML, the key 'seeds' is given twice"),
    (b"sampling: {resamples: 5,\n  'resamples': 6}\n", "study.yaml, line 2: not YAML, the key 'res"),
    (b"study: yes\n", "study.yaml: study: "),
    (b"study: 12:30\n", "study.yaml: study: "),
    (b"tasks: {a: {task: translation, training: {epochs: 1e3}}}\n", "study.yaml: tasks.a.training.epochs: "),
    (b"tasks: {no: {task: classification, corpus: {source: catalogue}}}\n", "study.yaml: tasks.0.[key]: "),
]
"""Files that are not studies: their content, and the error message."""


def test_a_file_that_is_no_study_is_told_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    wrong = []
    for content, message in BROKEN:
        path.write_bytes(content)
        try:
            read_study(str(path))
            wrong.append((content[:60], "read"))
        except HeadroomError as error:
            if message not in str(error) or "\n" in str(error):
                wrong.append((content[:60], str(error)))
    assert not wrong, wrong


def test_a_study_with_everything_odd_that_is_right(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "\ufeffstudy: odd # comment\r\nseeds: &one [0x1]\nsampling: {resamples: 1_000}\n"
        "tasks:\n"
        "  translation: {task: translation, timing: &timing {repeats: 3}, arms: {baseline: {method: baseline}}}\n"
        '  "käse-1": {task: classification, corpus: {source: catalogue}, timing: {<<: *timing, shares: *one}}\n'
    )
    found = read_study(str(path))
    assert list(found.runs()) == ["translation.baseline.seed1", "käse-1.baseline.seed1"]
    assert found.tasks["käse-1"].timing.repeats == 3
    assert found.sampling.resamples == 1000


def test_every_study_of_the_project_and_every_finished_one_is_read() -> None:
    for path in [ROOT / "config.yaml", *(ROOT / "studies").glob("*.yaml")]:
        assert read_study(str(path)).runs(), path
    found = sorted((ROOT / "reports" / "reference").glob("**/configuration.json"))
    assert found
    for path in found:
        assert load_study(json.loads(path.read_text())).runs(), path
