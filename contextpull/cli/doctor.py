"""`contextpull doctor`."""

import json
import platform
from pathlib import Path
from typing import Any

import click

from contextpull import __version__
from contextpull.cli.options import json_option, store_option
from contextpull.errors import StoreError

_CORE = ("mcp", "tantivy", "google-re2", "pyromark", "pydantic", "pathspec", "filelock")
_EXTRAS = {
    "eval": ("numpy",),
    "onnx": ("faiss-cpu", "numpy", "onnxruntime", "tokenizers"),
    "dense": ("faiss-cpu", "numpy", "sentence-transformers"),
    "endpoint": ("faiss-cpu", "numpy", "openai"),
}


@click.command("doctor")
@store_option
@json_option
@click.pass_context
def doctor_command(context: click.Context, store: Path, as_json: bool) -> None:
    """Show what is installed, what the store holds, and what is behind.

    Exit code: 0 when the store is sound and up to date, 1 when it is not, 2 for an error.
    """
    report: dict[str, Any] = {
        "contextpull": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _CORE},
        "extras": {
            extra: all(_version(name) for name in names) for extra, names in _EXTRAS.items()
        },
        **_store_report(store),
    }
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(report)))
    context.exit(0 if report["is_current"] else 1)


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _store_report(store: Path) -> dict[str, Any]:
    from contextpull.store.checking import store_state

    try:
        state = store_state(store)
    except StoreError as error:
        return {"store": None, "problem": str(error), "is_current": False}
    return {"store": state._asdict(), "problem": "", "is_current": state.is_current}


def _lines(report: dict[str, Any]) -> list[str]:
    packages = ", ".join(
        f"{name} {found or 'MISSING'}" for name, found in report["packages"].items()
    )
    extras = ", ".join(
        f"{name} {'installed' if found else f'not installed (pip install contextpull[{name}])'}"
        for name, found in report["extras"].items()
    )
    lines = [
        f"contextpull  {report['contextpull']} on Python {report['python']}",
        f"packages     {packages}",
        f"extras       {extras}",
    ]
    store = report["store"]
    if store is None:
        return [*lines, f"store        {report['problem']}"]
    lines += [
        f"store        {store['path']}, generation {store['generation']},"
        f" {store['bytes_on_disk'] / 1e6:.1f} MB",
        f"corpus       {store['root']}",
        f"holds        {store['documents']:,} documents, {store['sections']:,} sections,"
        f" {store['chars']:,} characters; {store['left_out']:,} files left out",
        f"cut with     {', '.join(f'{name} {value}' for name, value in store['settings'].items())}",
    ]
    if store["embedder"]:
        lines.append(f"vectors      {store['vectors']:,} of {store['embedder']}")
    lines += [f"problem      {problem}" for problem in store["problems"]]
    if store["new"] or store["changed"] or store["gone"]:
        lines.append(
            f"behind       {store['new']:,} new, {store['changed']:,} changed,"
            f" {store['gone']:,} gone: run contextpull ingest {store['root']}"
        )
    if report["is_current"]:
        lines.append("state        sound and up to date")
    return lines
