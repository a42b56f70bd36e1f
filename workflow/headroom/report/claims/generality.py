"""M15: the same on other tasks."""

from collections.abc import Callable

import pandas

from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import main_curve, point_at, readings
from headroom.report.claims.pruning import read_reaching
from headroom.report.claims.verdict import Claim, Measured, Reading, above

PRUNABLE = {"sst2": 0.6, "cola": 0.5, "mrpc": 0.5}
"""The share of heads that the paper prunes "without a noticeable impact" by task (Appendix B)."""

OTHERWISE = 0.5
"""The least of these is asked of every other task of classification."""

SMALL_SHARE = 0.2
SMALL_KEPT = 0.95
"""The paper's small translation model (IWSLT) keeps 96.3 % with this share removed; no share is claimed for it."""


def _reader(task: str) -> Callable[[pandas.DataFrame], Reading | None]:
    asked = PRUNABLE.get(task, OTHERWISE)
    return lambda rows: read_reaching(rows, asked)


def _read_small(rows: pandas.DataFrame) -> Reading | None:
    point = point_at(main_curve(rows), SMALL_SHARE)
    if point is None:
        return None
    words = f"{{}} of the score kept at {100 * SMALL_SHARE:.0f} % removed"
    return Reading(above(point, SMALL_KEPT), (Measured(words, point, unit="share"),))


def _general(tables: StudyTables) -> list[Reading]:
    read = _read_small if tables.task == "translation" else _reader(tables.task)
    return readings(tables, "pruning", read, shares=True)


CLAIMS = (
    Claim(
        id="M15",
        claim="That heads can be removed without noticeable loss holds on other tasks and smaller models too.",
        paper={
            "sst2": "SST-2: up to 60 % (−1.0 points of accuracy, −2.4 % above chance)",
            "cola": "CoLA: up to 50 % (+0.2 points of Matthews correlation × 100)",
            "mrpc": "MRPC: up to 50 % (±0.0 points of F1)",
            "classification": "SST-2 up to 60 %, CoLA and MRPC up to 50 %; this task is not in the paper",
            "translation": "IWSLT German-English: 96 % of the BLEU kept at 20 % removed; no share claimed",
        },
        rule="Classification: as M7, with the share that the paper claims for the task: 60 % of heads for SST-2, 50 %"
        " for CoLA and MRPC; of a task that the paper does not have, 50 % is asked. Translation: holds if with 20 % of"
        " heads removed by gradient importance the 95 % interval of the share of the score kept is above 95 % (the"
        " paper’s small model keeps 96.3 %), does not hold if it is below; else undecided.",
        section="pruning",
        read=_general,
    ),
)
