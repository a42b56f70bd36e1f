"""Sites of a live model, in the order of all tables."""

from headroom.core.heads import Site
from headroom.engines.sites import site_names
from headroom.engines.translation.sites import find_sites


def test_sites_are_found_in_table_order(lively):
    assert site_names(find_sites(lively.model)) == [Site(kind, layer, 4) for kind in "EAD" for layer in (1, 2)]
