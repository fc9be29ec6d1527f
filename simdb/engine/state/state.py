"""A use: one verb in progress on a consistent state.

A verb of a database has a state of its own, and leaves it at its end.  Verbs of a snapshot or a
write transaction share one state, through a gate of that: while one of them is inside, the state
is not ended under it.
"""

from types import TracebackType

from simdb.engine.state.view import View
from simdb.storage.environment.gate import Gate, Holder
from simdb.storage.runs.run import Source


class Use:
    """The view and the source of a state, for a `with` statement."""

    __slots__ = ("_gate", "_holder", "_source", "_view")

    def __init__(self, view: View, source: Source, gate: Gate, holder: Holder) -> None:
        """`holder` is inside of the `gate` of the state."""
        self._view = view
        self._source = source
        self._gate = gate
        self._holder = holder

    def __enter__(self) -> tuple[View, Source]:
        """What to read: nothing of it may be used afterwards."""
        return self._view, self._source

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the state."""
        self._gate.leave(self._holder)


class OwnUse(Source):
    """A use of a state of its own: the source, which ends with it, and its view."""

    __slots__ = ("view",)

    view: View  # set by who begins it

    def __enter__(self) -> tuple[View, Source]:
        """What to read: nothing of it may be used afterwards."""
        return self.view, self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the state."""
        self.end()
