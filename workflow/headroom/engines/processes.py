"""Processes that train one model together, on one machine, each with its part of every update.

They meet as those of `torchrun` do, so that both engines find each other: fairseq through torch.distributed,
transformers through the environment besides. NCCL joins GPUs, one process each; gloo joins processes on the CPU.
"""

import errno
import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed

from headroom.core.errors import HeadroomError, disk_is_full, out_of_memory
from headroom.engines.head_model import pick_device

Tell = Callable[[Any], None]
Work = Callable[[Tell], None]
"""What the processes do, given what tells the process that waits for them of progress."""

_LONGEST = 3000
"""Characters of an error that are passed on: several processes write into one pipe, where up to 4 kB stay whole."""

_LAST_WORDS = 2.0
"""Seconds that the others have to end by themselves after one has failed."""


def process_count() -> int:
    """Return how many processes train together; 1 if this one is alone."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def this_process() -> int:
    """Return which of these processes this is, counted from 0: that one writes files and tells of progress."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def own_seed(seed: int, process: int) -> int:
    """Return the seed of what a process draws for itself alone; the first one has the seed as it is.

    They differ in their last 32 bits, which are all that torch's generator on the CPU reads.
    """
    return seed + process * 1_000_000_007


def wait_for_all() -> None:
    """Wait until all processes are here."""
    if process_count() > 1:
        on_gpu = distributed.get_backend() == "nccl"
        distributed.barrier(device_ids=[torch.cuda.current_device()] if on_gpu else None)


def sum_over_processes(numbers: Tensor) -> Tensor:
    """Return the sum of a tensor over all processes, in a new tensor."""
    total = numbers.clone()
    if process_count() > 1:
        distributed.all_reduce(total)
    return total


def check_replicas(weights: Iterable[Tensor]) -> None:
    """Raise HeadroomError if the processes no longer have the same weights, to the bit.

    Args:
        weights: Those of this process, in float32.
    """
    if process_count() == 1:
        return
    own = torch.stack([weight.detach().contiguous().view(torch.int32).sum() for weight in weights])
    of_all = [torch.empty_like(own) for _ in range(process_count())]
    distributed.all_gather(of_all, own)
    if any(not torch.equal(own, other) for other in of_all):
        raise HeadroomError(
            "the processes of this training no longer have the same weights: train in one process, and report this"
        )


def check_processes(count: int, device: str) -> None:
    """Raise HeadroomError if a machine cannot run so many processes, each with a GPU of its own if there are GPUs."""
    if count < 1:
        raise HeadroomError(f"--processes {count}: give 1 or more")
    if count == 1 or pick_device(device).type == "cpu":
        return
    if count > (found := torch.cuda.device_count()):
        raise HeadroomError(f"--processes {count}: each needs a GPU of its own, and torch sees {found}")


