"""State: everything that a verb reads, as of one commit or inside one transaction.

A state is a view under a transaction.  The view (`view.py`) is shared by all readers of one commit
and holds the kernel's objects.  The transaction protects the pages that they point into, and
`source` fetches more through it.  A verb uses a state in a `with` block, and nothing of it after.

A query of one fingerprint takes a microsecond or two, so a state makes its source only when
something is fetched: most queries find everything in the view.

A run has a table of the hashes of its ids, unless these are ints.  Different ids can have the same
hash, so the id of each document found in the tables is also compared.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from simdb import storage
from simdb.core import arrays, kernel
from simdb.core.arrow import TextColumn
from simdb.core.bits import ALL_BITS, bitmap
from simdb.core.dtypes import I64, U8, U32, U64, Array, Bools
from simdb.core.errors import CorruptError
from simdb.core.options import Options
from simdb.core.reports import Plan
from simdb.core.scales import SimilarityScale
from simdb.database.state.glimpse import glimpse
from simdb.database.state.staged import Known, Staged
from simdb.database.state.view import KeptPlans, Kind, View
from simdb.plan import (
    AnyPopulation,
    Calibration,
    Criterion,
    Paging,
    Problem,
    choose,
    delays_of,
    wants_glimpse,
)
from simdb.sketch import check_content
from simdb.storage import by_ordinal, layout, metadata as records

if TYPE_CHECKING:
    from simdb.sketch import AnySketcher, ExactSimilarity

Result = TypeVar("Result")
# Sketches, and the criterion by which stored documents match.
Asked = tuple[arrays.Sketches, Criterion]


class Origin(Protocol):
    """The part of a store that its states need."""

    options: Options
    environment: storage.Environment
    takes_bits: bool
    has_similarities: bool

    @property
    def sketcher(self) -> "AnySketcher":
        """The sketcher, which makes sketches of documents."""

    def exact_similarity(self, *, compares_numbers: bool = False) -> "ExactSimilarity":
        """Return a measure of the exact similarity, which sketches only estimate."""

    def field_codes(self, known: Known) -> "storage.FieldCodes":
        """Return the codes of fields in the version of a state."""

    def source_of(self, holder: storage.Holder | None) -> storage.Source:
        """Return a source over the transaction of `holder`, which is None if it has ended."""


class State:
    """A consistent state: a view and the transaction that sees it, for a `with` statement."""

    __slots__ = (
        "_chosen", "_gate", "_holder", "_source", "_staged", "counts", "store", "threads", "view",
    )  # fmt: skip

    def __init__(
        self,
        store: Origin,
        view: View,
        source: storage.Source | None,
        counts: Known,
        holder: storage.Holder | None = None,
        gate: storage.Gate | None = None,
        staged: Staged | None = None,
    ) -> None:
        """`source` sees the runs of `view` and ends with the `with` statement.

        Without a source, the transaction of `holder` sees them, and ends with the statement.  If a
        snapshot or write transaction owns the source, the state only leaves its `gate`, which it
        has entered as `holder`.
        """
        self.store = store
        self.view = view
        self.counts = counts
        # Number of threads for the verb that uses this state.
        self.threads = 1
        # The codes of all documents, and the codes to search for; None to search all documents.
        self._chosen: tuple[U64, U64] | None = None
        self._source = source
        self._holder = holder
        self._gate = gate
        self._staged = staged

    def __enter__(self) -> "State":
        """Return the state itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End the source if the state owns it, or leave the gate of the owner."""
        holder, self._holder = self._holder, None
        if self._gate is None:
            if self._source is None and holder is not None:
                self.store.environment.end(holder)
            else:
                self.source.end()
        elif holder is not None:
            self._gate.leave(holder)

    # A state is a searcher of one state, see `simdb.database.search.searcher`.
    numbers: ClassVar[tuple[int, ...]] = (0,)

    def each(self, function: Callable[["State"], Result]) -> Iterator[tuple[int, Result]]:
        """Yield the result of `function` for this state."""
        yield 0, function(self)

    def every(self, function: Callable[["State"], Result]) -> list[tuple[int, Result]]:
        """Return the result of `function` for this state."""
        return [(0, function(self))]

    def routed(
        self, queries: Asked, function: Callable[["State", I64], Result], *, in_turn: bool = False
    ) -> Iterator[tuple[int, I64, Result]]:
        """Yield the result of `function` for this state and all queries."""
        every = np.arange(len(queries[0]))
        yield 0, every, function(self, every)

    def ask(self, number: int, function: Callable[["State"], Result]) -> Result:
        """Return the result of `function` for this state."""
        return function(self)

    def numbers_of(self, ids: list[Any]) -> I64:
        """Return the number of this state for each id."""
        return np.zeros(len(ids), np.int64)

    @property
    def source(self) -> storage.Source:
        """The read transaction, from which stored values are fetched."""
        source = self._source
        return self._made_source() if source is None else source

    def checked(self, sketches: arrays.Sketches) -> arrays.Sketches:
        """Return the sketches of queries.

        Raises InputError for texts among vectors, and vice versa.
        """
        if self.counts.document_count:
            check_content(self.counts.content, sketches)
        return sketches

    def over(self, view: View) -> "State":
        """Return a state of another view under the same transaction; it ends with this state."""
        other = State(self.store, view, self.source, self.counts, staged=self._staged)
        other.threads, other._chosen = self.threads, self._chosen
        return other

    def choose(self, values: "storage.FieldValues") -> "State":
        """Restrict later searches to documents with these values of fields, if any are given."""
        self._chosen = (self.codes(), self.wanted(values)) if values else None
        return self

    def chosen_of(self, tables: Any) -> Any:
        """Return tables without the documents that are not searched."""
        return tables if self._chosen is None else tables.leaving(self.left_out)

    @property
    def left_out(self) -> storage.LeftOut:
        """The documents that a search omits: deleted ones, and ones without the wanted codes."""
        return self.view.dead if self._chosen is None else (self.view.dead, *self._chosen)

    def wanted(self, values: "storage.FieldValues") -> U64:
        """Return the code that a document must have in each field."""
        return storage.wanted_codes(values, len(self.store.options.fields), self.counts.id_key)

    def codes(self) -> U64:
        """Return the codes of the fields of all documents, perhaps with room for more."""
        staged = None if self._staged is None else self._staged.changes.staged_codes
        if staged is not None:
            return staged.over(self.source, self.next_ordinal)
        view = self.view
        if view.codes is None:
            known = self.store.field_codes(self.counts)
            view.codes = known.read(self.source, self.next_ordinal)
        return view.codes

    def without(self, left_out: storage.Bitmap | None) -> "State":
        """Return a state with other tombstones: documents with a set bit are omitted."""
        return self.over(self.view.without(left_out))

    @property
    def runs(self) -> list[storage.Run]:
        """The sealed runs, in the order of ordinals."""
        return self.view.runs

    @property
    def delta(self) -> storage.DeltaView:
        """The delta: documents that are not yet in a run, staged ones included."""
        return self.view.delta

    @property
    def dead(self) -> storage.Bitmap | None:
        """The tombstones: one bit for each ordinal; None if no document is deleted."""
        return self.view.dead

    @property
    def kind(self) -> Kind:
        """The kind of the database."""
        return self.view.kind

    @property
    def keying(self) -> storage.Keying:
        """The keys of the tables."""
        return self.view.kind.keying

    @property
    def scale(self) -> SimilarityScale:
        """The scale of the similarities that users see."""
        return self.store.options.sketch.scale_of(self.counts.content)

    @property
    def calibration(self) -> Calibration | None:
        """The calibration, or None."""
        return self.view.calibration

    @property
    def next_ordinal(self) -> int:
        """One more than the largest ordinal."""
        return self.view.next_ordinal

    @property
    def width(self) -> int:
        """Bytes of a stored volatility vector or signature; 0 if none are stored."""
        return self.source.width

    def live(self) -> U32:
        """Return the ordinals of all documents that a search does not omit, ascending."""
        return storage.live_ordinals(self.left_out, 0, self.next_ordinal)

    def membership(self) -> "storage.Membership":
        """Return the maintained clusters."""
        staged = None if self._staged is None else self._staged.membership()
        return storage.Membership(self.source) if staged is None else staged

    def note(self, key: bytes) -> Any:
        """Return the content of the note under `key`; None if there is none."""
        notes = {} if self._staged is None else self._staged.changes.notes
        return (
            records.unpacked_note(notes[key])
            if key in notes
            else records.read_note(self.source, key)
        )

    def metadata_of_many(self, ordinals: Iterable[int]) -> dict[int, bytes]:
        """Return the packed metadata of `ordinals` by ordinal, if they have any."""
        source = self.source
        found = records.read_many(source, ordinals)
        if self._staged is None:
            return found
        staged = self._staged.changes.metadata
        each = ((ordinal, staged.of(ordinal) or found.get(ordinal)) for ordinal in ordinals)
        return {at: packed for at, packed in each if packed and packed != records.NO_METADATA}

    def all_metadata(self) -> Iterator[tuple[int, bytes]]:
        """Yield (ordinal, packed metadata) of every document that has any, deleted or not.

        Ordinals ascend.
        """
        source = self.source
        stored = records.read_all(source)
        return stored if self._staged is None else self._staged.changes.metadata.over(stored)

    def times(self) -> U32:
        """Return the time of every ordinal: uint32[next_ordinal], 0 for no time."""
        stored = records.read_times(self.source.every(layout.TIMES), self.next_ordinal)
        staged = None if self._staged is None else self._staged.changes.times
        return stored if staged is None else staged.over(stored)

    def passages(self) -> "storage.Passages":
        """Return the grains of all documents, deleted or not."""
        view = self.view
        if view.passages is None:
            view.passages = storage.Passages.stored(self.counts.passages)
        staged = None if self._staged is None else self._staged.changes.staged_passages
        if staged is None:
            return view.passages
        return storage.Passages(view.passages.runs, staged.entries())

    def texts(self, ordinals: U32) -> TextColumn:
        """Return the stored texts of documents, by ascending ordinals; None for a non-text."""
        return by_ordinal.text_column(self.beside(by_ordinal.TEXTS, ordinals), "the stored texts")

    def beside(self, column: by_ordinal.ByOrdinal, ordinals: U32) -> arrays.PackedBytes:
        """Return the values of documents, whose ordinals ascend, in a column by ordinal."""
        if self._staged is None:
            return column.read(self.source, ordinals)
        staged = self._staged.changes.staged_columns[column]
        count = int(np.searchsorted(ordinals, staged.first))
        stored = column.read(self.source, ordinals[:count])
        return arrays.joined_ragged([stored, staged.of(ordinals[count:])]) or arrays.NO_BYTES

    def tables(self, flips: tuple[int, ...] = ()) -> Any:
        """Return the tables, ready for look-up; their class depends on the kind of database.

        `flips`: the flips of the plan, which show whether it uses the tables of the usual cut or
        the stored ones.
        """
        found = None if flips else self.view.tables
        if found is None:
            found = self.whole_tables(flips)
        # A query notices each function call, and most queries choose no values.
        return found if self._chosen is None else self.chosen_of(found)

    def whole_tables(self, flips: tuple[int, ...] = ()) -> Any:
        """Return the tables of all documents, even if few documents are searched; see `tables`."""
        view, is_cut = self.view, len(flips) > 1 and self.view.kind.cut is not None
        found = view.cut if is_cut else view.tables
        if found is None and is_cut:
            found = view.cut = view.kind.cut.over(self)
        elif found is None:
            found = view.tables = view.kind.make_tables(view, self.source)
        return found

    def scanned(self) -> Any:
        """Return tables whose fingerprints can all be compared with each query."""
        if not self.keying.has_header_table:
            return self.tables()
        view, sealed = self.view, self.view.sealed
        if view.scanned is None:
            if sealed.scanned is None:
                columns = [[part.run.searchable(part.number, self.source)] for part in sealed.parts]
                sealed.scanned = kernel.Tables([ALL_BITS], columns, storage.NO_DOCUMENTS, None)
            view.scanned = view.followed(sealed.scanned)
        return self.chosen_of(view.scanned)

    def identifiers(self, ordinals: U32 | None = None) -> Any:
        """Return the ids by ordinal, at least for `ordinals`; None for all."""
        return self.view.identifiers.over(self.source, ordinals)

    def vectors(self, ordinals: U32 | None = None) -> Any:
        """Return the vectors or signatures by ordinal, at least for `ordinals`; None for all."""
        return self.view.vectors.over(self.source, ordinals)

    def known_vectors(self, ordinals: U32) -> Any:
        """Return `vectors` for ordinals of a stored table.

        Raises CorruptError for an unknown ordinal.
        """
        self.check_known(ordinals)
        return self.vectors(ordinals)

    def id_of(self, ordinal: int) -> Any:
        """Return the id of one document."""
        identifiers = self.view.identifiers
        held = identifiers.held
        found = None if held is None else held.find_one(ordinal)
        if found is None:
            needed = identifiers.over(self.source, np.array([ordinal], np.uint32))
            found = needed.decode_one(ordinal)
        return found

    def find(self, offsets: I64, content: U8, hashes: U64) -> I64:
        """Return the ordinal of each id (in its stored form, with its hash); -1 if not stored."""
        view, ids = self.view, self.view.sealed.made_ids(self.source)
        found = np.full(len(hashes), -1)
        if ids.is_hashed or len(view.delta.batch):
            found = self._find_hashed(offsets, content, hashes)
        ids.find_ints((offsets, content, hashes), view.dead, self.identifiers, found)
        return found

    def _find_hashed(self, offsets: I64, content: U8, hashes: U64) -> I64:
        """Run `find` for the documents whose ids are found by hash."""
        if len(hashes) == 1:
            return self._find_one(offsets, content, int(hashes[0]))
        # The first document with a hash usually has the id.
        starts, ordinals, _ = self._id_tables().lookup(
            hashes, distance=0, flips=0, first=1, after=None
        )
        found = self._with_ids(ordinals, starts, offsets, content)
        for at in np.flatnonzero((found < 0) & (starts[1:] > starts[:-1])).tolist():
            found[at] = self._find_one(offsets[at : at + 2], content, int(hashes[at]))[0]
        return found

    def check_known(self, ordinals: U32) -> None:
        """Raise CorruptError if an ordinal from a stored table belongs to no document."""
        largest = ordinals[0] if len(ordinals) == 1 else ordinals.max(initial=0)
        if len(ordinals) and largest >= self.view.next_ordinal:
            raise CorruptError(
                f"a table has the ordinal {largest}, but only {self.view.next_ordinal} ordinals"
                " are in use"
            )

    def column(self, column: int, ordinals: U32) -> Array:
        """Return the values of a column, layout.FINGERPRINT or layout.STATE, of some ordinals."""
        view = self.view
        self.check_known(ordinals)
        if len(ordinals) == 1:
            only, at = view.pieces.place_of(int(ordinals[0]))
            return only.run.column(column, only.number, self.source)[at : at + 1].copy()
        values = np.empty(len(ordinals), layout.COLUMN_TYPES[column])
        which = view.pieces.which(ordinals)
        for number in arrays.sorted_unique(which):
            chosen = which == number
            piece = view.pieces[number]
            array = piece.column(column, self.source)
            values[chosen] = array[ordinals[chosen] - np.uint32(piece.start)]
        return values

    def unmeasured(self) -> storage.LeftOut:
        """Return the documents that a search of vectors omits, including ones without a vector."""
        found = self.unweighted()
        return found if self._chosen is None else (found, *self._chosen)

    def unweighted(self) -> storage.Bitmap | None:
        """Return a bitmap of documents that are deleted or have no volatility vector.

        Returns None if there is no such document.
        """
        view = self.view
        if view.unweighted is None:
            found, delta = view.dead, view.delta
            every = [run.unweighted(self.source) for run in view.runs]
            if delta.weighted_count < len(delta.batch):
                every.append(np.flatnonzero(delta.batch.states != arrays.WEIGHTED) + delta.start)
            positions = np.concatenate([np.empty(0, np.int64), *every])
            if len(positions):
                found = bitmap(positions, view.next_ordinal)
                if view.dead is not None:
                    found |= view.dead[: len(found)]
            view.unweighted = (found,)
        return view.unweighted[0]

    @property
    def has_bare(self) -> bool:
        """Whether a document, deleted or not, may be stored without a volatility vector."""
        delta = self.view.delta
        return self.view.sealed.has_bare or delta.weighted_count < len(delta.batch)

    def lack_weights(self, ordinals: U32) -> Bools:
        """Return whether each of some live documents is stored without a volatility vector."""
        if not self.has_bare:
            return np.zeros(len(ordinals), np.bool_)
        return np.asarray(self.column(layout.STATE, ordinals) != arrays.WEIGHTED, np.bool_)

    def plan(
        self,
        criterion: Criterion,
        *,
        is_swept: bool = False,
        queries: arrays.Sketches | None = None,
    ) -> Plan:
        """Return the planner's choice; `is_swept`: for all pairs.

        A plan for queries can come from an earlier view (see `KeptPlans`) or from other queries
        (see `glimpse`).
        """
        view = self.view
        plans = view.swept_plans if is_swept else view.plans.of_criteria
        plan = plans.get(criterion)
        if plan is None or view.plans.may_learn(criterion, queries):
            problem = self._problem(criterion, is_swept=is_swept)
            plan = choose(problem)
            if plan.probing is not None:
                plan = choose(self._with_glimpse(problem, queries))
            elif not is_swept:
                view.plans.glimpses.pop(criterion, None)  # no sample is needed
            if is_swept:
                view.swept_plans[criterion] = plan
            else:
                view.plans.keep(criterion, plan)
        return plan

    def plan_of(
        self, criterion: Criterion, count: int, queries: arrays.Sketches | None = None
    ) -> Plan:
        """Return the plan for `count` queries, after making tables in memory if these pay."""
        plan, view = self.plan(criterion, queries=queries), self.view
        saved = count * self.saving(criterion)
        if saved and view.kind.cut.make(self, saved):
            view.plans = KeptPlans(view.extent, view.calibration, view.plans)
            plan = self.plan(criterion, queries=queries)
        # A single query does not wait for this.
        if count > 1 and view.sealed.join(plan, count, self.source.memory_bytes, self.threads):
            view.tables = view.cut = None
        return plan

    def saving(self, criterion: Criterion) -> float:
        """Return the seconds that the tables of the usual cut would save an exact query."""
        plan, savings = self.plan(criterion), self.view.plans.savings
        if self.view.kind.cut is None or criterion.similarity is not None or plan.probing:
            return 0.0
        if criterion not in savings:
            problem = self._problem(criterion, is_swept=False)
            best = choose(replace(problem, population=replace(problem.population, is_cut=True)))
            savings[criterion] = max(plan.cost_seconds - best.cost_seconds, 0.0)
        return savings[criterion]

    def population(self, criterion: Criterion, *, is_swept: bool = False) -> AnyPopulation:
        """Return the planner's description of this state; `is_swept`: for a search of all pairs."""
        problem = self._with_glimpse(self._problem(criterion, is_swept=is_swept))
        found: AnyPopulation = problem.population
        return found

    def _problem(self, criterion: Criterion, *, is_swept: bool) -> Problem[Any]:
        """Return a problem without a sample, which only a plan by probing needs."""
        view, source = self.view, self.source
        population = view.kind.population(view, source, criterion, is_swept=is_swept)
        if source.is_larger_than_memory and not is_swept:
            runs = view.sealed.entry_count / max(view.sealed.largest, 1)
            paging = Paging(source.data_bytes, source.memory_bytes, runs)
            population = replace(population, paging=paging)
        return Problem(criterion, population, view.calibration, delays_of(view.calibration))

    def _with_glimpse(
        self, problem: Problem[Any], queries: arrays.Sketches | None = None
    ) -> Problem[Any]:
        """Return the problem with a sample of the collection, if plans need one."""
        source, population = self.source, problem.population
        # Drawing a sample reads pages all over the file.
        if source.is_larger_than_memory or not wants_glimpse(problem):
            return problem
        seen = self.view.plans.glimpse(
            problem.criterion, population.count, queries, lambda: glimpse(self, problem, queries)
        )
        return replace(problem, population=replace(population, glimpse=seen))

    def _made_source(self) -> storage.Source:
        holder = self._holder
        if holder is None:
            return self.store.source_of(None)
        with holder.reading:  # the threads of a verb share one source
            if self._source is None:
                self._source = self.store.source_of(self._holder)
            return self._source

    def _id_tables(self) -> Any:
        """Return the hashes of ids, ready for look-up."""
        view = self.view
        if view.id_tables is None:
            ids, delta = view.sealed.made_ids(self.source), view.delta
            view.id_tables = ids.tables.over((delta.batch.hashes, delta.every), view.dead)
        return view.id_tables

    def _find_one(self, offsets: I64, content: U8, hash: int) -> I64:
        """Run `find` for a single id."""
        found = self._id_tables().lookup_one(hash, 0, 0, False)
        if not found:
            return np.full(1, -1)
        ordinals = np.array([ordinal for ordinal, _ in found], np.uint32)
        return self._with_ids(ordinals, np.array([0, len(found)]), offsets, content)

    def _with_ids(self, ordinals: U32, starts: I64, offsets: I64, content: U8) -> I64:
        """Return the candidate that has each id, not only its hash; -1 for none."""
        found: I64 = self.identifiers(ordinals).find(ordinals, starts, offsets, content)
        return found
