"""Interventions of every form, and replacement means that are far from the heads' outputs."""

import torch
from headroom.core.heads import all_heads
from headroom.core.interventions import Intervention
from headroom.engines.gates import Replacements


def drawn_replacements(live_sites, *, seed=0):
    """Return normal numbers as means, so that an omitted or misplaced mean is detected."""
    generator = torch.Generator().manual_seed(seed)
    return Replacements(
        {
            live.site: 0.3 * torch.randn(live.site.heads, live.head_width, generator=generator, dtype=torch.float64)
            for live in live_sites
            if live.kept
        }
    )


def of_every_form(removed, sites):
    """Return the interventions that remove a profile: zero or mean, with and without scales of what remains."""
    left = [head for head in all_heads(sites) if head not in removed]
    scale = tuple((head, (0.5, 1.75, -1.0)[place % 3]) for place, head in enumerate(left) if place % 2)
    return [
        Intervention(frozenset(removed), factors, replacement)
        for factors in ((), scale)
        for replacement in ("zero", "mean")
    ]
