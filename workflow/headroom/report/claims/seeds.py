"""V6: whether models agree in what their heads do."""

from itertools import combinations

import numpy

from headroom.claims.roles import functions, held
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.verdict import UNDECIDED, Claim, Estimate, Measured, Reading, above

ALIKE = 0.5
"""Two models agree if more than half of the functions that either has are in both."""


def functions_of_runs(tables: StudyTables) -> dict[str, set[str]]:
    """Return the functions held in every run that was examined, in the order of runs."""
    examined = {*tables.attention_stats["run"], *tables.roles["run"]}
    return {run: functions(held(rows_where(tables.roles, run=run))) for run in tables.runs if run in examined}


def likeness(found: dict[str, set[str]]) -> list[float]:
    """Return, for each pair of runs of which one has a function, common functions over all functions (Jaccard)."""
    pairs = [(first, second) for first, second in combinations(found.values(), 2) if first | second]
    return [len(first & second) / len(first | second) for first, second in pairs]


def _alike(tables: StudyTables) -> list[Reading]:
    found = functions_of_runs(tables)
    if not found:
        return []
    held_by_all = set.intersection(*found.values())
    amounts = Measured("functions in every model: {}", Estimate(float(len(held_by_all))), unit="count")
    pairs = likeness(found)
    if not pairs:
        models = Measured("models examined: {}", Estimate(float(len(found))), unit="count")
        return [Reading(UNDECIDED, (models, amounts))]
    common = Estimate(float(numpy.mean(pairs)), min(pairs), max(pairs))
    words = f"pairs of {len(found)} models share {{}} of their functions"
    return [Reading(above(common, ALIKE), (Measured(words, common, unit="share"), amounts))]


CLAIMS = (
    Claim(
        id="V6",
        claim="Models agree in the functions of their heads.",
        paper={
            "translation": "the same functions in 4 models (3 target languages, 2 domains), by inspection",
            "classification": "examined on translation only: the same functions in 4 models, by inspection",
        },
        rule="A function is a relative position, a syntactic relation in one direction, or rare words; a model has it"
        " if one of its heads holds that role. For every pair of models (seeds and arms of this study) the functions in"
        " both over the functions in either. Holds if the smallest over all pairs is above 50 %, does not hold if the"
        " largest is below; else undecided, as it is with a single model or without any function. The mean is given,"
        " in brackets the smallest and the largest.",
        section="roles",
        read=_alike,
        together=True,
    ),
)
