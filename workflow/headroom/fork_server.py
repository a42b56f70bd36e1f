"""Start jobs in processes that have imported their libraries: a server that forks a process for each.

Importing torch and transformers takes seconds, in every job of a study. The workflow starts this server for the jobs of
its own machine (Linux). `python -m headroom` asks it for a process, which has the arguments, directory, environment,
streams, limits and ignored signals of the one that asked, imports headroom itself and computes the same; without a
server a job imports its libraries itself.
"""

import atexit
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from types import FrameType
from typing import Any

ADDRESS = "HEADROOM_FORK_SERVER"
"""The environment variable with the path of the server's socket."""

_PLAIN = ("pandas", "pandas.io.formats.csvs", "scipy.stats", "pydantic.main", "matplotlib.pyplot", "seaborn", "jinja2")
_TORCH = (
    *(*_PLAIN, "torch", "transformers.trainer", "transformers.models.bert.modeling_bert", "accelerate"),
    *("transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto", "sentencepiece"),
    *("sacrebleu.tokenizers.tokenizer_13a", "conllu", "pydantic.types", "pydantic.type_adapter"),
)
_FAIRSEQ = (
    *(*_TORCH, "fairseq.tasks.translation", "fairseq.sequence_generator", "fairseq.models.transformer"),
    *("fairseq.trainer", "fairseq.quantization_utils"),
)
LIBRARIES = {"plain": _PLAIN, "torch": _TORCH, "fairseq": _FAIRSEQ}
"""By the environment of a job, in `envs/`, the modules that are imported before."""

LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT)


def start_server() -> "subprocess.Popen[bytes] | None":
    """Start a server for the commands of this process and its children; it ends after these.

    Returns:
        Its process; None where there is a server already, where the path of its socket would be too long, and on other
        systems than Linux.
    """
    if ADDRESS in os.environ or sys.platform != "linux":
        return None
    place = tempfile.mkdtemp(prefix="headroom-")  # readable by this user alone
    address = os.path.join(place, "socket")
    try:
        listening = listen(address)
    except OSError:
        os.rmdir(place)
        return None
    lifeline, _ = os.pipe()  # the other end is closed when this process ends
    with listening:
        server = subprocess.Popen(
            [sys.executable, "-P", __file__, address, str(listening.fileno())],
            stdin=lifeline,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"},
            pass_fds=[listening.fileno()],
            start_new_session=True,  # an interrupt from the terminal reaches the commands, which forward it
        )
    os.close(lifeline)
    os.environ[ADDRESS] = address
    return server


