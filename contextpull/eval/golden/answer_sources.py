"""The texts that an answer was written from: given as they are, or by the names in a store."""

import re

from contextpull.eval.golden.places import Places
from contextpull.store import Snapshot

_NAME = re.compile(r"[!-~]+|\S*\.[A-Za-z]\w{0,7}|\S+#\S+|.*\.[A-Za-z]\w{0,7}#\S+")
"""What is taken for a name though no document has it: it would support nothing as a text."""
_AS_TEXT = "a text that looks like a name is taken as it is when it ends in a line break"


class SourceTexts:
    """Gives the text of a source; without a store only of those that are texts themselves."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._documents = snapshot.documents if snapshot else {}
        self._places = Places(snapshot) if snapshot else None

    def __call__(self, source: str) -> str:
        """The text; a `ValueError` whose text is the fault of a name that leads nowhere."""
        if not source.strip():
            raise ValueError("must not be blank")
        return self._named(source) if self._is_name(source) else source

    def _is_name(self, source: str) -> bool:
        if "\n" in source:
            return False
        path, _, _ = source.rpartition("#")
        return bool(_NAME.fullmatch(source)) or not self._documents.keys().isdisjoint(
            {source, path}
        )

    def _named(self, source: str) -> str:
        if self._places is None:
            raise ValueError(
                f"names {source!r}, and there is no store to read that from: give --store, or "
                f"the text itself ({_AS_TEXT})"
            )
        if fault := self._places.fault(source):
            raise ValueError(f"leads nowhere: {fault} ({_AS_TEXT})")
        place = self._places(source)
        if place.names_unknown_page:
            raise ValueError(
                f"names {source!r}, and the store does not know the pages of that document: name "
                "the section, or the document"
            )
        text = "".join(section.text for section in self._places.sections(place))
        if not text.strip():
            raise ValueError(f"names {source!r}, which holds no text")
        return text
