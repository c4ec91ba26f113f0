"""Who calls, what they may see of the store, and what their client was shown."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext

from contextpull.retrieval.scope import Scope, ScopedStore
from contextpull.store import Snapshot, Store
from contextpull.tools import ToolSession

_MOST_SESSIONS = 256
"""Clients whose reading is remembered: those that were silent longest are met as new ones."""
_MOST_SCOPES = 64

Context = ServerRequestContext[Any, Any]
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request; two of one name and scope are one."""

    name: str
    scope: Scope | None = None
    """The documents they may see; None for all."""


EVERYONE = Caller("everyone")

CallerOf = Callable[[Context], Caller]
"""Tells from a request who sent it; called on the event loop, once a request."""


def everyone(_context: Context) -> Caller:
    """The caller where a transport knows none apart."""
    return EVERYONE


def connection_of(context: Context) -> Connection:
    """The connection of a request; in the stateless protocol, of this request alone."""
    # Handlers are meant to use what a connection keeps; the SDK has no other way to it yet.
    return context.session._connection


class Views:
    """The store as each caller may see it, and the tools as each client uses them."""

    def __init__(self, new_session: Callable[[Store | ScopedStore], ToolSession]) -> None:
        self._new_session = new_session
        self._scoped: _Recent[ScopedStore] = _Recent(_MOST_SCOPES)
        self._sessions: _Recent[ToolSession] = _Recent(_MOST_SESSIONS)

    def snapshot(self, store: Store, caller: Caller) -> Snapshot:
        """The newest generation as a caller may see it."""
        return self._store(store, caller).snapshot()

    def session(self, store: Store, caller: Caller, session_id: str | None) -> ToolSession:
        """The tools as one client uses them.

        Without `session_id`, as in the stateless protocol, a caller's requests are one client's.
        """
        key = (caller, session_id)
        return self._sessions.get(key, lambda: self._new_session(self._store(store, caller)))

    def _store(self, store: Store, caller: Caller) -> Store | ScopedStore:
        scope = caller.scope
        if scope is None:
            return store
        return self._scoped.get(scope, lambda: ScopedStore(store, scope))


class _Recent(Generic[_Value]):
    """Values by key, made when missing, of which those used last are kept; thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, _Value] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)
            return self._values[key]
