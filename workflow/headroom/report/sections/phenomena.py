"""Phenomena: what the heads of a relation are needed for."""

from headroom.claims.study_tables import StudyTables
from headroom.report.prose import words
from headroom.report.spec import Fold, Section, Table

TITLE = "What heads are needed for"
COLUMNS = ("run", "phenomenon", "group", "full", "value", "delta ~", "random", "beyond ~", "p", "count")
HEADINGS = {"group": "without heads of", "value": "accuracy", "random": "random heads", "beyond": "against random"}


def section(study: StudyTables) -> Section:
    """Return the section about accuracies per phenomenon without the heads of a relation."""
    if not study.has("phenomena"):
        return Section("phenomena", TITLE, missing=words("phenomena", "missing"))
    table = Table("phenomena", study.phenomena, COLUMNS, HEADINGS)
    return Section("phenomena", TITLE, folds=(Fold("Accuracy of every phenomenon", tables=(table,)),))
