"""The verbs that say which stored documents belong together: pairs and clusters."""

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simdb.clusters import Clusters
from simdb.engine.clusters.find import CONNECTED, as_clusters, check_policy, find_clusters
from simdb.engine.clusters.labels import kept_labels
from simdb.engine.clusters.order import FIRST, places_by_field
from simdb.engine.search import question
from simdb.engine.search.lookup import Asked
from simdb.engine.search.pairs import Pairs, PairStream
from simdb.engine.search.question import Counts, asked_of_kept, is_kept
from simdb.engine.state.documents import known_ordinals
from simdb.engine.state.state import OwnUse, Use
from simdb.engine.state.store import Store
from simdb.engine.state.view import View
from simdb.errors import OptionError
from simdb.plan.question import Criterion
from simdb.plan.rotation import check_rotations
from simdb.storage import layout
from simdb.storage.membership import Membership
from simdb.storage.records.metadata import read_all
from simdb.storage.runs.run import Source
from simdb.values import Id

U32 = npt.NDArray[np.uint32]


class Groupings(Protocol):
    """Verbs over `_enter`, which gives a consistent state for the length of a `with` block."""

    _store: Store

    def _enter(self) -> Use | OwnUse: ...

    def _hold(self) -> Use | OwnUse:
        """The same without the changes of a transaction: the state is not ended meanwhile."""

    def _lasting(self) -> "tuple[Groupings, Callable[[], None] | None]":
        """A state that can be read on from, between verbs, and what ends it; None: its owner."""

    def _counts(self, source: Source) -> Counts: ...

    def find_all(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        rotations: int | None = None,
    ) -> Pairs:
        """Every pair of stored documents that match; see `query` for the criterion.

        The pairs are made while they are read: `chunks()` needs bounded memory, the arrays
        `left`, `right`, `distance` and `similarity` hold them all; `plan` says how they are found.
        method="rotation" sorts all in `rotations` orders, 1 to 64, as many as the recall takes
        where None, and compares neighbours; its plan predicts the share that it misses.
        """
        state, end = self._lasting()
        with state._enter() as (view, source):
            criterion = state._pairs_criterion(
                source, (similarity, distance, recall, method), rotations
            )
            plan = view.plan(criterion, source, is_swept=True)
            stream = PairStream(view, source, criterion, hold=state._hold, end=end)
        return Pairs(stream, plan)

    def find_clusters(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        rotations: int | None = None,
        policy: str = "connected",
        representative: str = "first",
    ) -> Clusters:
        """Groups of two and more documents under the criterion; see `query`.

        `policy` "connected": whatever a chain of matches connects is one cluster.  "star": every
        member matches the representative.  Documents are taken in order: one that no earlier
        representative matches becomes one, any other joins the earliest that matches.

        `representative` "first": the order is that of insertion.  Otherwise the name of a field
        of the metadata: the least number, or text, comes first, documents without one last.  The
        representative of a cluster is its first member in that order.

        Where clusters are kept (`Options.keep_clusters`) and no bound is given, theirs is used; and
        connected ones under it are read, not searched for, unless a method or more recall is asked.

        Equal documents are linked to the first of them and never paired with each other, so a
        cluster of many copies costs no more than their number.  Raises OptionError for a policy
        or a field that there is not, InputError for values that cannot be ordered.
        """
        check_policy(policy)
        check_rotations(method, rotations)
        with self._enter() as (view, source):
            options = self._store.options
            asked = asked_of_kept(options, (similarity, distance, recall, method))
            places = self._places(view, source, representative)
            if policy == CONNECTED and is_kept(options, asked):
                labels = kept_labels(self._membership(source), view.next_ordinal)
                return as_clusters(view, source, labels, places)
            criterion = self._pairs_criterion(source, asked, rotations)
            return find_clusters(view, source, criterion, policy=policy, places=places)

    def cluster(self, id: Id) -> list[Id]:
        """The ids of the kept cluster of a stored document, in the order of insertion.

        The first of them is its representative; a document that no other matches is alone.  It is
        read, not searched for.  By distance it is what `find_clusters` finds; by similarity,
        whatever the searches of the insertions found, each match with the database's `recall`.

        Raises NotFoundError for an unknown id, OptionError for a database that was not created
        with `keep_clusters`.
        """
        if not self._store.options.keeps_clusters:
            raise OptionError(
                f"{self._store.environment.path} keeps no clusters; create a database with"
                " Options(keep_clusters='distance') or 'similarity', or use find_clusters"
            )
        with self._enter() as (view, source):
            (ordinal,) = known_ordinals(view, source, [id])
            members = self._membership(source).members(int(ordinal), view.next_ordinal)
            return list(view.identifiers(source, members).decode(members))

    def _membership(self, source: Source) -> Membership:
        """The kept clusters."""
        return Membership(source)

    def _pairs_criterion(self, source: Source, asked: Asked, rotations: int | None) -> Criterion:
        return question.of_pairs(self._store.options, self._counts(source), asked, rotations)

    def _places(self, view: View, source: Source, representative: str) -> U32 | None:
        """The place of each ordinal in the order for representatives; None: of insertion."""
        if representative == FIRST:
            return None
        entries = self._all_metadata(source)
        return places_by_field(view, source, entries, representative)

    def _all_metadata(self, source: Source) -> Iterator[tuple[int, bytes]]:
        """(ordinal, packed metadata) of every document that has any, deleted or not."""
        return read_all(source.transaction, self._store.environment.subdatabase(layout.METADATA))
