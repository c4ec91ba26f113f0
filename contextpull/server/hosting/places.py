"""Which folder is served, and from which store, where nobody says so."""

import os
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from contextpull.errors import InvalidInput, StoreDamaged, StoreError, StoreNotFound
from contextpull.store.database import FILE, Database


class Served(NamedTuple):
    """What a server serves."""

    folder: Path | None
    """The corpus; None for a store by itself."""
    store: Path
    corpora: tuple[str, ...] = ()
    """The names of those that such a store is kept up with; none to serve it as it is."""


def served(folder: Path | None, store: Path | None, default: Path, cache: Path) -> Served:
    """What is meant by a folder of documents, or one that is a store, and by a store's place.

    Each may be left out: `default` is the usual place of a store, and `cache` has room for more.
    Raises InvalidInput where no folder is named and there is none to be served unasked.
    """
    here = store or default
    if folder is None and is_store(here):
        return _remembered(here)
    folder = folder or _this_folder()
    if is_store(folder):
        return Served(None, folder)
    return Served(folder, store or store_for(folder, default, cache))


def is_store(folder: Path) -> bool:
    """Whether this folder is a store, not a corpus."""
    return (folder / FILE).is_file()


def _remembered(store: Path) -> Served:
    """What a store was read from; the store by itself if that folder is gone."""
    from contextpull.store.corpora import folder_of

    corpora = Database(store / FILE).corpora
    if names := tuple(corpus.name for corpus in corpora if corpus.name):
        return Served(None, store, names)
    folders = [each for each in map(folder_of, corpora) if each.is_absolute() and each.is_dir()]
    return Served(folders[0] if folders else None, store)


def _this_folder() -> Path:
    """The folder that we are in.

    Raises InvalidInput where this is the user's home or the root of the file system, which are
    read only by name: hosts start servers there.
    """
    here = Path.cwd()
    if here in {Path.home(), Path(here.anchor)}:
        raise InvalidInput(
            f"Name the folder of documents, as in contextpull serve ~/docs. All of {str(here)!r}"
            " is read only if it is named."
        )
    return Path()


def store_for(root: Path, default: Path, cache: Path) -> Path:
    """`default`, unless it holds another corpus or cannot be made: then a store in the cache.

    Hosts start servers in folders of their own choice, several in the same.
    """
    from contextpull.store.corpora import Source

    resolved = root.resolve()
    try:
        if Source("", root).record in Database(default / FILE).corpora:
            return default
    except (StoreNotFound, StoreDamaged):
        place = default if default.exists() else default.parent
        if os.access(place, os.W_OK):
            return default
    except StoreError:
        pass  # a newer program's store is left to it
    name = blake2b(os.fsencode(resolved), digest_size=6).hexdigest()
    return cache / f"{resolved.name or 'root'}-{name}"
