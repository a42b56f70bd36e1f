"""Interventions of every form, and replacement means that are far from the heads' outputs."""

import torch
from headroom.core.heads import all_heads, parse_profile
from headroom.core.interventions import Intervention
from headroom.engines.gates import Addition, Replacements


def drawn_replacements(live_sites, *, seed=0):
    """Return normal numbers as means and repairs, so that an omitted or misplaced one is detected."""
    generator = torch.Generator().manual_seed(seed)
    means = {
        live.site: 0.3 * torch.randn(live.site.heads, live.head_width, generator=generator, dtype=torch.float64)
        for live in live_sites
        if live.kept
    }
    return Replacements(means, repair=drawn_addition)


def drawn_addition(live, intervention):
    """Return a repair of normal numbers, the same for every model with these heads."""
    size = len(live.kept) * live.head_width
    generator = torch.Generator().manual_seed(live.site.layer)
    matrix = 0.2 * torch.randn(size, size, generator=generator, dtype=torch.float64)
    gone = torch.tensor([head in intervention.removed for head in live.kept_heads()])
    matrix[:, gone.repeat_interleave(live.head_width)] = 0
    return Addition(matrix, 0.3 * torch.randn(size, generator=generator, dtype=torch.float64))


def of_every_form(removed, sites):
    """Return the interventions that remove a profile: zero or mean, with and without scales of the rest; a repair."""
    left = [head for head in all_heads(sites) if head not in removed]
    scale = tuple((head, (0.5, 1.75, -1.0)[place % 3]) for place, head in enumerate(left) if place % 2)
    return [
        Intervention(frozenset(removed), factors, replacement)
        for factors in ((), scale)
        for replacement in ("zero", "mean")
    ] + [Intervention(frozenset(removed), repair="refit")]


def of_profiles(profiles, sites):
    """Yield, for each profile, the interventions that remove, replace, scale or make up for its heads."""
    for profile in profiles:
        removed = parse_profile(profile, sites)
        yield Intervention(removed)
        yield Intervention(removed, replacement="mean")
        yield Intervention(removed, replacement="resample")
        yield Intervention.scaled(dict.fromkeys(removed, -0.5))
        yield Intervention(removed, repair="refit")


FORMS = 5
"""The number of interventions of `of_every_form`."""
