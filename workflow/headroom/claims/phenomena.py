"""What encoder attention and the heads of relations are needed for: accuracy per phenomenon without them.

Voita et al. 2019 name functions of heads by where they attend, and remove heads by gates; whether what depends on a
relation is lost with the heads that find it is asked here.
"""

import numpy
import pandas

from headroom.claims.evidence import each_run, estimate_in
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading
from headroom.core.statistics import Estimate, holm

RELATIONS = {
    "agreement": "nsubj",
    "predicate": "nsubj",
    "passive": "obl:agent",
    "adjective": "amod",
    "object": "obj",
    "particle": "compound:prt",
    "concord": "advmod",
}
"""The relation (Universal Dependencies) that the form of a phenomenon's word depends on, where it is a single one."""

CONTROL = "name"
"""The phenomenon that depends on no relation."""

ENCODER = "encoder"
"""The group of all encoder heads."""

DELTA = ("delta", "low", "high")
BEYOND = ("beyond", "beyond_low", "beyond_high")


@each_run("phenomena")
def encoder_is_needed(rows: pandas.DataFrame, *, lost: float, least: float) -> Reading | None:
    """Decide whether relations between words are lost without encoder attention."""
    rows = rows_where(last_epochs(rows), group=ENCODER)
    relations = rows[rows["phenomenon"] != CONTROL]
    if relations.empty:
        return None
    surely, perhaps = (int((relations[end] < -lost).sum()) for end in ("high", "low"))
    verdict = HOLDS if surely >= least else FAILS if perhaps < least else UNDECIDED
    numbers = [Number("fallen", Estimate(float(surely)), "count", about={"phenomena": len(relations)})]
    control = rows_where(rows, phenomenon=CONTROL)
    if len(control):
        numbers.append(Number("control", estimate_in(control, *DELTA), signed=True))
    return Reading(verdict, (*numbers, _most(relations, DELTA)))


@each_run("phenomena")
def relation_heads_are_needed(rows: pandas.DataFrame, *, level: float, loss: float) -> Reading | None:
    """Decide whether removing the heads of a relation costs more on its phenomena than removing as many others."""
    rows = last_epochs(rows)
    own = rows[rows["phenomenon"].map(RELATIONS) == rows["group"]]
    own = own[own["p"].notna()]
    if own.empty:
        return None
    worse = (own["beyond"] < 0).to_numpy() & (numpy.array(holm(own["p"].to_list()), dtype=float) < level)
    harmless = bool((own["beyond_low"] > -loss).all())
    verdict = HOLDS if worse.any() else FAILS if harmless else UNDECIDED
    numbers = [
        Number("worse", Estimate(float(worse.mean())), "share"),
        Number("tested", Estimate(float(len(own))), "count"),
        Number("beyond", Estimate(float(own["beyond"].mean())), signed=True),
    ]
    control = rows_where(rows[rows["group"].isin(set(own["group"]))], phenomenon=CONTROL)
    if len(control):
        numbers.append(Number("control", Estimate(float(control["beyond"].mean())), signed=True))
    if worse.any():
        numbers.append(_most(own[worse], BEYOND))
    return Reading(verdict, tuple(numbers))


def _most(rows: pandas.DataFrame, columns: tuple[str, ...]) -> Number:
    """Return the largest loss, by its columns."""
    most = rows.sort_values(columns[0]).head(1)
    chosen = {"phenomenon": str(most["phenomenon"].iloc[0]), "relation": str(most["group"].iloc[0])}
    return Number("most", estimate_in(most, *columns), signed=True, chosen=chosen)
