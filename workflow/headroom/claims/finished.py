"""Finished studies, read to be compared: their tables, verdicts and numbers, and what text they are about."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas

from headroom.claims.configuration import found_in, mapping, paths_in, read_configuration, task_sections
from headroom.claims.study_tables import StudyTables
from headroom.core.errors import HeadroomError
from headroom.core.tables import CLAIMS, NUMBERS

GENERATED = "generated sentences"
"""The domain of text that the grammar of this project makes, which is in no language."""

LANGUAGES = {
    "cs": "czech",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "it": "italian",
    "ja": "japanese",
    "lv": "latvian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "tr": "turkish",
    "vi": "vietnamese",
    "zh": "chinese",
}
"""Names of languages by code (ISO 639-1): data sets of the Hub and sacrebleu's have codes, the catalogue has names."""

UNNAMED = ("source", "target", "")
"""Placeholders for the names of languages: those of the user's own files, unless the configuration names them."""


@dataclass(frozen=True)
class Corpus:
    """The text of a task."""

    domain: str = ""  # its domain, e.g. a data set; "" if unknown
    languages: tuple[str, ...] = ()  # source and target language of a translation, in lower case; none if unknown


@dataclass(frozen=True)
class FinishedStudy:
    """A study with results."""

    name: str
    tables: StudyTables
    claims: pandas.DataFrame = field(default_factory=lambda: CLAIMS.read_all([]))  # its table `claims`
    numbers: pandas.DataFrame = field(default_factory=lambda: NUMBERS.read_all([]))  # its table `numbers`
    corpora: Mapping[str, Corpus] = field(default_factory=dict)  # the text of every task

    def views(self) -> Iterator[StudyTables]:
        """Yield the tables of one task after another."""
        return (self.tables.of_task(task) for task in self.tables.tasks)

    def corpus(self, task: str) -> Corpus:
        """Return the text of a task; all its fields are empty if the results do not describe it."""
        return self.corpora.get(task, Corpus())


def read_finished(places: Sequence[Path]) -> list[FinishedStudy]:
    """Return the studies whose results are in these directories.

    Raises:
        HeadroomError: If there are fewer than two, one of them is not finished, or two have one name; names all that
            are not finished.
    """
    if len(places) < 2:
        raise HeadroomError("compare: needs at least two studies; name their results, e.g. results/starter")
    lacking = [words for place in places if (words := _lacking(place))]
    if lacking:
        raise HeadroomError("\n".join(lacking))
    found = [_read(place) for place in places]
    for place, study in zip(places, found):
        if [one.name for one in found].count(study.name) > 1:
            raise HeadroomError(f"{place}: another study is named '{study.name}' too; give each study once")
    return found


def _lacking(place: Path) -> str:
    """Return what keeps a study from being compared, "" if nothing does."""
    name = place.resolve().name
    run = "make study" if name == "starter" else f"make study STUDY=studies/{name}.yaml"
    if not place.is_dir():
        return f"{place}: there are no results of this study; run it first: {run}"
    absent = [table.path for table in (CLAIMS, NUMBERS) if not (place / table.path).is_file()]
    if absent:
        return f"{place}: the study is not finished, {' and '.join(absent)} missing; run it again to finish it: {run}"
    return ""


def _read(place: Path) -> FinishedStudy:
    claims = CLAIMS.read(place / CLAIMS.path)
    name = str(claims["study"].iloc[0]) if len(claims) else place.resolve().name
    tables = found_in(place) if paths_in(place) else StudyTables()  # then verdicts and numbers alone are compared
    configuration = place / "configuration.json"
    sections = task_sections(read_configuration(configuration if configuration.is_file() else None))
    texts = {task: mapping(sections.get(task, {}).get("corpus")) for task in tables.tasks}
    corpora = {task: _corpus(name, text, place / task / "corpus") for task, text in texts.items()}
    return FinishedStudy(name, tables, claims, NUMBERS.read(place / NUMBERS.path), corpora)


def _corpus(study: str, section: Mapping[str, Any], prepared: Path) -> Corpus:
    """Return what a task's text is: from its configuration, and the languages from the text that was prepared."""
    if section.get("source") == "generated":
        return Corpus(GENERATED)
    about = prepared / "corpus.json"
    known = mapping(_json(about)) if about.is_file() else section
    named = [_language(known.get(f"{side}_language")) for side in ("source", "target")]
    languages = tuple(named) if all(named) else ()
    words = [section.get(key) for key in ("dataset", "name")] if "dataset" in section else [section.get("test")]
    if section.get("source") == "files":
        words = [f"files of {study}"]
    return Corpus(" ".join(str(word) for word in words if word), languages)


def _language(name: Any) -> str:
    text = "" if name is None else str(name).strip().lower()
    return "" if text in UNNAMED else LANGUAGES.get(text, text)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HeadroomError(f"{path}: cannot be read ({error}); run the study again") from error
