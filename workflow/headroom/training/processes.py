"""Processes that train one model together, on one machine, each with its part of every update.

`torch.multiprocessing.spawn` starts them, and ends all if one fails.
fairseq finds them through torch.distributed, transformers also through the environment, as `torchrun` sets it. NCCL
joins GPUs, one process each; gloo joins processes on the CPU.
"""

import errno
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed
from torch.multiprocessing.spawn import ProcessException, spawn

from headroom.core.errors import HeadroomError, disk_is_full, out_of_memory
from headroom.models.sites import pick_device

Notify = Callable[[Any], None]
Work = Callable[[Notify], None]
"""Worker function of each process; receives a progress callback."""

_GRACE = 2.0
"""Grace period for the other processes after a failure, in seconds."""


def process_count() -> int:
    """Return the number of training processes; 1 without parallelism."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def this_process() -> int:
    """Return the rank of this process; the one of rank 0 writes files and reports progress."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def own_seed(seed: int, process: int) -> int:
    """Return the seed of one process; seeds differ in the 32 bits that torch reads on the CPU."""
    return seed + process * 1_000_000_007


def wait_for_all() -> None:
    """Wait for all processes (barrier)."""
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
    """Raise HeadroomError if the weights (float32) of the processes are not bitwise identical."""
    if process_count() == 1:
        return
    own = torch.stack([weight.detach().contiguous().view(torch.int32).sum() for weight in weights])
    of_all = [torch.empty_like(own) for _ in range(process_count())]
    distributed.all_gather(of_all, own)
    if any(not torch.equal(own, other) for other in of_all):
        raise HeadroomError("training processes: their weights diverged; train in one process, and report this error")


def check_processes(count: int, device: str) -> None:
    """Raise HeadroomError if a machine cannot run this many processes, with one GPU each if there are GPUs."""
    if count < 1:
        raise HeadroomError(f"--processes {count}: not positive; give 1 or more")
    if count == 1 or pick_device(device).type == "cpu":
        return
    if count > (found := torch.cuda.device_count()):
        raise HeadroomError(f"--processes {count}: torch sees {found} GPUs; give at most one process per GPU")


def run_together(work: Work, *, count: int, device: str, notify: Notify) -> None:
    """Run a worker function in several processes, or in this one if the count is 1.

    If one of the processes, or this one, ends early, all of them are terminated. Several processes need a worker
    function and a `notify` that can be pickled; the first process calls `notify`.

    Raises:
        HeadroomError: If there are fewer GPUs, or if one of the processes raised it or was killed.
        ProcessException: If one of the processes failed otherwise; with its traceback.
    """
    check_processes(count, device)
    if count == 1:
        work(notify)
        return
    threads = max(1, torch.get_num_threads() // count)
    with tempfile.TemporaryDirectory() as name:
        shared = (work, notify, count, device, threads, Path(name))
        together = spawn(_take_part, shared, nprocs=count, join=False, daemon=True)
        try:
            while not together.join(grace_period=_GRACE):
                pass
        except ProcessException as failed:
            codes = [process.exitcode for process in together.processes]
            raise _known_error(Path(name), codes) or failed from None
        finally:
            for process in together.processes:
                process.kill()
                process.join()


def _known_error(place: Path, codes: list[int]) -> Exception | None:
    """Return the error that users can act on; a killed process makes the others fail with misleading errors."""
    if errors := sorted(place.glob("*.error")):
        return pickle.loads(errors[0].read_bytes())  # noqa: S301
    # 1 is the status after an exception, SIGTERM is torch's
    ended = [(number, code) for number, code in enumerate(codes, 1) if code not in (0, 1, -signal.SIGTERM)]
    for number, code in ended:
        how = "killed (out of memory?)" if code == -signal.SIGKILL else f"ended with status {code}"
        return HeadroomError(
            f"training process {number} of {len(codes)}: {how}, all were stopped; "
            "re-run the same command, which resumes from the last complete epoch"
        )
    return None


def _take_part(number: int, work: Work, notify: Notify, count: int, device: str, threads: int, place: Path) -> None:
    """Run as one of several processes; an error that users can act on is left in a file."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _prepare(number, count, threads)
        _meet(number, count, device, place / "meeting")
        work(notify if number == 0 else _ignore)
        wait_for_all()
        distributed.destroy_process_group()
    except Exception as error:
        if known := _actionable(error):
            (place / f"{number}.error").write_bytes(pickle.dumps(known))
        raise


def _ignore(_: Any) -> None:
    """Report no progress."""


def _prepare(number: int, count: int, threads: int) -> None:
    """Restrict logs and warnings to the first process, and set the number of threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent process terminates this one
    level = logging.INFO if number == 0 else logging.ERROR
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True)
    if not sys.warnoptions:
        for category in (UserWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count))
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # otherwise set by accelerate
    torch.set_num_threads(threads)


def _meet(number: int, count: int, device: str, meeting: Path) -> None:
    """Join the process group through a file, without a network port."""
    on_cpu = pick_device(device).type == "cpu"
    if on_cpu and sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the host name may resolve to another address
    if not on_cpu:
        torch.cuda.set_device(number)
    store = distributed.FileStore(str(meeting), count)  # type: ignore[attr-defined]
    distributed.init_process_group("gloo" if on_cpu else "nccl", store=store, rank=number, world_size=count)


def _end_with_parent() -> None:
    """Terminate this process when its parent ends, for any reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _actionable(error: Exception) -> Exception | None:
    """Convert an error that users can act on to one that can be pickled."""
    if isinstance(error, HeadroomError):
        return HeadroomError(str(error))
    if out_of_memory(error):
        return MemoryError(str(error))
    if disk_is_full(error):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), getattr(error, "filename", None))
    return None
