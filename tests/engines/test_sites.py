"""Sites of a live model, in the order of all tables."""

from headroom.core.heads import Site
from headroom.engines.fairseq.sites import find_sites
from headroom.engines.sites import site_names


def test_sites_are_found_in_table_order(lively):
    assert site_names(find_sites(lively.model)) == [Site(kind, layer, 4) for kind in "EAD" for layer in (1, 2)]
