"""Work in threads: the event loop stays free, a cancelled request ends its work."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from contextpull.retrieval.work import Stopped, Work
from contextpull.server.callers import Context

MOST_THREADS = 8
"""Requests that are worked on at once; others wait for their turn."""
_MOST_UNSENT = 32
"""Words about progress that a client may be behind; further ones are left out."""

_Result = TypeVar("_Result")


class Threads:
    """Threads of their own, so that no amount of work keeps the transport from its."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._limiter = anyio.CapacityLimiter(most)

    async def run(self, context: Context, do: Callable[[Work], _Result]) -> _Result:
        """What `do` gives, from a thread; its client hears what its work says of progress.

        When the request is cancelled the work is told to end, and has ended when this returns.
        """
        send, receive = anyio.create_memory_object_stream[str](_MOST_UNSENT)
        work = Work(partial(_say, send))
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(_accompany, context, work, receive)
            try:
                result = await anyio.to_thread.run_sync(do, work, limiter=self._limiter)
            except Exception as error:  # a group would wrap it
                failure = error
            finally:
                send.close()
        if isinstance(failure, Stopped):
            await anyio.lowlevel.checkpoint()
        if failure is not None:
            raise failure
        return result


def _say(send: MemoryObjectSendStream[str], what: str) -> None:
    # Broken: the request was cancelled a moment ago, and the work will hear of it at its next step.
    with suppress(anyio.WouldBlock, anyio.BrokenResourceError):
        anyio.from_thread.run_sync(send.send_nowait, what)


async def _accompany(context: Context, work: Work, words: MemoryObjectReceiveStream[str]) -> None:
    """Tell the client what the work says, until its end; end it when the request is cancelled."""
    try:
        async with words:
            told = 0
            async for what in words:
                told += 1
                await context.session.report_progress(told, message=what)
    finally:
        work.stop()
