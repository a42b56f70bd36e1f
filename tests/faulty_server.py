"""A local HTTP server with configurable faults."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LONG = 30.0
"""Seconds of a stall: longer than any test waits for it."""


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        body: The whole file.
        status: The status, except for partial content.
        headers: More headers.
        wait: Seconds before the answer.
        cut: Bytes after which the connection is closed, although more were announced.
        drip: Bytes that are sent at once, one hundredth of a second apart.
        announced: Whether the length of the body is.
        ranged: Whether range requests are answered by partial content.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    cut: int | None = None
    drip: int | None = None
    announced: bool = True
    ranged: bool = False


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]


@dataclass
class FaultyServer:
    """A running server: gives its answers in turn, the last one again and again, and notes what it was asked."""

    address: str
    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def gives(self, *answers: Answer) -> str:
        """Set the answers and return the address of a file."""
        self.answers[:] = answers
        return f"{self.address}/text.gz"

    @property
    def ranges(self) -> list[str]:
        """The range of each request, "" for the whole file."""
        return [asked.headers.get("Range", "") for asked in self.asked]


@contextmanager
def faulty_server() -> Iterator[FaultyServer]:
    """Run a server for the time of a block."""
    over = threading.Event()
    state = FaultyServer("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = state.answers.pop(0) if len(state.answers) > 1 else state.answers[0]
            state.asked.append(Asked(self.path, dict(self.headers)))
            if over.wait(answer.wait):
                return
            status, body, more = _part(answer, dict(self.headers))
            self.send_response(status)
            for name, value in {**answer.headers, **more}.items():
                self.send_header(name, value)
            if answer.announced:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self._send(body[: answer.cut], answer.drip)

        def _send(self, body: bytes, drip: int | None) -> None:
            try:
                for start in range(0, len(body), drip or max(1, len(body))):
                    self.wfile.write(body[start : start + (drip or len(body))])
                    if drip and over.wait(0.01):
                        return
            except OSError:
                pass  # the other side has had enough

        def log_message(self, *arguments: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
    yield state
    over.set()
    running.shutdown()
    running.server_close()


def _part(answer: Answer, headers: Mapping[str, str]) -> tuple[int, bytes, dict[str, str]]:
    """Return status, body and headers: partial content if requested and allowed."""
    wanted = headers.get("Range", "")
    if not wanted or not answer.ranged:
        return answer.status, answer.body, {}
    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
    if start >= len(answer.body):
        return 416, b"", {}
    return 206, answer.body[start:], {"Content-Range": f"bytes {start}-{len(answer.body) - 1}/{len(answer.body)}"}
