"""Attention maps of a few heads, to page through."""

from headroom.claims.maps import AttentionMap
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import listing, plural
from headroom.report.attention_map import draw_map
from headroom.report.exhibits import Exhibit, Page
from headroom.report.names import run_name
from headroom.report.role_names import target_words
from headroom.report.tasks import words_of


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the maps of the first run that has any; None without."""
    run = next((run for run in tables.runs if _of(tables, run)), "")
    maps = _of(tables, run)
    if not maps:
        return None
    heads = list(dict.fromkeys(str(one.head) for one in maps))
    noun = words_of(tables.task).example
    shown = plural(len({one.sentence for one in maps}), noun)
    finding = (
        f"{listing(heads)} on {shown} of {run_name(run)}: in each row the dot marks the"
        " word that the row’s word points to most."
    )
    return Exhibit(
        name="maps",
        shows=finding,
        how="Rows are the words that look, columns the words looked at; the darker, the more of the row’s attention."
        " Choose one by its number, or page with the links below the map.",
        pages=tuple(
            Page(_group(one), str(one.sentence), f"{_group(one)}, {noun} {one.sentence}", draw_map(one)) for one in maps
        ),
    )


def _of(tables: StudyTables, run: str) -> list[AttentionMap]:
    return [one for one in tables.maps if one.run == run]


def _group(one: AttentionMap) -> str:
    words = target_words(one.target) if one.target else ""
    if not one.role:
        return f"{one.head}, nearest to {words} (no role)"
    return f"{one.head}, {words}" if words else str(one.head)
