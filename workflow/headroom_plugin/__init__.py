"""The plugin for fairseq's own command lines: `--user-dir workflow/headroom_plugin`.

    fairseq-train <data> --user-dir workflow/headroom_plugin \
        --task headroom_translation --arch transformer \
        --optimizer repulsive_adam --repulsion '{"method": "svgd", "alpha": 0.01}' ...

fairseq puts this folder's parent on the module path, which makes the package `headroom` importable,
and imports this module, which registers the task, the optimizer and the criterion. Their code is in the package, from
which the training stage imports it.
"""

import logging

_LOGGERS = [logging.getLogger(name) for name in ("fairseq", "fairseq_cli")]
_levels = [logger.level for logger in _LOGGERS]

from headroom.training.fairseq import arms, trainer  # noqa: E402

for _logger, _level in zip(_LOGGERS, _levels):
    _logger.setLevel(_level)  # the package disables fairseq's log; keep it for fairseq's command lines

__all__ = ["arms", "trainer"]
