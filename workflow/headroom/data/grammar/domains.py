"""The two domains: the same grammar, other topics, lengths and constructions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Domain:
    """How often a domain uses what. All fields but the last are probabilities.

    `own` and `other` are the shares of words of the domain's own topic and of the other domain's topic; the
    rest are shared words. So the words of the far domain are known from training, but rare there.
    """

    topic: str
    own: float
    other: float
    name: float
    plural: float
    adjective: float
    modifier: float
    relative: float
    coordination: float
    modal: float
    past: float
    copula: float
    adverb: float
    oblique: float
    fronted: float
    fronted_clause: float
    trailing_clause: float
    saying: float
    longest: int


NEAR = Domain(
    topic="near", own=0.55, other=0.10, name=0.07, plural=0.35, adjective=0.15, modifier=0.12, relative=0.08,
    coordination=0.04, modal=0.15, past=0.45, copula=0.12, adverb=0.12, oblique=0.16, fronted=0.20,
    fronted_clause=0.04, trailing_clause=0.04, saying=0.05, longest=14,
)  # fmt: skip
FAR = Domain(
    topic="far", own=0.50, other=0.10, name=0.12, plural=0.50, adjective=0.26, modifier=0.20, relative=0.24,
    coordination=0.08, modal=0.25, past=0.60, copula=0.08, adverb=0.18, oblique=0.22, fronted=0.15,
    fronted_clause=0.12, trailing_clause=0.10, saying=0.12, longest=25,
)  # fmt: skip
DOMAINS = {domain.topic: domain for domain in (NEAR, FAR)}
