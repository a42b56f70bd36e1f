import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.maps import padded_spans

ORDINARY = torch.tensor([[False, True, True, False], [True, False, False, False]])


def test_places_stand_where_pieces_count():
    spans = padded_spans([[(0, 2), (3, 4)], [(1, 5)]], ORDINARY)
    assert spans.tolist() == [[[-1, -1], [0, 2], [3, 4], [-1, -1]], [[1, 5], [-1, -1], [-1, -1], [-1, -1]]]
    assert padded_spans([[], []], torch.zeros(2, 1, dtype=torch.bool)).tolist() == [[[-1, -1]]] * 2


def test_another_number_of_pieces_is_refused():
    with pytest.raises(HeadroomError, match="1 pieces have a place in their sentence, but the model reads 2"):
        padded_spans([[(0, 2)], [(1, 5)]], ORDINARY)
