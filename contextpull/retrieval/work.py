"""The work of one call: what is being done, and whether anyone still waits for it."""

import threading
from collections.abc import Callable


class Stopped(Exception):
    """Nobody waits for the result of a call any more.

    Not a ContextPullError: it is nobody's answer, and nothing falls back on something else.
    """


class Work:
    """A call under way, which may be stopped from another thread.

    What takes long says so, or checks, between its steps.
    """

    def __init__(self, tell: Callable[[str], object] | None = None) -> None:
        """Say what is being done to `tell`, in the thread that does it."""
        self._tell = tell
        self._stop = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether it is to end."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Have it end at its next step."""
        self._stop.set()

    def check(self) -> None:
        """Raise Stopped if it is to end."""
        if self.is_stopped:
            raise Stopped

    def tell(self, what: str) -> None:
        """Say what is being done now; raises Stopped if it is to end."""
        self.check()
        if self._tell is not None:
            self._tell(what)
