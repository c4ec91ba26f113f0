"""A folder of runs as pages on this machine alone: a list, and reports of one run or several."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from sys import exc_info
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from contextpull.errors import ContextPullError, InvalidInput
from contextpull.eval.report.finding import (
    FoundRuns,
    Stamp,
    find_runs,
    require_folder,
    run_folders,
    stamp_of,
)

if TYPE_CHECKING:
    from contextpull.eval.report.rendering import Page

LOOPBACK = "127.0.0.1"
"""The one address that is listened at."""
MOST_COMPARED = 20
_PAGES_KEPT = 4
_PATIENCE_SECONDS = 15
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


ListPage = Callable[[FoundRuns, str], "Page"]
"""Makes the list of the runs under a folder, whose path is given, too."""
ReportPage = Callable[[Sequence[Path]], "Page"]
"""Makes the report of the runs in these folders, of which the last is the one it is about."""


class RunsServer(ThreadingHTTPServer):
    """Answers GET and HEAD at 127.0.0.1: `/` lists runs, `/report?run=NAME&run=…` shows them.

    A name is looked up among the runs that are found, and never becomes a path itself. A request
    that names another host is refused, since a page of somebody else's could ask under such a
    name. Raises EvaluationError where there is no such folder, InvalidInput where the port cannot
    be had; 0 takes any that is free.
    """

    daemon_threads = True

    def __init__(
        self, root: Path, port: int, *, list_page: ListPage, report_page: ReportPage
    ) -> None:
        require_folder(root)
        self.root = root
        self._list_page = list_page
        self._report_page = report_page
        self._building = threading.Lock()
        self._kept: OrderedDict[tuple[Path, ...], tuple[tuple[Stamp, ...], Page]] = OrderedDict()
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InvalidInput(
                f"Cannot listen at {LOOPBACK}, port {port}: {reason}. Take another --port."
            ) from error

    @property
    def address(self) -> str:
        """Where the list is."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may call this server."""
        names = (LOOPBACK, "localhost")
        ports = [f":{self.server_port}", *([""] if self.server_port == 80 else [])]
        return frozenset(f"{name}{port}" for name in names for port in ports)

    def list_page(self) -> "Page":
        """The runs that there are now."""
        return self._list_page(find_runs(self.root), str(self.root))

    def folders_of(self, names: Sequence[str]) -> list[Path]:
        """The folders of these runs, oldest first; without those that there are not."""
        known = {each.name: each for each in run_folders(self.root)}
        runs = [known[name] for name in names if name in known]
        return [each.folder for each in sorted(runs, key=lambda each: (each.finished, each.name))]

    def report_page(self, folders: Sequence[Path]) -> "Page":
        """The report of these runs, made anew when a file of theirs has changed.

        Raises EvaluationError for a run that cannot be read.
        """
        key = tuple(folders)
        with self._building:
            stamps = tuple(map(stamp_of, folders))
            kept = self._kept.pop(key, None)
            page = kept[1] if kept and kept[0] == stamps else self._report_page(folders)
            self._kept[key] = stamps, page
            while len(self._kept) > _PAGES_KEPT:
                self._kept.popitem(last=False)
        return page

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, unless it is that the browser has gone."""
        if not isinstance(exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)

    def get_request(self) -> tuple[socket, Any]:
        """A connection, which may not idle for ever."""
        connection, address = super().get_request()
        connection.settimeout(_PATIENCE_SECONDS)
        return connection, address


def report_query(names: Sequence[str]) -> str:
    """The address of the report of these runs, below that of the list."""
    asked = [("run", each) for each in names]
    return f"report?{urlencode(asked, errors='surrogateescape')}"  # a name may be no UTF-8


def shown_time(seconds: float) -> str:
    """Seconds since 1970 as a date and a time, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


class _Handler(BaseHTTPRequestHandler):
    server: RunsServer

    def version_string(self) -> str:
        """What answers, without its version."""
        return "contextpull"

    def do_GET(self) -> None:
        if self._host() not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN, f"Open {self.server.address} instead.")
            return
        asked = urlsplit(self.path)
        if asked.path == "/":
            self._answer(HTTPStatus.OK, self.server.list_page())
        elif asked.path == "/report":
            self._report(parse_qs(asked.query, errors="surrogateescape").get("run", []))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, f"There is no such page. Open {self.server.address}")

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.")

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_POST  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Nothing: one person looks at pages."""

    def _host(self) -> str:
        """What the request calls this server; no name of ours where it says so twice."""
        return ",".join(self.headers.get_all("Host", [])).strip().lower()

    def _report(self, asked: Sequence[str]) -> None:
        names = list(dict.fromkeys(asked))
        folders = self.server.folders_of(names)
        if not names:
            self._refuse(HTTPStatus.BAD_REQUEST, "No run was ticked. Go back and tick one or more.")
        elif len(names) > MOST_COMPARED:
            self._refuse(HTTPStatus.BAD_REQUEST, f"At most {MOST_COMPARED} runs fit one report.")
        elif len(folders) < len(names):
            why = f"There is no such run. {self.server.address} lists those that there are."
            self._refuse(HTTPStatus.NOT_FOUND, why)
        else:
            self._made(folders)

    def _made(self, folders: Sequence[Path]) -> None:
        try:
            page = self.server.report_page(folders)
        except (ContextPullError, OSError) as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        else:
            self._answer(HTTPStatus.OK, page)

    def _answer(self, status: HTTPStatus, page: "Page") -> None:
        policy = f"{page.policy}; frame-ancestors 'none'"
        self._send(status, "text/html; charset=utf-8", page.html, policy)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{why}\n", "default-src 'none'")

    def _send(self, status: HTTPStatus, kind: str, text: str, policy: str) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        headers = {**_HEADERS, "Content-Security-Policy": policy, "Content-Type": kind}
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
