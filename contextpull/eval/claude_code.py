"""Claude Code as the agent: headless, with our server attached as a user would attach it.

Each question is one process of `claude -p` in an empty folder, with a home and settings of its own,
an environment that holds only what is passed on, and no tools but ours: it cannot look into the
corpus past the server, nor learn from the question before.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Literal, NamedTuple, get_args

from contextpull import __version__
from contextpull.config import Snippets
from contextpull.errors import EvaluationError, InvalidInput, ModelUnavailable
from contextpull.eval.behaviour import behaviour
from contextpull.eval.measures import check_cutoff
from contextpull.eval.stream import SERVER, Recording, parse_stream
from contextpull.eval.talks import STRICT
from contextpull.eval.tool_calls import cited_sections, tools_fingerprint
from contextpull.eval.transcripts import Transcript
from contextpull.models.folders import fingerprint_of
from contextpull.store import Store, open_store
from contextpull.tools import DISCIPLINE
from contextpull.types import Question

NOT_STARTED = "not_started"
"""The outcome of a run that printed nothing of a recording."""

APPENDIX = f"""\
Questions are about a folder of documents, which the tools of the server {SERVER} read. \
You have no other tools, and what you know from elsewhere is no evidence.

{DISCIPLINE}

Do not ask back. End with the answer alone, with the ids of the sections that it rests on."""
"""What is appended to Claude Code's own system prompt."""

_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "5",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "ENABLE_TOOL_SEARCH": "false",
}
_RECIPE = "claude code 1"
"""Goes up when the same settings come to mean another run."""
_GRACE = 5.0
"""Seconds between the request to end and the end."""
_STDERR_CHARS = 500
_COMMAND_MARKS = ("-", "/", "!", "#", "@")
"""A prompt that begins with one of these is an option or a command."""


