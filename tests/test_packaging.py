"""What registries and desktop hosts are told of the package."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contextpull import __version__

ROOT = Path(__file__).resolve().parent.parent
ARGUMENT = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"enum": ["positional", "named"]},
        "format": {"enum": ["string", "number", "boolean", "filepath"]},
    },
    "if": {"properties": {"type": {"const": "named"}}},
    "then": {"required": ["name"]},
    "else": {"anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}]},
}
SERVER = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "properties": {
        "$schema": {"pattern": r"/2025-12-11/server\.schema\.json$"},
        "name": {"pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
        "title": {"maxLength": 100},
        "description": {"minLength": 1, "maxLength": 100},
        "version": {"pattern": r"^\d+\.\d+\.\d+"},
        "packages": {
            "minItems": 1,
            "items": {
                "required": ["registryType", "identifier", "version", "transport"],
                "additionalProperties": False,
                "properties": {
                    "registryType": {"const": "pypi"},
                    "identifier": {"type": "string"},
                    "version": {"type": "string", "not": {"const": "latest"}},
                    "runtimeHint": {"const": "uvx"},
                    "transport": {"properties": {"type": {"const": "stdio"}}, "maxProperties": 1},
                    "packageArguments": {"type": "array", "items": ARGUMENT},
                },
            },
        },
    },
    "additionalProperties": False,
}
"""What the registry's schema of 2025-12-11 asks of a server that is a Python package."""


@pytest.fixture
def server() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(ROOT.joinpath("packaging/server.json").read_text())
    return read


def test_the_registry_s_entry_fits_its_schema(server: dict[str, Any]) -> None:
    jsonschema.validate(server, SERVER)


def test_the_registry_s_entry_is_of_this_version(server: dict[str, Any]) -> None:
    (package,) = server["packages"]
    assert server["version"] == package["version"] == __version__


def test_the_registry_s_entry_starts_the_server_over_a_folder(server: dict[str, Any]) -> None:
    serve, folder = server["packages"][0]["packageArguments"]
    assert serve["value"] == "serve"
    assert (folder["valueHint"], folder["format"], folder["isRequired"]) == (
        *("folder", "filepath", True),
    )


def test_the_readme_claims_the_registry_s_name(server: dict[str, Any]) -> None:
    """So the registry knows that the package's owner made the entry."""
    readme = ROOT.joinpath("README.md").read_text(encoding="utf-8")
    assert re.findall(r"<!-- mcp-name: (\S+) -->", readme) == [server["name"]]


def test_the_bundle_asks_for_the_folder_and_nothing_else() -> None:
    manifest = json.loads(ROOT.joinpath("packaging/mcpb/manifest.json").read_text())
    assert list(manifest["user_config"]) == ["folder"]
    assert manifest["user_config"]["folder"]["type"] == "directory"
    assert manifest["server"]["mcp_config"]["args"][-1] == "${user_config.folder}"
    assert (ROOT / "packaging" / "mcpb" / manifest["server"]["entry_point"]).is_file()
