"""Staged changes: what a state needs to know of the changes of a write transaction."""

from typing import Protocol

from simdb.engine.state.staged_metadata import StagedMetadata
from simdb.engine.state.staged_passages import StagedPassages
from simdb.engine.state.staged_times import StagedTimes
from simdb.storage.membership import Membership
from simdb.storage.records.manifest import PassageInfo


class Counts(Protocol):
    """Numbers of live documents: of all, without features, without weights."""

    @property
    def document_count(self) -> int: ...  # noqa: D102

    @property
    def empty_count(self) -> int: ...  # noqa: D102

    @property
    def bare_count(self) -> int: ...  # noqa: D102


class Known(Counts, Protocol):
    """The same numbers, and the rows of the stored passage runs."""

    @property
    def passages(self) -> tuple[PassageInfo, ...]: ...  # noqa: D102


class Staged(Protocol):
    """The staged changes that a view does not have: clusters, metadata, times, notes."""

    def membership(self) -> Membership | None:
        """Return the maintained clusters with all staged changes; None if there are none."""

    def metadata(self) -> StagedMetadata:
        """Return the staged changes of metadata."""

    def times(self) -> StagedTimes | None:
        """Return the staged times; None if the database keeps none."""

    def staged_passages(self) -> StagedPassages | None:
        """Return the grains of new documents; None if the database has no passages."""

    def note(self, key: bytes) -> tuple[bytes | None] | None:
        """Return the packed content of a staged note; (None,) if it is removed, None otherwise."""
