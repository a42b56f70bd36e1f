"""headroom: how much headroom is in multi-head attention?"""

import importlib.util
import sys

if importlib.util.find_spec("pydantic") is None:
    sys.exit("headroom: run `make study`, or `source .venv/bin/activate` first")