class ClaudeCodeRetriever:
    """What Claude Code reads when it is asked a question; one process a question."""

    def __init__(
        self,
        store: Store | str | os.PathLike[str],
        *,
        model: str | None = None,
        claude: str | Sequence[str] = "claude",
        max_turns: int = 8,
        strict: bool = False,
        snippets: Snippets = "short",
        k: int = 5,
        timeout: float = 300.0,
        max_usd: float | None = None,
        failures: Literal["raise", "miss"] = "raise",
        env: Mapping[str, str] | None = None,
        serve_options: Sequence[str] = (),
        serve_env: Mapping[str, str] | None = None,
        concurrency: int = 3,
    ) -> None:
        """Ask about the sections of a store.

        `model` is Claude Code's own choice unless given. `max_turns` counts answers of the model,
        `timeout` seconds, and `max_usd` dollars, each for one question. `strict` forbids answers
        from what is not read. `env` is all that Claude Code gets of the environment beside what
        isolates it: a key goes in here. `serve_options` and `serve_env` go to `contextpull serve`.
        A question without an answer raises in `retrieve`, or with `failures="miss"` has no ids:
        for harnesses that leave out of the mean what raises. Raises InvalidInput.
        """
        check_cutoff(k)
        if max_turns < 1 or timeout <= 0 or concurrency < 1:
            raise InvalidInput("max_turns, timeout and concurrency must be above 0.")
        if snippets not in get_args(Snippets) or failures not in {"raise", "miss"}:
            raise InvalidInput("snippets is heading, short or full; failures is raise or miss.")
        self.concurrency = concurrency
        self._given_store = store
        self._model = model
        self._claude = (claude,) if isinstance(claude, str) else tuple(claude)
        self._max_turns = max_turns
        self._strict = strict
        self._snippets: Snippets = snippets
        self._k = k
        self._timeout = timeout
        self._max_usd = max_usd
        self._failures = failures
        self._env = dict(env or {})
        self._serve_options = tuple(serve_options)
        self._serve_env = dict(serve_env or {})
        self._lock = threading.Lock()
        self._runs: list[Transcript] = []
        self._dollars: list[float | None] = []
        self._kept: dict[str, Transcript] = {}

    @property
    def row_name(self) -> str:
        """`claude-code` or `claude-code-strict`, with `/heading` or `/full` where hits differ."""
        name = "claude-code" + ("-strict" if self._strict else "")
        return name if self._snippets == "short" else f"{name}/{self._snippets}"

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with `settings`."""
        return fingerprint_of(json.dumps(self.settings(), sort_keys=True))

    def settings(self) -> dict[str, Any]:
        """What changes an answer, for a record; the version of Claude Code is not among it."""
        return {
            "agent": _RECIPE,
            "contextpull": __version__,
            "model": self._model,
            "prompt": fingerprint_of(self._appendix),
            "tools": tools_fingerprint(),
            "strict": self._strict,
            "snippets": self._snippets,
            "serve": list(self._serve_options),
            "max_turns": self._max_turns,
            "max_usd": self._max_usd,
            "timeout": self._timeout,
        }

    def retrieve(self, query: str, k: int | None = None) -> list[str]:
        """The ids of the first k sections that were read, in that order."""
        k = self._k if k is None else k
        check_cutoff(k)
        transcript = self._once(query)
        if transcript.is_ok:
            return list(transcript.ids_read[:k])
        if self._failures == "miss":
            return []
        raise EvaluationError(f"{transcript.outcome}: {' '.join(transcript.errors)}")

    def generate(self, query: str, chunk_ids: object = None) -> str:  # noqa: ARG002 - as ragbisect calls it
        """The answer of the run that `retrieve` tells of; nothing where there is none."""
        return self._once(query).answer

    def stats(self) -> dict[str, Any]:
        """What all runs so far did; see `behaviour`. `usd` is absent where one has no price."""
        with self._lock:
            runs, dollars = tuple(self._runs), tuple(self._dollars)
        priced = [each for each in dollars if each is not None]
        usd = {"usd": sum(priced)} if len(priced) == len(runs) else {}
        return {**behaviour(runs), **usd}

    def run(self, question: Question | str) -> Transcript:
        """Ask one question; what fails becomes the outcome of the transcript.

        Raises ModelUnavailable when Claude Code is not there, and StoreError when there is no store
        to read: no question could be asked then.
        """
        asked = question if isinstance(question, Question) else Question("", question, "", ())
        snapshot = self._store.snapshot()  # what is wrong with it is said before it costs anything
        started = perf_counter()
        with TemporaryDirectory(prefix="contextpull-claude-", ignore_cleanup_errors=True) as folder:
            done = self._ask(asked.text, Path(folder))
        seconds = perf_counter() - started
        recording = _recording(done, self._timeout)
        transcript = recording.transcript(asked.id, asked.text).model_copy(
            update={
                "cited": cited_sections(recording.answer, snapshot),
                "seconds": max(0.0, seconds - recording.waited),
            }
        )
        with self._lock:
            self._runs.append(transcript)
            self._dollars.append(recording.dollars)
        return transcript

    @property
    def _appendix(self) -> str:
        return f"{APPENDIX}\n\n{STRICT}" if self._strict else APPENDIX

    @cached_property
    def _store(self) -> Store:
        given = self._given_store
        return given if isinstance(given, Store) else open_store(Path(given))

    def _once(self, query: str) -> Transcript:
        """The run for a query, which is made when it is first asked for; what failed is no run."""
        with self._lock:
            kept = self._kept.get(query)
        if kept is not None:
            return kept
        transcript = self.run(query)
        if transcript.is_ok:
            with self._lock:
                self._kept[query] = transcript
        return transcript

    def _ask(self, text: str, folder: Path) -> "_Done":
        for name in ("home", "work"):
            (folder / name).mkdir()
        config = folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {SERVER: self._server()}}), "utf-8")
        command = [*self._found_claude, "-p", _prompt(text), *self._options(config)]
        environment = {
            "PATH": os.pathsep.join((str(Path(command[0]).parent), os.defpath)),
            "HOME": str(folder / "home"),
            "CLAUDE_CONFIG_DIR": str(folder / "home" / ".claude"),
            **_ENVIRONMENT,
            **self._env,
        }
        return _run(command, folder / "work", environment, self._timeout)

    @cached_property
    def _found_claude(self) -> tuple[str, ...]:
        found = shutil.which(self._claude[0])
        if found is None:
            raise ModelUnavailable(
                f"Claude Code is not there: no command {self._claude[0]!r}."
                " Install it with: npm install -g @anthropic-ai/claude-code"
            )
        return (os.path.abspath(found), *self._claude[1:])  # noqa: PTH100 - links stay links

    def _server(self) -> dict[str, object]:
        """The server as a user would write it down; it keeps the user's home, where models are."""
        package = Path(__file__).resolve().parents[2]
        arguments = ["-m", "contextpull", "serve", str(self._store.path.resolve())]
        return {
            "command": sys.executable,
            "args": [*arguments, "--snippets", self._snippets, *self._serve_options],
            "env": {"HOME": str(Path.home()), "PYTHONPATH": str(package), **self._serve_env},
        }

    def _options(self, config: Path) -> list[str]:
        """Those that take any number of values stand before another option."""
        options = ["--output-format", "stream-json", "--verbose", "--no-session-persistence"]
        options += ["--mcp-config", str(config), "--strict-mcp-config"]
        options += ["--tools", "", "--allowedTools", f"mcp__{SERVER}", "--setting-sources", ""]
        options += ["--append-system-prompt", self._appendix, "--max-turns", str(self._max_turns)]
        if self._max_usd is not None:
            options += ["--max-budget-usd", str(self._max_usd)]
        return options if self._model is None else [*options, "--model", self._model]


