"""A server that answers badly, for the tests of downloads."""

from collections.abc import Iterator

import pytest
from bad_server import BadServer, bad_server


@pytest.fixture
def server() -> Iterator[BadServer]:
    """A local server with configurable answers."""
    with bad_server() as running:
        yield running
