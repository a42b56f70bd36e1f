"""Every wrong configuration is reported in one or two lines with the key; every right one gets its dry run."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from configuration_mutants import BROKEN, Mutant, Place, mutants
from headroom.core.errors import HeadroomError
from headroom.settings.config_errors import one_line
from headroom.settings.load import load_study, read_study
from hypothesis import HealthCheck, Phase, given, settings
from study import ROOT, Project

ENOUGH = 500
FRAME = re.compile(r"^(WorkflowError.*:|Using workflow specific profile .*| +File \".*\", line \d+, in .*)?$")
"""Snakemake's output around a message."""

Check = Callable[[Mutant], None]


def try_mutants(number: int, check: Check) -> None:
    """Check that many mutants, the same ones every time."""
    tried = 0

    @given(mutants())
    @settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def each(mutant: Mutant) -> None:
        nonlocal tried
        tried += 1
        check(mutant)

    each()
    assert tried >= number


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


def as_file(project: Project, mutant: Mutant) -> str:
    """Write a mutant as a study and return its path."""
    (project.root / "mutant.yaml").write_text(yaml.dump(mutant.configuration, allow_unicode=False, sort_keys=False))
    return "mutant.yaml"


def message_in(output: str) -> str:
    """Return the message of a failed dry run, without Snakemake's output around it."""
    assert "Traceback" not in output, output
    lines = [line for line in output.split("\n") if not FRAME.match(line)]
    assert lines, output
    return "\n".join(lines)


def test_mutants_are_taken_or_told() -> None:
    reported = 0

    def check(mutant: Mutant) -> None:
        nonlocal reported
        try:
            load_study(mutant.configuration)
        except HeadroomError as error:
            reported += 1
            is_told_well(str(error), mutant)

    try_mutants(1000, check)
    assert reported >= ENOUGH


@pytest.mark.long
def test_some_mutants_in_a_terminal(bare: Project) -> None:
    def check(mutant: Mutant) -> None:
        ended = bare.snakemake("-n", "-q", study=as_file(bare, mutant))
        if ended.status:
            is_told_well(message_in(ended.output), mutant)

    try_mutants(3, check)


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_no_study(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(HeadroomError) as caught:
        read_study(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_study_with_everything_odd_that_is_right(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "\ufeffstudy: odd # comment\r\nseeds: &one [0x1]\nsampling: {resamples: 1_000}\n"
        "translation: {timing: &timing {repeats: 3}, arms: {baseline: {method: baseline}}}\n"
        'classification: {"käse-1": {timing: {<<: *timing, repeats: 3, shares: *one}}}\n'
    )
    found = read_study(str(path))
    assert list(found.runs()) == ["translation.baseline.seed1", "käse-1.baseline.seed1"]
    assert found.tasks["käse-1"].timing.repeats == 3
    assert found.sampling.resamples == 1000


def test_every_study_of_the_project_is_read() -> None:
    for path in [ROOT / "config.yaml", *(ROOT / "studies").glob("*.yaml")]:
        assert read_study(str(path)).runs(), path


def test_configurations_of_finished_studies_are_read() -> None:
    found = sorted((ROOT / "reports" / "reference").glob("**/configuration.json"))
    assert found
    for path in found:
        assert load_study(json.loads(path.read_text())).runs(), path
