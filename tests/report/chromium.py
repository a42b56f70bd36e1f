"""A page in a real Chromium that is driven by real keys and clicks, through its debugging pipe. For tests only."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from study import PATIENCE, wait_until

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe"),
)

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "Home": (36, ""), "End": (35, "")}
KEYS |= {"ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, "")}
"""By name: the code of a key, and the text that it types."""

CATCH = "window.errors=[];addEventListener('error',(event)=>window.errors.push(event.message))"


class Page:
    """An open page.

    Args:
        write: The end of the pipe that takes commands.
        read: The end of the pipe that gives answers and events.
    """

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._rest, self._calls = write, read, b"", 0
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=CATCH)

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            answer = self._next(until)
            if answer.get("id") == self._calls:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
        raise TimeoutError(method)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._read, 1 << 16)
            assert part, "Chromium ended"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def open(self, page: Path, anchor: str = "") -> None:
        """Load a file, also if it is the page that is open, and wait until its scripts have run."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.as_uri() + (f"#{anchor}" if anchor else ""))
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def size(self, width: int, height: int = 800, *, dark: bool = False) -> None:
        """Set the size of the view in CSS pixels, and the theme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])

    def scripts(self, on: bool) -> None:
        """Let pages run scripts, or not; `evaluate` works all the same."""
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def evaluate(self, expression: str) -> Any:
        """Return what an expression of JavaScript is in the page, as data."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        wait_until(lambda: bool(self.evaluate(condition)), condition)

    def text(self, selector: str) -> str:
        """Return the text of the first element that a selector finds, with single spaces."""
        found = self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")
        return " ".join(found.split())

    def focus(self, selector: str) -> None:
        """Focus the first element that a selector finds."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other."""
        for key in keys:
            code, text = KEYS[key]
            about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that a selector finds."""
        quoted = json.dumps(selector)
        find = f"document.querySelector({quoted})"
        self.evaluate(f"{find}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.evaluate(f"{find}.getBoundingClientRect().toJSON()")
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **place)


@contextmanager
def chromium(directory: Path) -> Iterator[Page]:
    """Open a browser whose profile is in a directory; it ends with the block."""
    from_us, to_us = os.pipe(), os.pipe()
    pipes = f'exec "$@" 3<&{from_us[0]} 4>&{to_us[1]}'
    command = ["bash", "-c", pipes, "bash", str(BROWSER), *FLAGS, f"--user-data-dir={directory / 'profile'}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, pass_fds=(from_us[0], to_us[1]), start_new_session=True, **quiet)
    os.close(from_us[0])
    os.close(to_us[1])
    try:
        yield Page(from_us[1], to_us[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(from_us[1])
        os.close(to_us[0])
