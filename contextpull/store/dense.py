"""The dense index: the vectors of sections, by section number. Derived from the database.

Few vectors are compared one by one. Many are sorted into lists around centroids (IVF: Sivic and
Zisserman, ICCV 2003), and a query looks into those lists whose centroids are closest to it.
The file is mapped into memory, so that opening costs nothing and processes share it.
"""

import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from contextpull.errors import MissingExtra, StoreError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

FOLDER = "dense"
FLAT_UP_TO = 16_384
"""Up to so many vectors all are compared, in under 5 ms; above, only those of the closest lists."""

_MANIFEST = "manifest.json"
_INDEX = "index.faiss"
_FORMAT = 1
_PROBED_SHARE = 0.15
_MOST_COMPARED = 32_000
"""A query looks into this share of the lists, or into as many as hold so many vectors.

benchmarks/retrieval has what that finds of the true neighbours.
"""
_TRAINED_WITH = 40
"""Vectors for each centroid to be found by; more change little."""
_ROUNDS = 10
"""Of k-means; what more find cannot be measured."""
_GROWN_TOO_FAR = 2
"""When the vectors have become so many times more than at first, the centroids are found anew."""


class Near(NamedTuple):
    """A section by number, with the cosine of its vector and the query's."""

    number: int
    cosine: float


class Manifest(NamedTuple):
    """What a dense index was made of."""

    format: int
    model: str
    """The embedder's name, which opens it again."""
    fingerprint: str
    """The embedder's fingerprint: only its own queries can be compared with these vectors."""
    numbering: str
    """The numbering of sections in the database that this belongs to."""
    generation: int
    vectors: int
    trained_on: int
    """How many vectors there were when the centroids were found; 0 where all are compared."""


class DenseIndex:
    """The vectors of one generation, for any number of searches."""

    def __init__(self, folder: Path, within: Sequence[range] | None = None) -> None:
        """Open the newest index in a store's folder `dense`.

        `within` are the only sections, by number, that any search finds.
        Raises StoreError when there is none that this program can read, MissingExtra without faiss.
        """
        self._within = within
        found = _newest(folder)
        try:
            self._open(*found)
        except StoreError:
            # A writer may have put another in its place since; what stays is no better now.
            if (newer := _newest(folder)) == found:
                raise
            self._open(*newer)

    def _open(self, place: Path, manifest: Manifest) -> None:
        self._index = _read(place, manifest, _faiss().IO_FLAG_MMAP_IFC)
        self.folder, self.manifest = place, manifest

    def search(
        self,
        vector: "NDArray[float32]",
        limit: int,
        within: Iterable[range] | None = None,
        *,
        exact: bool = False,
    ) -> list[Near]:
        """The `limit` sections whose vectors are closest to a vector of length 1, closest first.

        Nothing is close to a vector of zeros.
        `within` restricts the search to sections by number. `exact` compares with every vector.
        Raises StoreError when the vector has another number of dimensions.
        """
        if vector.shape != (self._index.d,):
            raise StoreError(
                f"The query has {vector.size} dimensions, the sections {self._index.d}: they come"
                " from different models. Ingest again with --embedder."
            )
        if not vector.any():
            return []
        within = self._within if within is None else within
        faiss = _faiss()
        faiss.omp_set_num_threads(1)  # one query is too little work to share; this thread only
        selector = None if within is None else faiss.IDSelectorBitmap(_bitmap(within))
        found = self._index.search(
            vector.reshape(1, -1),
            min(limit, self.manifest.vectors),
            params=self._parameters(selector, every_list=exact or selector is not None),
        )
        return [
            Near(int(number), float(cosine))
            for cosine, number in zip(found[0][0], found[1][0], strict=True)
            if number >= 0
        ]

    def vector(self, number: int) -> "NDArray[float32]":
        """The vector of a section, of length 1.

        Raises StoreError when the section has none here.
        """
        if self.manifest.trained_on:
            self._index.set_direct_map_type(_faiss().DirectMap.Hashtable)  # once; then it is kept
        try:
            vector: NDArray[float32] = self._index.reconstruct(number)
        except RuntimeError as error:
            raise StoreError(f"The section {number} has no vector.") from error
        return vector

    def _parameters(self, selector: Any, *, every_list: bool) -> Any:
        faiss = _faiss()
        if not self.manifest.trained_on:
            return faiss.SearchParameters(sel=selector)
        lists = self._index.nlist
        share = min(_PROBED_SHARE, _MOST_COMPARED / self.manifest.vectors)
        probed = lists if every_list else math.ceil(lists * share)
        return faiss.SearchParametersIVF(sel=selector, nprobe=probed)


