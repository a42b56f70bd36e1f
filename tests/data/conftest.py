"""A server with faults, for the tests of downloads."""

from collections.abc import Iterator

import pytest
from faulty_server import FaultyServer, faulty_server


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    """A local server with configurable answers."""
    with faulty_server() as running:
        yield running
