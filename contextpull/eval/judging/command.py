"""A command as a judge: one process an answer and measure, JSON in, JSON out."""

import json
import os
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from contextpull.errors import InvalidInput
from contextpull.eval.judging.items import Item
from contextpull.eval.judging.judges import FAILED, TIMEOUT, JudgeFailed, Verdict, verdict_of_text
from contextpull.eval.judging.prompts import SCHEMA, SYSTEM, prompt_of
from contextpull.models.folders import fingerprint_of

_MOST_BYTES = 1_000_000
"""A verdict is far shorter; what goes beyond is not read."""
_STDERR_CHARS = 300


class CommandJudge:
    """A command that reads an item on standard input and prints `{"score": …, "reason": …}`.

    The item is one JSON object: `measure`, `id`, `row`, `repeat`, `question`, `answer`, `evidence`
    and `evidence_kind` or `reference`, and what a model would be told: `system`, `prompt`,
    `schema`. No shell is involved.
    """

    def __init__(self, command: str, seconds: float) -> None:
        """Raises InvalidInput for a command that is not there."""
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise InvalidInput(f"The command of the judge cannot be read: {error}.") from None
        if not self._command or shutil.which(self._command[0]) is None:
            raise InvalidInput(
                f"The command of the judge is not there: {command!r}. Check the name and its path."
            )
        self._seconds = seconds
        self.name = command
        self.fingerprint = fingerprint_of("command", *self._command, *_digests(self._command))

    def judge(self, item: Item) -> Verdict:
        """Run the command once; at the end of its time it is killed with all that it started."""
        told = {"system": SYSTEM, "prompt": prompt_of(item), "schema": SCHEMA}
        # Files, not pipes: whatever outlives the command could hold a pipe open.
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as complaints:
            given.write(json.dumps({**item.as_dict(), **told}).encode() + b"\n")
            given.seek(0)
            code = self._run(given, out, complaints)
            said, complained = _read(out), _read(complaints).strip()
        if code:
            why = f" It said: {complained[-_STDERR_CHARS:]}" if complained else ""
            raise JudgeFailed(f"The judge ended with the exit code {code}.{why}", FAILED)
        return verdict_of_text(said)

    def _run(self, given: IO[bytes], out: IO[bytes], complaints: IO[bytes]) -> int:
        try:
            process = subprocess.Popen(
                self._command, stdin=given, stdout=out, stderr=complaints, start_new_session=True
            )
        except OSError as error:
            raise JudgeFailed(f"The judge cannot be started: {error}.", FAILED) from error
        try:
            return process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            raise JudgeFailed(
                f"The judge gave no verdict within {self._seconds:g} seconds.", TIMEOUT
            ) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _digests(command: list[str]) -> list[str]:
    """One for each word that names a file: an edited script is another judge."""
    files = [Path(word) for word in command if Path(word).is_file()]
    return [sha256(file.read_bytes()).hexdigest() for file in files]


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read(_MOST_BYTES).decode("utf-8", "replace")
