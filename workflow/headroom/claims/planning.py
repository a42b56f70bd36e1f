"""What would decide the claims of a study, and what a planned one could decide: `python -m headroom power`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.core.command import run, stage_parser

if TYPE_CHECKING:
    from headroom.claims.evaluation import Decision
    from headroom.settings.study import Study

SIZES = {
    "ablation": ("ablation", "examples"),
    "keep_one": ("keep_one", "examples"),
    "pruning": ("pruning", "test_examples"),
    "settling": ("pruning", "test_examples"),
    "gates": ("gates", "test_examples"),
}
"""By section of the report, the setting with the number of examples that its claims are judged on."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("power", __doc__)
    add = parser.add_argument
    add("results", type=Path, help="results of a finished study, e.g. results/starter: what varies, and by how much")
    add("--study", type=Path, metavar="YAML", help="a planned study: what it could decide with its sentences and seeds")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Decide the claims and print what undecided ones need.

    Raises:
        HeadroomError: If there are no results, or the planned study is not valid.
    """
    given = build_parser().parse_args(arguments)
    import yaml

    from headroom.claims.configuration import found_in
    from headroom.claims.evaluation import evaluate
    from headroom.settings.study import load_study

    planned = load_study(yaml.safe_load(given.study.read_text("utf-8"))) if given.study else None
    print("\n".join(lines(evaluate(found_in(given.results)), planned)))


def lines(decisions: Sequence[Decision], planned: Study | None = None) -> Iterator[str]:
    """Yield a line per claim and task that is undecided: what it needs, and whether a planned study has it."""
    from headroom.claims.evaluation import needed
    from headroom.claims.verdict import UNDECIDED

    for one in decisions:
        if one.verdict == UNDECIDED:
            words = needed(one) or "not known: the rule counts heads, roles or models"
            yield f"{one.claim.id:4} {one.task:12} {words}{_planned(one, planned)}"


def _planned(one: Decision, planned: Study | None) -> str:
    """Return whether a planned study is large enough for one claim; "" if unknown."""
    from headroom.claims.evaluation import wanted

    sizes = wanted(one)
    if planned is None or sizes is None or one.task not in planned.tasks:
        return ""
    task = planned.tasks[one.task]
    section, name = SIZES.get(one.claim.section, ("", ""))
    has = len(planned.seeds) if one.claim.together else getattr(getattr(task, section, None), name, None)
    if has is None:
        return ""
    unit = "seeds" if one.claim.together else "sentences"
    return f"; planned: {has} {unit}, {'enough' if has >= sizes else 'too few'}"


if __name__ == "__main__":
    run(main)
