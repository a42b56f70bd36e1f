"""Parts of figures that can be worked out by hand."""

from itertools import pairwise

import pandas
import pytest
from headroom.report.drawing import spread
from headroom.report.keys import arm_keys
from headroom.report.sections.curve_tables import area, safe_share
from headroom.report.selection import main_gradient, order_name, signed


def test_labels_are_pushed_apart_and_keep_their_order() -> None:
    assert spread([10.0, 50.0], 5.0) == [10.0, 50.0]
    assert spread([50.0, 50.0], 4.0) == pytest.approx([48.0, 52.0])
    places = spread([100.0, 99.0, 98.0, 20.0], 5.0)
    assert sorted(places, reverse=True) == places
    assert min(first - second for first, second in pairwise(places)) == pytest.approx(5.0, abs=0.1)


def curve(values: list[float], p_holm: list[float]) -> pandas.DataFrame:
    full = values[0]
    shares = [100 * step / (len(values) - 1) for step in range(len(values))]
    kept = [100 * value / full for value in values]
    delta = [value - full for value in values]
    return pandas.DataFrame(
        {"run": "r", "draw": 0, "share": shares, "kept": kept, "delta": delta, "p_holm": p_holm, "value": values}
    )


def test_the_safe_share_ends_before_the_first_significant_loss() -> None:
    rows = curve([50.0, 51.0, 49.0, 20.0, 30.0], [1.0, 0.001, 0.2, 0.01, 0.9])
    assert safe_share(rows) == 50.0
    lost_at_once = curve([50.0, 20.0, 10.0], [1.0, 0.0, 0.0])
    assert safe_share(lost_at_once) == 0.0


def test_the_area_is_the_mean_score_over_the_curve() -> None:
    assert area(curve([50.0, 25.0, 0.0], [1.0, 1.0, 1.0])) == pytest.approx(50.0)
    assert area(curve([40.0, 40.0, 0.0], [1.0, 1.0, 1.0])) == pytest.approx(75.0)


def test_the_order_of_the_claims_is_shown_first() -> None:
    orders = [("gradient-token", "layer"), ("gradient-example", "raw"), ("random", "")]
    rows = pandas.DataFrame([{"order": name, "normalised": how, "ranking": "fixed"} for name, how in orders])
    assert main_gradient(rows) == ("gradient-example", "raw")
    assert main_gradient(rows.head(1)) == ("gradient-token", "layer")
    assert main_gradient(rows.tail(1)) == ("", "")


def test_names_of_orders() -> None:
    assert order_name("gradient-example", "raw", "rescored") == "gradient, per example, rescored"
    assert order_name("gradient-token", "layer") == "gradient, per token, scaled by layer"
    assert order_name("random") == "random"


def test_signatures_are_read() -> None:
    rows = pandas.DataFrame({"signature": ["set:choose|sentences:500", "set:choose|sentences:20"]})
    assert signed(rows, "set") == "choose"
    assert signed(rows, "sentences") == ""
    assert signed(rows, "absent") == ""


def test_arms_differ_in_shape_as_well_as_colour() -> None:
    arms = ["baseline", "svgd", "spos", "disagreement", "orthogonality"]
    samples = [key.sample for key in arm_keys(arms)]
    assert len(set(samples)) == len(arms)
