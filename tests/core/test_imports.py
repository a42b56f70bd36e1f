"""Garbage collection is suspended for imports, and only for them."""

import gc
import weakref

import pytest
from headroom.core.imports import without_collection


class Knot:
    """An object that only a collection frees."""

    def __init__(self):
        self.itself = self


@pytest.fixture(autouse=True)
def thawed():
    yield
    gc.unfreeze()


def test_nothing_is_collected_within_the_block_also_when_nested():
    with without_collection():
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_resumes_after_an_error_and_frees_what_is_made_later():
    with pytest.raises(ImportError), without_collection():
        raise ImportError
    assert gc.isenabled()
    knot = weakref.ref(Knot())
    gc.collect()
    assert knot() is None


def test_only_what_imports_made_is_exempt(tmp_path, monkeypatch):
    frozen = gc.get_freeze_count()
    with without_collection():
        import gc as known  # noqa: F401
    assert gc.get_freeze_count() == frozen
    (tmp_path / "module_imported_once.py").write_text("made = [[] for _ in range(1000)]")
    monkeypatch.syspath_prepend(tmp_path)
    with without_collection():
        import module_imported_once  # noqa: F401
    assert gc.get_freeze_count() >= frozen + 1000


def test_a_collection_off_before_stays_off():
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