def run_together(work: Work, *, count: int, device: str, notify: Tell) -> None:
    """Do some work in several processes at once, or in this one if it is only one.

    Whatever ends one of the processes ends all of them, and so does the end of this one.

    Args:
        work: What they do. Where they are several, it is pickled, and what it is made of is imported there.
        count: Number of processes.
        device: `auto`, `cpu` or `cuda`.
        notify: Called here with all that the first process tells.

    Raises:
        HeadroomError: If there are not as many GPUs, if one of the processes raised it, or was killed.
    """
    check_processes(count, device)
    if count == 1:
        work(notify)
        return
    context = multiprocessing.get_context("spawn")  # CUDA survives no fork
    receiver, sender = context.Pipe(duplex=False)
    threads = max(1, torch.get_num_threads() // count)
    processes: list[SpawnProcess] = []
    with tempfile.TemporaryDirectory() as place:
        try:
            for number in range(count):
                arguments = (work, number, count, device, threads, Path(place) / "meeting", sender)
                processes.append(context.Process(target=_take_part, args=arguments, daemon=True))
                processes[-1].start()
            sender.close()
            errors = _watch(processes, receiver, notify)
        finally:
            for process in processes:
                process.kill()
                process.join()
            receiver.close()
    if errors:
        raise errors[0]


def _watch(processes: Sequence[SpawnProcess], receiver: Connection, notify: Tell) -> list[Exception]:
    """Pass on what is told until all processes have ended or one has failed; return errors, the one to raise first."""
    errors: list[Exception] = []
    listening: list[Connection] = [receiver]
    while running := [process for process in processes if process.is_alive()]:
        if receiver in wait([*listening, *(process.sentinel for process in running)]):
            listening = [receiver] if _hear(receiver, notify, errors) else []
        if errors or any(process.exitcode for process in processes):
            break
    deadline = time.monotonic() + _LAST_WORDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    while receiver.poll() and _hear(receiver, notify, errors):
        pass
    # a process that is gone makes the others fail, with errors that say nothing of the reason
    reasons = [error for error in errors if not isinstance(error, RuntimeError)]
    return [*reasons, *_ended(processes, killed=True), *errors, *_ended(processes, killed=False)]


def _hear(receiver: Connection, notify: Tell, errors: list[Exception]) -> bool:
    """Take one message; return False if there can be no more."""
    try:
        told = receiver.recv()
    except EOFError:
        return False
    if isinstance(told, Exception):
        errors.append(told)
    else:
        notify(told)
    return True


def _ended(processes: Sequence[SpawnProcess], *, killed: bool) -> list[Exception]:
    """Return an error for every process that was ended by a signal, or else by itself before its work was done."""
    count = len(processes)
    return [
        HeadroomError(
            f"process {number} of {count} that train together {_end(process.exitcode)}, and so all were ended; "
            "run the same command again: it goes on after the last whole epoch"
        )
        for number, process in enumerate(processes, start=1)
        if process.exitcode and (process.exitcode < 0) == killed
    ]


def _end(code: int) -> str:
    if code == -signal.SIGKILL:
        return "was killed (for want of memory?)"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def _take_part(
    work: Work, number: int, count: int, device: str, threads: int, meeting: Path, sender: Connection
) -> None:
    """Be one of several processes; the last words of one that fails are its error."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _prepare(number, count, threads)
    try:
        _meet(number, count, device, meeting)
        work(sender.send if number == 0 else _tell_nobody)
        wait_for_all()
        distributed.destroy_process_group()
    except Exception as error:
        sender.send(_portable(error))
        sender.close()
        os._exit(1)  # at once: tidying up may wait for processes that are no more


def _prepare(number: int, count: int, threads: int) -> None:
    """Say as much as one process would, and use the processors that are this one's share."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the process that waits for this one ends it
    level = logging.INFO if number == 0 else logging.ERROR
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True)
    if not sys.warnoptions:
        for category in (UserWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count))
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # accelerate would choose a number of its own
    torch.set_num_threads(threads)


def _meet(number: int, count: int, device: str, meeting: Path) -> None:
    """Join the group of all processes, by way of a file: no port of the machine is needed."""
    on_cpu = pick_device(device).type == "cpu"
    if on_cpu and sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the machine's name stands for in its network
    if not on_cpu:
        torch.cuda.set_device(number)
    backend = "gloo" if on_cpu else "nccl"
    store = distributed.FileStore(str(meeting), count)  # type: ignore[attr-defined]
    distributed.init_process_group(backend, store=store, rank=number, world_size=count)


def _end_with_parent() -> None:
    """End this process when the one that started it does, whatever ended that one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _tell_nobody(_: Any) -> None:
    """Stand for `notify` in all processes but the first."""


def _portable(error: Exception) -> Exception:
    """Return an error as the process that waits for this one shall raise it: RuntimeError is one of programming."""
    if isinstance(error, HeadroomError):
        return HeadroomError(str(error)[:_LONGEST])
    if out_of_memory(error):
        return MemoryError(str(error)[:_LONGEST])
    if disk_is_full(error):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), getattr(error, "filename", None))
    return RuntimeError("".join(traceback.format_exception(error))[-_LONGEST:])
