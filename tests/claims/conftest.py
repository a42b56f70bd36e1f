"""The made-up study that the tests of the report have, too."""

from report.conftest import example_maps, example_paths, example_tables

__all__ = ["example_maps", "example_paths", "example_tables"]