class DenseWriter:
    """The next dense index in the making, on the ground of the newest one where that serves.

    Only `commit` writes, and only it needs the writer's lock.
    """

    def __init__(self, folder: Path, wanted: Sequence[int], made_of: Manifest) -> None:
        """Prepare vectors for the sections `wanted`, by number, with what `made_of` tells.

        Its `vectors` and `trained_on` are set here. Raises MissingExtra without faiss.
        """
        _faiss()  # before anything is done in vain
        self._folder = folder
        self._manifest = made_of
        self._index: Any = None
        self._trained_on = 0
        self._same: Path | None = None
        """Where the index lies already, if it needs no change."""
        self.sections = len(wanted)
        """How many sections the index is to hold."""
        kept = self._take_over(set(wanted))
        self.missing = [number for number in wanted if number not in kept]
        """The numbers of the sections that still need a vector, in the order of `wanted`."""

    def _take_over(self, wanted: set[int]) -> set[int]:
        """Begin with the vectors of the newest index that are still wanted; their numbers."""
        try:
            place, before = _newest(self._folder)
            if not _continues(before, self._manifest) or _must_start_afresh(before, len(wanted)):
                return set()
            index = _read(place, before)
        except StoreError:
            return set()
        had = set(_numbers(index))
        self._index, self._trained_on = index, before.trained_on
        if had == wanted and before.generation == self._manifest.generation:
            self._same = place
        self._remove(had - wanted)
        return had & wanted

    def _remove(self, numbers: set[int]) -> None:
        import numpy as np

        if numbers:
            self._index.remove_ids(np.fromiter(numbers, dtype=np.int64, count=len(numbers)))

    @property
    def is_afresh(self) -> bool:
        """Whether `train` must be called before `add`."""
        return self._index is None

    @property
    def sample(self) -> Sequence[int]:
        """The numbers of the sections whose vectors `train` is to get: evenly from all."""
        count = len(self.missing)
        if count <= FLAT_UP_TO:
            return self.missing[:1]
        return self.missing[:: max(1, count // (_lists(count) * _TRAINED_WITH))]

    def train(self, sample: "NDArray[float32]") -> None:
        """Begin from nothing, with some of the vectors that will be added, a row each."""
        faiss = _faiss()
        count, dimensions = len(self.missing), sample.shape[1]
        flat = faiss.IndexFlatIP(dimensions)
        if count <= FLAT_UP_TO:
            self._index = faiss.IndexIDMap2(flat)
            return
        metric = faiss.METRIC_INNER_PRODUCT
        self._index = faiss.IndexIVFFlat(flat, dimensions, _lists(count), metric)
        self._index.cp.niter = _ROUNDS
        self._index.cp.min_points_per_centroid = 1  # fewer than it likes are no cause for a warning
        self._index.train(sample)
        self._trained_on = count

    def add(self, numbers: Sequence[int], vectors: "NDArray[float32]") -> None:
        """Add vectors, a row each, of length 1.

        Raises StoreError when they have another number of dimensions than those before.
        """
        import numpy as np

        if vectors.shape[1] != self._index.d:
            raise StoreError(
                f"The model {self._manifest.model!r} gives vectors of {vectors.shape[1]} numbers,"
                f" and gave the store some of {self._index.d}: there is another one behind its name"
                " by now. Ingest with --no-vectors, then with --embedder."
            )
        self._index.add_with_ids(np.ascontiguousarray(vectors), np.array(numbers, dtype=np.int64))

    def commit(self) -> None:
        """Put the index in place of all earlier ones; a reader keeps what it has open."""
        if self._index is None or not self._index.ntotal:  # no section, no vector
            remove_dense(self._folder)
            return
        if self._same and (self._same / _MANIFEST).is_file():
            return
        faiss = _faiss()
        name = f"{self._manifest.fingerprint}-{self._manifest.generation}"
        place = self._folder / f"{name}.{os.getpid()}.new"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        faiss.write_index(self._index, str(place / _INDEX))
        manifest = self._manifest._replace(vectors=self._index.ntotal, trained_on=self._trained_on)
        (place / _MANIFEST).write_text(json.dumps(manifest._asdict()), encoding="utf-8")
        target = self._folder / name
        shutil.rmtree(target, ignore_errors=True)
        place.replace(target)
        for other in self._folder.iterdir():
            if other != target:
                shutil.rmtree(other, ignore_errors=True)


def read_manifest(folder: Path) -> Manifest:
    """What the newest index in a store's folder `dense` was made of; cheap, and without faiss.

    Raises StoreError when there is none that this program can read.
    """
    return _newest(folder)[1]


def remove_dense(folder: Path) -> None:
    """Delete every dense index of a store."""
    shutil.rmtree(folder, ignore_errors=True)


def _newest(folder: Path) -> tuple[Path, Manifest]:
    found = [(manifest.generation, path, manifest) for path, manifest in _manifests(folder)]
    if not found:
        raise StoreError(
            f"There is no dense index at {str(folder)!r}: contextpull ingest makes it."
        )
    _, path, manifest = max(found)
    return path, manifest


def _manifests(folder: Path) -> Iterator[tuple[Path, Manifest]]:
    for path in folder.glob(f"*/{_MANIFEST}"):
        # What is unreadable, half deleted or of another format is as good as absent.
        with suppress(OSError, ValueError, TypeError):
            manifest = Manifest(**json.loads(path.read_bytes()))
            if manifest.format == _FORMAT and path.parent.suffix != ".new":
                yield path.parent, manifest


def new_manifest(model: str, fingerprint: str, numbering: str, generation: int) -> Manifest:
    """What is known of an index before its vectors are there."""
    return Manifest(_FORMAT, model, fingerprint, numbering, generation, 0, 0)


def _read(place: Path, manifest: Manifest, flags: int = 0) -> Any:
    damaged = f"The dense index at {str(place)!r} is damaged: contextpull ingest makes it anew."
    try:
        index = _faiss().read_index(str(place / _INDEX), flags)
    except RuntimeError as error:
        raise StoreError(damaged) from error
    if index.ntotal != manifest.vectors:
        raise StoreError(damaged)
    return index


def _continues(before: Manifest, made_of: Manifest) -> bool:
    """Whether the same numbers mean the same sections in both, with vectors of the same model."""
    return before[1:4] == made_of[1:4]


def _must_start_afresh(before: Manifest, count: int) -> bool:
    if not before.trained_on:
        return count > FLAT_UP_TO
    return count <= FLAT_UP_TO or count > before.trained_on * _GROWN_TOO_FAR


def _lists(count: int) -> int:
    """How many lists for so many vectors: a multiple of the square root, as the engine advises."""
    return int(4 * math.sqrt(count))


def _numbers(index: Any) -> list[int]:
    faiss = _faiss()
    if hasattr(index, "id_map"):
        return list(map(int, faiss.vector_to_array(index.id_map)))
    lists = index.invlists
    return [
        int(number)
        for at in range(index.nlist)
        if lists.list_size(at)
        for number in faiss.rev_swig_ptr(lists.get_ids(at), lists.list_size(at))
    ]


def _bitmap(within: Iterable[range]) -> "NDArray[Any]":
    import numpy as np

    ranges = [each for each in within if each]
    bits = np.zeros(max((each.stop for each in ranges), default=1), dtype=bool)
    for each in ranges:
        bits[each.start : each.stop] = True
    return np.packbits(bits, bitorder="little")


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtra("Searching by vectors", "dense") from error
    return faiss