class _Done(NamedTuple):
    """What a process left behind."""

    stdout: str
    stderr: str
    code: int
    """As the shell has it; negative for a signal."""
    was_stopped: bool


def _prompt(text: str) -> str:
    text = text.replace("\0", " ")
    return f"Question: {text}" if text.lstrip().startswith(_COMMAND_MARKS) else text


def _run(command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float) -> _Done:
    """Run a command to its end, or stop it and all that it started."""
    out, err = folder.parent / "stdout", folder.parent / "stderr"
    # Into files: whatever outlives the command could hold a pipe open.
    with out.open("wb") as stdout, err.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise ModelUnavailable(f"{command[0]!r} cannot be started: {error}.") from error
        # A process that ends without waiting for this thread takes Claude Code with it.
        at_exit = weakref.finalize(process, _signal, process.pid, signal.SIGKILL)
        was_stopped = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            was_stopped = True
        finally:
            if process.returncode is None:
                _stop(process)
            at_exit.detach()
    said, complained = (path.read_bytes().decode("utf-8", "replace") for path in (out, err))
    return _Done(said, complained, process.returncode, was_stopped)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its whole group: first by asking, so that the server ends, too."""
    for wish in (signal.SIGTERM, signal.SIGKILL):
        _signal(process.pid, wish)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)


def _signal(group: int, wish: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, wish)


def _recording(done: _Done, timeout: float) -> Recording:
    """What was printed, with what went wrong outside of it."""
    try:
        found = parse_stream(done.stdout.split("\n"), SERVER)
    except EvaluationError:
        outcome = "killed" if done.was_stopped else NOT_STARTED
        found = Recording(outcome=outcome)
    errors = list(found.errors)
    if done.was_stopped:
        errors.append(f"It was stopped after {timeout:g} seconds.")
    if done.code and not done.was_stopped:
        errors.append(f"Claude Code ended with the exit code {done.code}.")
    said = done.stderr.strip() or (done.stdout.strip() if found.outcome == NOT_STARTED else "")
    if said and found.outcome != "ok":
        errors.append(f"It said: {said[-_STDERR_CHARS:]}")
    return found.model_copy(update={"errors": tuple(errors)})
