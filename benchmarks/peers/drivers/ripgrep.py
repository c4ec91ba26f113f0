"""ripgrep: its whole process for every pattern, as an agent's shell starts it."""

import subprocess
from pathlib import Path

from protocol import Driver, cpu_of_children, serve


class Ripgrep(Driver):
    """Reads the files themselves; nothing to build."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """Remembers where to look."""
        self.corpus = corpus

    def grep(self, pattern: str, regex: bool) -> int:
        """Counts every matching line of every file."""
        command = ["rg", "--count", "--no-filename", "--ignore-case"]
        command += ["--regexp", pattern] if regex else ["--fixed-strings", "--regexp", pattern]
        done = subprocess.run(
            [*command, str(self.corpus)], capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr)
        return sum(map(int, done.stdout.split()))

    def cpu_s(self) -> float:
        """The processes', not the driver's."""
        return cpu_of_children()


if __name__ == "__main__":
    serve(Ripgrep())
