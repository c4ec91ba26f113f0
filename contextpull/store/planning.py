"""What has to happen to get from the last generation of a store to the corpus as it is."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents.discovery import Discovery, SourceFile
from contextpull.store.parsing import UNKNOWN_SIZE, digest_of, obstacle, settled
from contextpull.store.records import Skipped, StoredDocument


@dataclass(slots=True)
class Plan:
    """What to do with each file; files that are not named are as they were."""

    found: Discovery
    to_parse: list[SourceFile] = field(default_factory=list)
    to_retry: list[tuple[SourceFile, StoredDocument]] = field(default_factory=list)
    """Files that could not be read and look as they did: perhaps they can be read now."""
    to_touch: list[StoredDocument] = field(default_factory=list)
    to_remove: list[StoredDocument] = field(default_factory=list)
    """Documents whose old sections go, whether or not new ones come."""
    gone: list[StoredDocument] = field(default_factory=list)
    """Those of them whose files are no more."""

    @property
    def skipped(self) -> list[Skipped]:
        """Files that no reader is asked for, as the store records them."""
        return [Skipped(each.path, each.reason) for each in self.found.skipped]

    def replace(self, file: SourceFile, before: StoredDocument) -> None:
        """Read a file that the store knows."""
        self.to_parse.append(file)
        self.to_remove.append(before)


def plan_changes(
    found: Discovery,
    documents: Sequence[StoredDocument],
    settings: CutSettings,
    limits: ReadLimits,
    *,
    recut: bool,
    verify: bool,
) -> Plan:
    """Compare what was found with the documents of the last generation.

    `recut` has every file read again, `verify` every content compared and everything tried again
    that could not be read.
    """
    plan = Plan(found)
    known = {document.path: document for document in documents}
    for file in found.files:
        before = known.pop(file.path, None)
        if before is None:
            plan.to_parse.append(file)
        elif recut:
            plan.replace(file, before)
        elif before.size == UNKNOWN_SIZE or (verify and before.problem):
            if obstacle(file, settings.read_as, limits) != before.problem:
                plan.to_retry.append((file, before))
        else:
            _plan_known(plan, file, before, limits, verify)
    plan.gone = list(known.values())
    plan.to_remove += plan.gone
    return plan


def _plan_known(
    plan: Plan, file: SourceFile, before: StoredDocument, limits: ReadLimits, verify: bool
) -> None:
    """Read a file again when its content differs; looked at where size and time cannot tell."""
    if (file.size, file.mtime_ns) == (before.size, before.mtime_ns):
        is_too_large_now = file.size > limits.max_file_bytes and not before.problem
        if is_too_large_now or (verify and digest_of(file) != before.digest):
            plan.replace(file, before)
    elif file.size == before.size and digest_of(file) == before.digest:
        touched = before._replace(mtime_ns=settled(file, time.time_ns()))
        plan.to_touch += [touched] if touched != before else []
    else:
        plan.replace(file, before)
