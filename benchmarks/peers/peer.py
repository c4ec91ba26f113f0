"""A peer: what peers.toml says of it, and its driver as a running process."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import environments

HERE = Path(__file__).resolve().parent
LONGEST_BUILD = 300.0
LONGEST_BATCH = 300.0


@dataclass(frozen=True)
class Spec:
    """One entry of peers.toml."""

    name: str
    driver: str
    kind: str
    """`library`, `engine`, `server` or `grep`."""
    ids: str
    """What it answers with: `sections` or `files`."""
    environment: str = ""
    """Where the driver runs; empty for the environment that runs the benchmark."""
    target: str = ""
    """Where the server is that the driver starts; empty where it runs beside the driver."""
    beside: str = ""
    """The peer of ours whose figures its own are divided by; empty for ours."""
    shares: str = ""
    """The peer whose index it opens instead of building the same again."""
    grep: bool = False
    most_files: int = 1_000_000
    """Corpora with more are left out: building would take too long."""
    rounds: int = 9
    """At most so many rounds, where one takes long."""
    options: dict[str, str] = field(default_factory=dict)


class PeerFailed(Exception):
    """The driver did not answer in time, ended, or answered with an error."""


class Peer:
    """A driver that runs; close it when done."""

    def __init__(self, spec: Spec, home: Path) -> None:
        """Start the driver of `spec`; the environments stand under `home`."""
        self.spec = spec
        python = environments.python_of(home / spec.environment) if spec.environment else None
        folder = home / (spec.target or spec.environment)
        target = environments.python_of(folder) if spec.target else Path(sys.executable)
        options = {"folder": str(folder), "python": str(target), **spec.options}
        self._process = subprocess.Popen(
            [
                str(python or sys.executable),
                f"{HERE}/drivers/{spec.driver}.py",
                json.dumps(options),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            text=True,
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, op: str, longest: float, **request: Any) -> dict[str, Any]:
        """One request and its answer. Raises `PeerFailed`; after a time-out the driver is gone."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps({"op": op, **request}) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=longest)
        except queue.Empty:
            self.kill()
            raise PeerFailed(f"no answer in {longest:.0f} s") from None
        except OSError:
            line = ""
        if not line:
            raise PeerFailed("the driver has ended")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise PeerFailed(reply["error"])
        return reply

    def build(self, corpus: Path, sections: Path, folder: Path) -> dict[str, Any]:
        """Build the index; its cost."""
        places = {"corpus": str(corpus), "sections": str(sections), "folder": str(folder)}
        return self.ask("build", LONGEST_BUILD, **places)

    def open(self, corpus: Path, folder: Path) -> None:
        """Take over an index that was built in `folder`."""
        self.ask("open", LONGEST_BATCH, corpus=str(corpus), folder=str(folder))

    def search(self, queries: Sequence[str], k: int, texts: bool = False) -> list[dict[str, Any]]:
        """An answer a query."""
        reply = self.ask("search", LONGEST_BATCH, queries=list(queries), k=k, texts=texts)
        answers: list[dict[str, Any]] = reply["answers"]
        return answers

    def grep(self, patterns: Sequence[str], regex: bool) -> list[dict[str, Any]]:
        """An answer a pattern."""
        reply = self.ask("grep", LONGEST_BATCH, patterns=list(patterns), regex=regex)
        answers: list[dict[str, Any]] = reply["answers"]
        return answers

    def close(self) -> None:
        """Let the driver end by itself; end it where it does not."""
        if self._process.poll() is None:
            assert self._process.stdin
            try:
                self._process.stdin.close()
                self._process.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                self.kill()

    def kill(self) -> None:
        """End the driver and whatever it has started; they share a session of their own."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")


@contextmanager
def running(specs: Sequence[Spec], home: Path) -> Iterator[dict[str, Peer]]:
    """A driver each, by name."""
    peers: dict[str, Peer] = {}
    try:
        for spec in specs:
            peers[spec.name] = Peer(spec, home)
        yield peers
    finally:
        for peer in peers.values():
            peer.close()


def load() -> tuple[list[Spec], dict[str, dict[str, Any]]]:
    """The peers in their order, and the environments by name."""
    record = tomllib.loads((HERE / "peers.toml").read_text())
    return [Spec(**each) for each in record["peers"]], record["environments"]
