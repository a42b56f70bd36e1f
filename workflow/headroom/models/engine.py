"""Importing fairseq quietly."""

import logging
import warnings

_root = logging.getLogger()
_before = (_root.level, list(_root.handlers))

logging.disable(logging.CRITICAL)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import fairseq
    from fairseq import models, tasks  # noqa: F401

logging.disable(logging.NOTSET)

# fairseq configures the root logger when it is imported: give it back as it was.
_root.setLevel(_before[0])
_root.handlers[:] = _before[1]
for _name in ("fairseq", "fairseq_cli", "hydra"):
    logging.getLogger(_name).setLevel(logging.WARNING)

VERSION: str = fairseq.__version__
