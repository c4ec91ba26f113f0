"""Files parsed in processes of their own, which may hang, run out of memory or die.

That costs the file that did it, and nothing else. The system watches time and memory in the child
itself; the parent sees it end, and tells why.

No library is used: Pebble 5.2 (LGPL) bounds the time of a task and outlives a child that dies, but
polls, and leaves a child that hangs behind when the parent is killed; loky 3.7 loses every
waiting task with one child that dies, as `concurrent.futures` does.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents import formats
from contextpull.documents.discovery import SourceFile
from contextpull.errors import StoreError
from contextpull.store import worker_process
from contextpull.store.parsing import ParsedFile, given_up
from contextpull.store.worker_process import READY, RETIRED, Job

_MOST_WORKERS = 8
_MOST_IN_HAND = 256 * 1024
"""Weight of the files that a child is sent before it has answered; one may weigh more."""
_MOST_AHEAD = 8 * 1024 * 1024
"""Weight of the files that were sent out and not yet given back, as long as some child has work."""
_WEIGHT_OF_A_FILE = 32 * 1024
"""Beside its bytes; so few are in hand that telling the child of them never has to wait for it."""


class Workers:
    """Child processes, started when they are needed and ended with the `with` block."""

    def __init__(
        self, settings: CutSettings, limits: ReadLimits, *, keeps_parsed: bool = False
    ) -> None:
        self._job = Job(settings, limits, time.time_ns(), formats.FORMATS, keeps_parsed)
        self._workers: list[_Worker] = []
        self._news = DefaultSelector()
        self._queue: deque[SourceFile] = deque()
        self._done: dict[str, ParsedFile] = {}
        self._ahead = 0

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.close()
        self._news.close()

    def parse(self, files: Sequence[SourceFile]) -> Iterator[ParsedFile]:
        """Read and cut files, in their order; what cannot be parsed comes with its reason.

        Raises StoreError when no process can be started.
        """
        self._queue.extend(files)
        for file in files:
            self._send_out()
            self._collect(wait=False)
            while file.path not in self._done:
                self._send_out()
                self._collect(wait=True)
            self._ahead -= _weight(file)
            yield self._done.pop(file.path)

    def _send_out(self) -> None:
        while self._queue:
            weight = _weight(self._queue[0])
            is_busy = any(worker.in_hand for worker in self._workers)
            if is_busy and self._ahead + weight > _MOST_AHEAD:
                return
            worker = self._worker_for(weight)
            if worker is None:
                return
            self._ahead += weight
            worker.send(self._queue.popleft())

    def _worker_for(self, weight: int) -> "_Worker | None":
        """Who has least to do, if that leaves room; a new one while there are few."""
        idlest = min(self._workers, key=lambda each: each.weight, default=None)
        if idlest and (not idlest.weight or idlest.weight + weight <= _MOST_IN_HAND):
            return idlest
        if len(self._workers) >= min(os.cpu_count() or 1, _MOST_WORKERS):
            return None
        worker = _Worker(self._job)
        self._workers.append(worker)
        self._news.register(worker.connection, EVENT_READ, worker)
        return worker

    def _collect(self, *, wait: bool) -> None:
        for key, _ in self._news.select(None if wait else 0):
            worker: _Worker = key.data
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            if isinstance(answer, ParsedFile):
                self._done[answer.document.path] = answer
                worker.in_hand.popleft()
            elif answer == READY:
                worker.is_ready = True
            elif answer == RETIRED:
                self._take_back(worker)

    def _bury(self, worker: "_Worker") -> None:
        """A child died: the file that it was at is given up, the others are read elsewhere."""
        reason = worker.end(self._job.limits)
        if not worker.is_ready:
            raise StoreError(
                f"A process that reads documents {reason} before it read any: stderr tells more."
            )
        if worker.in_hand:
            file = worker.in_hand.popleft()
            self._done[file.path] = given_up(file, reason, self._job.now_ns)
        self._take_back(worker)

    def _take_back(self, worker: "_Worker") -> None:
        self._news.unregister(worker.connection)
        self._workers.remove(worker)
        worker.close()
        self._ahead -= worker.weight
        self._queue.extendleft(reversed(worker.in_hand))


class _Worker:
    """One child and what it was sent."""

    def __init__(self, job: Job) -> None:
        self.in_hand: deque[SourceFile] = deque()
        """Sent and not answered; it is at the first."""
        self.is_ready = False
        self.connection, theirs = Pipe()
        with theirs:
            self._process = _started(theirs)
        with suppress(OSError):
            self.connection.send(job)

    @property
    def weight(self) -> int:
        """Of what it has in hand."""
        return sum(map(_weight, self.in_hand))

    def send(self, file: SourceFile) -> None:
        """Tell it of another file."""
        self.in_hand.append(file)
        with suppress(OSError):  # it is dead, as is seen where its answer is awaited
            self.connection.send(file)

    def end(self, limits: ReadLimits) -> str:
        """What a child did that does not answer any more: `ended its process (signal 11)`."""
        os.kill(self._process.pid, signal.SIGKILL)  # it may have closed its end and live on
        _, status, usage = os.wait4(self._process.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGALRM and self.in_hand:
            return f"took longer than {limits.seconds_for(self.in_hand[0].size):.3g} s"
        if code < 0 and _was_large(usage.ru_maxrss, limits):
            return f"needed more than {limits.megabytes:,} MB of memory (signal {-code})"
        return f"ended its process ({f'signal {-code}' if code < 0 else f'exit code {code}'})"

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self.connection.close()


def _started(channel: Connection) -> "subprocess.Popen[bytes]":
    """A child that imports what this process can, but nothing of its main program."""
    number = channel.fileno()
    command = [sys.executable, "-P", "-m", worker_process.__name__, str(number), str(os.getpid())]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(number,),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except OSError as error:
        raise StoreError(
            f"A process that reads documents cannot be started: {error.strerror or error}."
        ) from error


def _was_large(peak: int, limits: ReadLimits) -> bool:
    """Whether a child that died had used most of what it may; `peak` as the system tells it.

    Linux counts in kilobytes, and begins with the peak of the parent.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return sys.platform == "linux" and peak > max(own, limits.megabytes * 1024 // 2)


def _weight(file: SourceFile) -> int:
    return file.size + _WEIGHT_OF_A_FILE
