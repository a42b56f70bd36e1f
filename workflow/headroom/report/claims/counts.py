"""M11: what a head is, and what attention is, of a model's parameters."""

import pandas

from headroom.claims.selection import last_epochs
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import readings
from headroom.report.claims.verdict import FAILS, HOLDS, Claim, Estimate, Measured, Reading

THIRD = 1 / 3
NEAR = 0.25
"""Attention is about a third of a model if it is within a quarter of that: between 25 % and 42 %."""

EQUAL = 0.05
"""A head's part of its site may differ this much, relatively, from one over the number of heads: biases are shared."""


def shares(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's sites with two more columns: `head_share` of the site, and `model_share` of all sites."""
    last = last_epochs(rows)
    total = last["attention_parameters"].sum() / last["model_parameters"]
    return last.assign(head_share=last["head_parameters"] / last["attention_parameters"], model_share=total)


def _read(rows: pandas.DataFrame) -> Reading | None:
    found = shares(rows)
    if found.empty:
        return None
    attention = float(found["model_share"].iloc[0])
    is_equal = (found["head_share"] * found["heads"] - 1).abs().max() <= EQUAL
    is_third = abs(attention / THIRD - 1) <= NEAR
    head = Estimate(float(found["head_share"].mean()))
    measured = (
        Measured("attention is {} of all parameters", Estimate(attention), unit="share"),
        Measured("a head {} of its layer’s attention", head, unit="share"),
    )
    return Reading(HOLDS if is_equal and is_third else FAILS, measured)


def _counted(tables: StudyTables) -> list[Reading]:
    return readings(tables, "parameters", _read)


CLAIMS = (
    Claim(
        id="M11",
        claim="A head is a small part of its layer’s attention, and attention about a third of the parameters.",
        paper={
            "translation": "a head is 6.25 % of its layer (16 heads), attention about one third of all parameters",
            "classification": "BERT: a head is 8.34 % of its layer (12 heads), attention about one third",
        },
        rule="Counted, not estimated. Holds if all attention sites together have between 25 % and 42 % of the model’s"
        " parameters (a third, give or take a quarter of it) and every head has one over the number of heads of its"
        " site’s, to within 5 % of that; else it does not hold. Small models have a larger part in embeddings.",
        section="removal",
        read=_counted,
    ),
)