def listen(address: str) -> socket.socket:
    """Return a socket at which commands can ask."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    return listening


def hand_over(address: str, libraries: str) -> None:
    """Run this command in a process of the server and exit as that does; return if there is no server.

    Args:
        address: The path of the server's socket.
        libraries: The environment of the job, a key of `LIBRARIES`.
    """
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(address)
            socket.send_fds(server, [b"."], [0, 1, 2])
            server.sendall(json.dumps(describe_command(libraries)).encode() + b"\n")
            answers = server.makefile("rb")
            child = int(answers.readline() or 0)
        except OSError:  # it has ended
            return
        if not child:
            return

        def forward(number: int, _frame: FrameType | None) -> None:
            with suppress(ProcessLookupError):
                os.kill(child, number)

        def suspend(_number: int, _frame: FrameType | None) -> None:
            os.kill(child, signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)

        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, forward)
        signal.signal(signal.SIGTSTP, suspend)
        status = os.waitstatus_to_exitcode(int(answers.readline() or signal.SIGKILL))
    if status < 0:  # ended by a signal, as this process has to be
        with suppress(OSError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def describe_command(libraries: str) -> dict[str, Any]:
    """Return what a process needs to run this command in the place of this process."""
    umask = os.umask(0o22)
    os.umask(umask)
    return {
        "libraries": libraries,
        "python": [sys.prefix, sys.version],
        "arguments": sys.argv[1:],
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "umask": umask,
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": sorted(os.sched_getaffinity(0)),
        "limits": [(limit, resource.getrlimit(limit)) for limit in LIMITS],
        "ignored": sorted(ignored_signals()),
    }


def ignored_signals() -> set[int]:
    """Return the signals that this process ignores, which its children would do too."""
    return {int(number) for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN}


class Server:
    """The server: one process for every command that asks.

    Attributes:
        listening: The socket at which commands ask.
        running: By the number of a process, the connection to the command that asked for it.
    """

    def __init__(self, listening: socket.socket) -> None:
        """Answer at a socket."""
        self.listening = listening
        self.running: dict[int, socket.socket] = {}

    def serve(self) -> dict[str, Any] | None:
        """Answer until the process that started this one has ended, and all commands; return None then.

        In a new process, return the command that it runs.
        """
        ended, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        open_ = [ended, sys.stdin, self.listening]
        while sys.stdin in open_ or self.running:
            ready, _, _ = select.select([*open_, *self.running.values()], [], [])
            if sys.stdin in ready:
                open_ = [ended]
            if ended in ready:
                os.read(ended, 1024)
                self.report_ended()
            for child in (child for child, command in self.running.items() if command in ready):
                with suppress(ProcessLookupError):  # its command was killed: so is the process
                    os.killpg(child, signal.SIGKILL)
            if self.listening in ready:
                with suppress(OSError, ValueError):  # a command that ended while it asked
                    if request := self.fork(self.listening.accept()[0]):
                        return request
        return None

    def report_ended(self) -> None:
        """Tell the commands whose processes have ended how these did."""
        for child in [*self.running]:
            number, status = os.waitpid(child, os.WNOHANG)
            if number:
                with self.running.pop(child) as command, suppress(OSError):
                    command.sendall(f"{status}\n".encode())

    def fork(self, command: socket.socket) -> dict[str, Any] | None:
        """Start a process for a command; return the command in that process, None in this one."""
        _, streams, _, _ = socket.recv_fds(command, 1, 3)
        request: dict[str, Any] = json.loads(command.makefile("rb").readline())
        if request["python"] != [sys.prefix, sys.version]:
            for stream in streams:
                os.close(stream)
            command.sendall(b"0\n")  # another environment
            return None
        import_all(request["libraries"])
        child = os.fork()
        if not child:
            os.setsid()
            for one in (self.listening, command, *self.running.values()):
                one.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            return request
        for stream in streams:
            os.close(stream)
        self.running[child] = command
        command.sendall(f"{child}\n".encode())
        return None


def import_all(libraries: str) -> None:
    """Import the libraries of an environment; what cannot be imported is left to the job, which says so."""
    for name in LIBRARIES.get(libraries, ()):
        if name not in sys.modules:
            with suppress(Exception):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is here now stays, and is shared by all processes


def become(request: dict[str, Any]) -> None:
    """Let this process run a command in the place of the one that asked: in its directory, with what it was given."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in ignored_signals() - {*request["ignored"]}:  # the server may have been started by `nohup`
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    for limit, values in request["limits"]:
        with suppress(OSError, ValueError):  # above the server's own
            resource.setrlimit(limit, tuple(values))
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, request["priority"])
    os.sched_setaffinity(0, request["processors"])
    os.umask(request["umask"])
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # TMPDIR is read again
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    if "torch" in sys.modules and (threads := os.environ.get("OMP_NUM_THREADS", "")).isdecimal():
        sys.modules["torch"].set_num_threads(int(threads))
    searched = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [os.getcwd(), *map(os.path.abspath, filter(None, searched))]
    sys.argv[1:] = request["arguments"]


def end_at_once() -> None:
    """End this process with status 0; return, for Python to end it, if its streams cannot be written.

    Python would first free all modules, which takes half a second and copies the memory that they share.
    """
    atexit._run_exitfuncs()
    gc.collect()  # closes files that a cycle keeps open
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def main() -> None:
    """Serve at a socket, given by its path and number; in a new process, run `python -m headroom`."""
    address, number = sys.argv[1:]
    request = Server(socket.socket(fileno=int(number))).serve()
    if request:
        become(request)
        del os.environ[ADDRESS]
        runpy.run_module("headroom", run_name="__main__", alter_sys=True)
        end_at_once()
    else:
        os.unlink(address)
        os.rmdir(os.path.dirname(address))


if __name__ == "__main__":
    main()
