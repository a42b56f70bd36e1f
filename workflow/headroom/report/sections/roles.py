"""What heads do: roles, the relations that heads track, relevance, and attention maps to look at."""

from headroom.claims.roles import SHUFFLED, UNTRAINED
from headroom.claims.selection import examples_in, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import plural
from headroom.report.exhibits import Section
from headroom.report.names import run_name
from headroom.report.sections import attention_maps, positions, relations, relevance, role_atlas, role_seeds
from headroom.report.tasks import words_of

TITLE = "What heads do"


def section(tables: StudyTables) -> Section:
    """Return the section about roles."""
    present = {run for name in ("attention_stats", "roles", "relevance") for run in tables.frame(name)["run"]}
    run = next((run for run in tables.runs if run in present), "")
    if not run and not tables.maps:
        return Section("roles", TITLE, missing="What heads do was not examined in this study.")
    exhibits = (
        role_atlas.exhibit(tables, run) if run and role_atlas.coloured(tables, run) else None,
        relations.exhibit(tables, run),
        positions.exhibit(tables, run),
        relevance.exhibit(tables, run),
        role_seeds.exhibit(tables),
        attention_maps.exhibit(tables),
    )
    shown = tuple(one for one in exhibits if one is not None)
    return Section("roles", TITLE, lead=_lead(tables, run), exhibits=shown, remarks=_remarks(tables))


def _lead(tables: StudyTables, run: str) -> str:
    amount = examples_in(rows_where(tables.attention_stats, run=run))
    where = f" in {plural(amount, words_of(tables.task).example)}" if amount else ""
    shown = f" Shown is {run_name(run)}." if run else ""
    return (
        f"Where does a head point, that is, on which word does its largest weight lie? Counted{where} as Voita et al."
        " (2019) do. A head is positional if that is one relative position for nearly all words; syntactic if it finds"
        " the word in a relation of the dependency tree more often than the relation’s most frequent position does, by"
        " a margin, on both halves of the data; a rare-word head if it stands in the first layer and points to"
        f" the rarest words. The thresholds are in the signatures of the tables.{shown}"
    )


def _remarks(tables: StudyTables) -> tuple[str, ...]:
    if not tables.has("roles") or not tables.has("attention_stats"):
        return ()
    frames = (tables.attention_stats, tables.roles)
    has_control = any(UNTRAINED in set(frame["model"]) or SHUFFLED in set(frame["trees"]) for frame in frames)
    return () if has_control else ("Roles without controls: the best of many heads always looks like something.",)
