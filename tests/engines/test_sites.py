"""Sites of a live model, in the order of all tables."""

from headroom.core.heads import Head, Site
from headroom.engines.sites import site_names
from headroom.engines.translation.sites import find_sites


def test_sites_are_found_in_table_order(lively):
    assert site_names(find_sites(lively.model)) == [Site(kind, layer, 4) for kind in "EAD" for layer in (1, 2)]


def test_a_site_knows_its_modules_and_its_heads(lively):
    live = find_sites(lively.model)[2]
    assert live.attention is lively.model.decoder.layers[0].encoder_attn
    assert live.output is live.attention.out_proj
    assert live.kept_heads() == [Head("A", 1, head) for head in (1, 2, 3, 4)]


def test_what_is_kept_follows_a_removal(lively):
    lively.remove(frozenset([Head("A", 1, 1), Head("A", 1, 3)]))
    live = lively.live_sites[2]
    assert live.kept == (2, 4)
    assert live.kept_heads() == [Head("A", 1, 2), Head("A", 1, 4)]
    assert live.site == Site("A", 1, 4)
    assert live.output.in_features == 8
