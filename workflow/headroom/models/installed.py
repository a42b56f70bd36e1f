"""Packages that transformers does without; modules that use transformers import this one first.

transformers imports scipy for the losses of object detection, and datasets with pandas and pyarrow for the Trainer, if
they are installed. It asks once for each; here they seem not to be installed when it does.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _absent(*packages: str) -> Iterator[None]:
    """Let packages seem not to be installed, within a block."""
    modules: dict[str, object] = dict(sys.modules)
    kept = {name: modules[name] for name in packages if name in modules}
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]  # None makes an import fail
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]
        sys.modules.update(kept)  # type: ignore[arg-type]


with _absent("datasets", "scipy"):
    from transformers.utils.import_utils import is_datasets_available, is_scipy_available

    NEEDLESS = {"datasets": is_datasets_available(), "scipy": is_scipy_available()}
    """Whether transformers uses these packages; it keeps the answers."""
