"""The sentence about what heads do and how many of them learned gates leave; there is one where that was examined."""

from headroom.claims.study_tables import StudyTables
from headroom.report.claims.gates import encoder_readings
from headroom.report.claims.pointing import syntactic_readings
from headroom.report.claims.verdict import Reading, mean_share


def syntax(tables: StudyTables) -> str:
    """Return for which share of relations a head is found; "" if it was not examined."""
    return _mean(syntactic_readings(tables))


def gates(tables: StudyTables) -> str:
    """Return how much of the score learned gates keep, and with how many heads; "" without such models."""
    found = [reading for reading in encoder_readings(tables) if "score kept" in reading.measured[0].words]
    if not found:
        return ""
    heads = mean_share([reading.measured[1].found for reading in found])
    return f"{heads.bare()} of the encoder’s heads and {_mean(found)} of the score"


def _mean(found: list[Reading]) -> str:
    return mean_share([reading.measured[0].found for reading in found]).text() if found else ""
