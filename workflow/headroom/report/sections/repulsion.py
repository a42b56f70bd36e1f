"""Repulsion: arms compared in quality, diversity, growth, number of heads, prunability, updates and cost."""

from headroom.claims.arms import BASELINE, ArmDescription
from headroom.claims.study_tables import StudyTables, seed_of
from headroom.core.formatting import listing, opening
from headroom.report.exhibits import Section
from headroom.report.names import method_words
from headroom.report.sections import (
    arm_cost,
    arm_diversity,
    arm_heads,
    arm_overlaps,
    arm_particles,
    arm_pruning,
    arm_quality,
    arm_updates,
)

TITLE = "Heads that repel each other"

ENOUGH_SEEDS = 5

FEW_ARMS = 3
"""Up to so many controls are described in a sentence."""

TOLD = (arm_quality, arm_diversity, arm_particles, arm_heads, arm_pruning, arm_overlaps, arm_updates, arm_cost)
"""The modules of the exhibits, in the order of telling; each has `exhibit(tables)`."""


def section(tables: StudyTables) -> Section:
    """Return the section that compares arms."""
    if len(tables.arm_names) < 2:
        return Section("repulsion", TITLE, missing="Repulsion was not run in this study: it has a single arm.")
    made = tuple(one for one in (module.exhibit(tables) for module in TOLD) if one is not None)
    if not made:
        return Section(
            "repulsion", TITLE, missing="Repulsion was not examined in this study: its arms were not compared."
        )
    seeds = len({seed_of(run) for run in tables.runs})
    few = (
        f"{opening(seeds, 'seed')} per arm: intervals over so few are wide, a difference has to be large to show."
        if seeds > 1
        else "One seed per arm: how much of a difference is the luck of the seed cannot be told."
    )
    remarks = (few,) if seeds < ENOUGH_SEEDS else ()
    return Section("repulsion", TITLE, lead=_lead(tables), exhibits=made, remarks=remarks)


def _lead(tables: StudyTables) -> str:
    """Say what the arms are: repulsive attention, then other methods, then other shapes."""
    arms = tables.described_arms
    repulsive = [arm.name for arm in arms if arm.is_repulsive]
    others = [arm for arm in arms if not arm.is_repulsive and arm.method != BASELINE]
    shapes = [arm.name for arm in arms if arm.method == BASELINE and any(value is not None for value in arm.shape)]
    parts = []
    if repulsive:
        noun, verb = ("arm", "was") if len(repulsive) == 1 else ("arms", "were")
        parts.append(
            f"The {noun} {listing(repulsive)} {verb} trained like the baseline, but with updates that treat the heads"
            " of a site as particles which follow the gradient and repel each other (An et al., 2020)."
        )
    if others:
        words = _in_words if len(others) <= FEW_ARMS else _name
        where = "" if len(others) <= FEW_ARMS else " (what each does is in the second table)"
        parts.append(f"Beside them, as controls and rivals: {listing(map(words, others))}{where}.")
    if shapes:
        parts.append(f"Ordinary training of other models: {listing(shapes)}.")
    return " ".join(parts) or f"The arms {listing(tables.arm_names)} side by side."


def _name(arm: ArmDescription) -> str:
    return arm.name


def _in_words(arm: ArmDescription) -> str:
    words = method_words(arm.method)
    return arm.name if words == arm.name else f"{arm.name} ({words})"
