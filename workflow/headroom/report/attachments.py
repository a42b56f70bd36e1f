"""The files that a page carries for readers to download, packed into one text."""

import base64
import gzip
import io
import json
from collections.abc import Mapping


def packed(files: Mapping[str, str]) -> str:
    """Return files as one text for the page: base64 of gzip of JSON `{name: content}`.

    The same files give the same text on one version of zlib: names are sorted and no time is stored. The text consists
    of letters, digits, `+`, `/` and `=`, so it needs no escaping in `<script type="text/plain" id="attachments">`.
    `quote.js` unpacks it.

    Args:
        files: The content of every file by its name, e.g. the CSV of `curves.csv`.
    """
    content = json.dumps(dict(files), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write(content.encode("utf-8"))
    return base64.b64encode(buffer.getvalue()).decode("ascii")
