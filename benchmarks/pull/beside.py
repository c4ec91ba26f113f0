"""What ragbisect prints of a published run: its own rows, and each of ours by its measures.

    python benchmarks/pull/beside.py RUN --store STORE --ragbisect COMMAND > RUN/ragbisect.txt

STORE holds the corpus that the run was over; COMMAND is ragbisect 0.2.0's, in an environment of
its own. No model is asked: ragbisect gets the rankings that the run kept, those of the first run of
a question that was asked repeatedly.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ADAPTER = Path(__file__).resolve().with_name("kept.py")


def main() -> None:
    """Print one table after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--ragbisect", required=True)
    arguments = parser.parse_args()
    run = arguments.run.resolve()
    rows = json.loads((run / "report.json").read_bytes())["rows"]
    with TemporaryDirectory(prefix="contextpull-beside-") as folder:
        work = Path(folder)
        sections = work / "sections.jsonl"
        _export(arguments.store.resolve(), sections)
        asked = [arguments.ragbisect, "run", "--corpus", sections]
        asked += ["--questions", run / "questions.jsonl"]
        _show("ragbisect's own rows", asked, work)
        for row in rows:
            adapted = [*asked, "--adapter", f"{ADAPTER}:Kept", "--no-baselines"]
            _show(f"our row: {row['row']}", adapted, work, RUN=str(run), ROW=row["row"])


def _export(store: Path, sections: Path) -> None:
    command = [sys.executable, "-m", "contextpull", "export-chunks", "--store", store]
    subprocess.run([*command, "--output", sections], check=True, stdout=subprocess.DEVNULL)


def _show(title: str, command: Sequence[str | Path], work: Path, **environment: str) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=work,
        env={"PATH": os.defpath, "HOME": str(work), "LANG": "C.UTF-8", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{title}: {done.stdout}{done.stderr}")
    printed = done.stdout.replace(str(work), "WORK").rstrip()
    print(f"## {title}\n\n{printed}\n", flush=True)


if __name__ == "__main__":
    main()
