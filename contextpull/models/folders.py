"""A model's folder: which files it holds, and how they say that the model is to be used."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.config import models_folder
from contextpull.errors import ModelUnavailable
from contextpull.models.packs import (
    PACKS,
    Pack,
    check,
    damaged,
    find_pack,
    pack_folder,
    sha256_of,
)
from contextpull.models.specs import Spec

POOLINGS = ("cls", "mean", "last")
"""How this program can make one vector of those of the tokens."""
DEFAULT_MAX_TOKENS = 512
_MOST_TOKENS = 1_000_000
"""Some configurations write a huge number for "no limit"."""
_FEWEST_TOKENS = 8
_RECIPE = "1"
"""Raised whenever this program makes other vectors of the same files."""
_CONFIGURED_LENGTHS = (
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("config.json", "max_position_embeddings"),
)
_POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""The switches of older configurations; newer ones name the pooling."""
_POOLING_NAMES = {"lasttoken": "last"}
_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})
"""Modules that change nothing beyond the pooling: vectors end normalised anyway."""


class ModelFolder(NamedTuple):
    """The files of a model and the settings that they are used with."""

    weights: Path
    tokenizer: Path
    checksum: str
    """Over the weights, with what they keep in files beside them, and the tokenizer."""
    max_tokens: int
    pooling: str = "mean"
    """One of `POOLINGS`, or what the folder asks for instead."""
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever the model's answers to passages would."""
        return fingerprint_of(
            _RECIPE, self.checksum, str(self.max_tokens), self.pooling, self.passage_prefix
        )


def fingerprint_of(*parts: str) -> str:
    """16 hexadecimal digits for these strings, in this order."""
    # JSON keeps the parts apart, whatever they hold.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def read_folder(folder: Path, checksums: Mapping[str, str] | None = None) -> ModelFolder:
    """What a folder with `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json` holds.

    `checksums` are the SHA-256 of files already known, by name: those are not read for it.
    Raises `ModelUnavailable` for a folder without these files, or with settings that cannot be
    read.
    """
    places = (folder / "model.onnx", folder / "onnx" / "model.onnx")
    weights = next((path for path in places if path.is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if weights is None or not tokenizer.is_file():
        raise ModelUnavailable(
            f"{str(folder)!r} is no model's folder: it must hold model.onnx (or onnx/model.onnx)"
            " and tokenizer.json."
        )
    known = checksums or {}
    # Weights over two gigabytes lie beside the model, under its name with an ending.
    files = [tokenizer, *sorted(weights.parent.glob("model.onnx*"))]
    checksum = fingerprint_of(*(known.get(file.name) or sha256_of(file) for file in files))
    query, passage = _prefixes(folder)
    return ModelFolder(
        weights=weights,
        tokenizer=tokenizer,
        checksum=checksum,
        max_tokens=_max_tokens(folder),
        pooling=_pooling(folder),
        query_prefix=query,
        passage_prefix=passage,
    )


def open_spec(spec: Spec, models: Path | None) -> ModelFolder:
    """The folder that a spec of the form `pack` or `folder` names.

    `models` is where packs lie; by default where the command line installs them.
    Raises `ModelUnavailable` for a pack that is not whole, and as `read_folder` does.
    """
    if spec.form == "pack":
        return open_pack(spec.target, models or models_folder(os.environ))
    return read_folder(Path(spec.target))


def open_pack(name: str, models: Path, packs: Iterable[Pack] = PACKS) -> ModelFolder:
    """An installed pack, every file of it checked; `ModelUnavailable` when it is not whole."""
    pack = find_pack(name, packs)
    faults = check(pack, models)
    if faults:
        raise damaged(pack, faults)
    checksums = {file.name: file.sha256 for file in pack.files}
    folder = read_folder(pack_folder(pack, models), checksums)
    return folder._replace(pooling=pack.pooling, query_prefix=pack.query_prefix)


def _max_tokens(folder: Path) -> int:
    """The smallest of the lengths that the configuration names, or the usual one."""
    named = [_json(folder / file).get(key) for file, key in _CONFIGURED_LENGTHS]
    sane = [
        int(each)
        for each in named
        if isinstance(each, int | float) and _FEWEST_TOKENS <= each <= _MOST_TOKENS
    ]
    return min(sane, default=DEFAULT_MAX_TOKENS)


def _pooling(folder: Path) -> str:
    """How token vectors become one: what the folder asks for, supported or not, or their mean."""
    settings = _json(folder / "1_Pooling" / "config.json")
    asked = [name for key, name in _POOLING_KEYS.items() if settings.get(key) is True]
    named = settings.get("pooling_mode") or asked or ["mean"]
    modes = list(named) if isinstance(named, list) else [named]
    if settings.get("include_prompt") is False:
        modes.append("without prompt")
    for module in _list(folder / "modules.json"):
        kind = str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind not in _MODULES:
            modes.append(kind)
    return "+".join(_POOLING_NAMES.get(str(mode), str(mode)) for mode in modes)


def _prefixes(folder: Path) -> tuple[str, str]:
    """What stands before a query and before a passage."""
    settings = _json(folder / "config_sentence_transformers.json")
    prompts = settings.get("prompts")
    if not isinstance(prompts, dict):
        return "", ""
    usual = str(prompts.get(str(settings.get("default_prompt_name"))) or "")
    passage = next((prompts[key] for key in ("document", "passage") if key in prompts), usual)
    return str(prompts.get("query", usual) or ""), str(passage or "")


def _json(path: Path) -> dict[str, Any]:
    """The object in a file of settings; empty where there is no such file."""
    found = _read(path)
    return found if isinstance(found, dict) else {}


def _list(path: Path) -> list[Any]:
    found = _read(path)
    return found if isinstance(found, list) else []


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{str(path)!r} cannot be read: {error}.") from error
