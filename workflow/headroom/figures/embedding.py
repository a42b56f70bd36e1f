"""Data inside the page: JSON for its scripts, and the files that readers can download."""

import base64
import gzip
import io
import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from headroom.core.errors import visible


def embed_data(value: Any) -> Markup:
    """Return data as JSON that is safe inside a `<script>`: no `<`, no control characters, no NaN."""
    text = json.dumps(_show_texts(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def _show_texts(value: Any) -> Any:
    """Return data with every text as the page shows it."""
    if isinstance(value, dict):
        return {visible(str(key)): _show_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_show_texts(one) for one in value]
    return visible(value) if isinstance(value, str) else value


def pack_files(files: Mapping[str, str]) -> str:
    """Return files as one text for the page: base64 of gzip of JSON `{name: content}`.

    The same files give the same text on one version of zlib: names are sorted and no time is stored. The text consists
    of letters, digits, `+`, `/` and `=`, so it needs no escaping in `<script type="text/plain" id="attachments">`.
    `quote.js` unpacks it.
    """
    content = json.dumps(dict(files), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write(content.encode("utf-8"))
    return base64.b64encode(buffer.getvalue()).decode("ascii")
