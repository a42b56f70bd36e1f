"""The page of documentation with every claim: its rule, thresholds, published numbers, controls and limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from headroom.claims.entries import Across, Claim, Paper, read_papers

NOTE = "written by `make docs` from workflow/headroom/claims/papers; do not edit"

INTRODUCTION = """
Every claim of the papers that a study can test. A rule decides each from the tables of the study alone; it is a
function of `workflow/headroom/claims/`, named after "Decided by", and its thresholds are in the claim's entry in
`workflow/headroom/claims/papers/`: another threshold there reruns the verdicts and the report, nothing else.
`python -m headroom claims results/<study>` prints the verdicts of a finished study; [claims](tables.md#claims) and
[numbers](tables.md#numbers) are the tables that the report reads.
"""


def claims_text() -> str:
    """Return a Markdown page with every claim of every paper."""
    lines = ["# The claims", "", f"<!-- {NOTE} -->", INTRODUCTION.rstrip()]
    for paper in read_papers():
        lines += _paper(paper)
    return "\n".join(lines) + "\n"


def _paper(paper: Paper) -> Iterator[str]:
    yield from ["", f"## {paper.authors}", "", f"*{paper.title}*"]
    for claim in paper.claims:
        yield from ["", f"### {claim.id}", "", claim.sentence, "", *_claim(claim)]


def _claim(claim: Claim) -> Iterator[str]:
    yield f"- **Rule**: {claim.rule_text}"
    yield f"- **Decided by**: `{claim.decide}`{_thresholds(claim.thresholds)}"
    yield f"- **Paper**: {_by_task(claim.paper)}"
    for name, texts in (("Controls", claim.controls), ("Limits", claim.limits)):
        if texts:
            yield f"- **{name}**: {' '.join(texts)}"

    for unlike, entry in claim.across.items():
        yield from _across(unlike, entry)


def _across(unlike: str, entry: Across) -> Iterator[str]:
    limits = f" {' '.join(entry.limits)}" if entry.limits else ""
    yield f"- **Across {unlike}** of several studies ([compare](compare.md)): {entry.rule_text}{limits}"
    yield f"  - **Decided by**: `{entry.decide}`{_thresholds(entry.thresholds)}"
    yield f"  - **Paper**: {entry.paper}"


def _thresholds(found: Mapping[str, Any]) -> str:
    words = (f"`{name}` {_value(value)}" for name, value in found.items())
    return f", with {', '.join(words)}" if found else ""


def _value(value: float | dict[str, float]) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{task} {one:g}" for task, one in value.items()) + ")"
    return f"{value:g}"


def _by_task(texts: Mapping[str, str]) -> str:
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{task}: {text}" for task, text in texts.items())
