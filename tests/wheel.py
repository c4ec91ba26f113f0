"""Build the wheel, install it into a fresh environment, and use it from outside the checkout.

From the repository root Python imports the working copy; only this sees what users get.
"""

import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
SERVED = ("test_server.py", "test_stdio.py", "test_resources.py", "test_http_gate.py")
"""Of the server's tests those that show whether it works at all without any extra."""


def main() -> None:
    """Fail loudly on the first thing that does not work."""
    with TemporaryDirectory(prefix="contextpull-wheel-") as folder:
        outside = Path(folder)
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(outside / "dist")]
        run(*build, str(ROOT), quiet=True)
        (wheel,) = (outside / "dist").glob("*.whl")
        venv.create(outside / "venv", with_pip=True)
        python = outside / "venv" / "bin" / "python"
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run(*pip, str(wheel), cwd=outside)
        command = str(outside / "venv" / "bin" / "contextpull")
        docs = outside / "docs"
        docs.mkdir()
        (docs / "a.md").write_text("# Cache\n\nClear it with `tool clean`, as often as needed.\n")
        run(command, "ingest", str(docs), cwd=outside)
        found = run(command, "search", "clear the cache", cwd=outside)
        assert "a.md#cache" in found, found
        schema = run(command, "golden", "check", "--schema", cwd=outside)
        assert "expected" in schema, schema
        page = "import contextpull as c, pathlib as p; print(*p.Path(c.__path__[0]).rglob('*.css'))"
        assert "report.css" in run(str(python), "-c", page, cwd=outside), (
            "the report's page is not there"
        )
        missing = "from contextpull.eval.statistics import require_numpy; require_numpy()"
        refused = subprocess.run(
            [str(python), "-c", missing], cwd=outside, capture_output=True, text=True, check=False
        )
        assert "pip install 'contextpull[eval]'" in refused.stderr, refused.stderr
        run(*pip, "pytest", "jsonschema", "hypothesis", cwd=outside)
        for source in (*(ROOT / "tests").glob("*.py"), ROOT / "tests/server", ROOT / "tests/store"):
            run("cp", "-r", str(source), str(into(outside / "tests") / source.name), quiet=True)
        run(
            str(python),
            "-m",
            "pytest",
            "-q",
            *(f"tests/server/{name}" for name in SERVED),
            cwd=outside,
        )
    print("wheel: built, installed and used from outside the checkout")


def into(folder: Path) -> Path:
    """The folder, made if need be."""
    folder.mkdir(exist_ok=True)
    return folder


def run(*command: str, cwd: Path = ROOT, quiet: bool = False) -> str:
    """Run a command, show what it printed when it fails, and return that."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    if not quiet:
        print(f"$ {' '.join(command[:6])}", flush=True)
    return done.stdout


if __name__ == "__main__":
    main()
