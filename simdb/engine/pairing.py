"""The reading verbs about pairs and groups of stored documents."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from simdb.choices import MethodName, PolicyName, VerifyName
from simdb.engine import clusters, search
from simdb.engine import state as states
from simdb.engine.search.question import Question, bounded, is_maintained, of_pairs
from simdb.engine.state.documents import known_ordinals
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.errors import InputError, OptionError
from simdb.ids import IdT
from simdb.keeping import Keep
from simdb.matches import PairArrays
from simdb.plan.problem import Criterion
from simdb.plan.rotation import check_rotations
from simdb.threads import thread_count

if TYPE_CHECKING:
    from simdb.clusters import Clusters
    from simdb.engine.search.judge import Documents, Judge
    from simdb.engine.search.pairs import Pairs


ESTIMATE: Final = "estimate"


class Pairing(Protocol[IdT]):
    """The verbs about pairs and groups, over the state that `_state` gives."""

    _store: Store

    def _state(self) -> State:
        """Enter a consistent state, for a `with` block."""

    def _hold(self) -> State:
        """Enter the committed state without staged changes; it does not end during the block."""

    def _lasting(self) -> "tuple[Pairing[IdT], Callable[[], None] | None]":
        """Return a reader whose state outlasts a verb, and a function to end it, or None."""

    def find_all(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        rotations: int | None = None,
        verify: VerifyName = ESTIMATE,
        documents: "Documents[IdT] | None" = None,
        threads: int | None = None,
    ) -> "Pairs[IdT]":
        """Find every pair of stored documents that match; see `query` for the criterion.

        Reading the pairs makes them: `chunks()` needs bounded memory, and the arrays `left`,
        `right`, `distance` and `similarity` hold all pairs.  `plan` describes the search.

        method="rotation" sorts all fingerprints in `rotations` orders, 1 to 64, and compares
        neighbours; None takes as many orders as the recall needs.  The plan predicts the share of
        pairs missed.  `threads`: see `insert_many`.

        verify="exact" decides by the exact similarity of the texts what the stored sketches only
        estimate.  `documents` then gives the texts: a mapping from id to text, or a function that
        takes a list of ids and returns their texts (strings, UTF-8 bytes, lists of tokens, or an
        Arrow column).  It is asked only for candidates, some thousand at a time, in the thread that
        reads the pairs; where it has None, the estimate decides.  The exact similarity is Jaccard's
        if every feature counts once, as by default; for weighted features it is what the sketch
        estimates.  `similarity` is the least exact similarity of a pair; without it, 0.8, or what
        the default of the database means.  `Pairs.verification` counts how many pairs the
        estimate would have decided otherwise.
        """
        is_exact, count = search.judge.check_verification(verify, documents), thread_count(threads)
        question = Question(similarity, distance, recall, method, rotations=rotations)
        owner, end = self._lasting()
        with owner._state() as state:
            state.threads = count
            criterion = of_pairs(self._store.options, state.counts, question)
            judge = None
            if is_exact:
                criterion, judge = self._judging(criterion, question, documents)
            plan = state.plan(criterion, is_swept=True)
            stream = search.pairs.PairStream(
                state, criterion, hold=owner._hold, end=end, judge=judge
            )
        return search.pairs.Pairs(stream, plan, None if judge is None else judge.counts)

    def find_clusters(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        rotations: int | None = None,
        policy: PolicyName = "connected",
        keep: Keep = "first",
        verify: VerifyName = ESTIMATE,
        documents: "Documents[IdT] | None" = None,
        threads: int | None = None,
    ) -> "Clusters[IdT]":
        """Find the groups of two or more documents that match; see `query` for the criterion.

        `policy`: "connected" puts documents that a chain of matches connects into one cluster.
        "star" takes the documents in order: each joins the earliest representative that matches it,
        or becomes a representative itself, so every member matches its representative.

        `keep`: which member of a cluster is its representative, the first one: "first" or "last" by
        insertion, that with the greatest or least value of a field of the metadata ("max:FIELD",
        "min:FIELD"), or a function of the metadata (None for none) whose greatest result is taken;
        of equal ones the first, and what has no value last.  With `documents` also the "longest" or
        "shortest" text in UTF-8, for which all texts are read.

        `rotations`: see `find_all`.  `threads`: see `insert_many`.  `verify`, `documents`: see
        `find_all`; documents with equal sketches match without a look at their texts, and so do, in
        connected clusters, documents that are connected already.

        If the database maintains clusters (`Options.keep_clusters`) and you give no threshold, its
        own threshold applies.  Connected clusters are then read from disk; passing `method`, or a
        higher `recall`, forces a new search.

        Equal documents are linked to the first of them and not compared with each other, so many
        copies cost little.  Raises OptionError for an unknown policy or field, InputError for
        values that cannot be ordered.
        """
        clusters.find.check_policy(policy)
        check_rotations(method, rotations)
        options = self._store.options
        question = Question(similarity, distance, recall, method, rotations=rotations)
        is_exact, count = search.judge.check_verification(verify, documents), thread_count(threads)
        clusters.order.check_keep(keep, has_texts=is_exact)
        question = question if is_exact else bounded(options, question)
        with self._state() as state:
            state.threads = count
            is_stored = policy == clusters.find.CONNECTED and is_maintained(options, question)
            if is_stored and not is_exact:
                places = clusters.order.places_by(state, keep, None)
                labels = clusters.labels.maintained_labels(state.membership(), state.next_ordinal)
                return clusters.find.as_clusters(state, labels, places)
            criterion = of_pairs(options, state.counts, question)
            judge = None
            if is_exact:
                criterion, judge = self._judging(criterion, question, documents)
            places = clusters.order.places_by(state, keep, judge)
            return clusters.find.find_clusters(
                state, criterion, policy=policy, places=places, judge=judge
            )

    def cluster(self, id: IdT) -> list[IdT]:
        """Return the ids of the maintained cluster of the document `id`, in the order of insertion.

        The first id is the representative.  A document without matches is alone in its cluster.
        The cluster is read from disk, without a search.  By distance it equals the result of
        `find_clusters`; by similarity it holds the matches that the searches at each insertion
        found, with the `recall` of the database.

        Raises NotFoundError for an unknown id, OptionError if the database was created without
        `keep_clusters`.
        """
        if not self._store.options.keeps_clusters:
            raise OptionError(
                f"{self._store.environment.path} does not maintain clusters; use find_clusters,"
                " or create a database with Options(keep_clusters='distance') or 'similarity'"
            )
        with self._state() as state:
            (ordinal,) = known_ordinals(state, [id])
            members = state.membership().members(int(ordinal), state.next_ordinal)
            return list(state.identifiers(members).decode(members))

    def compare(
        self,
        left: Iterable[IdT],
        right: Iterable[IdT],
        *,
        verify: VerifyName = ESTIMATE,
        documents: "Documents[IdT] | None" = None,
        threads: int | None = None,
    ) -> PairArrays[IdT]:
        """Compare stored documents pair by pair: left[i] with right[i], whatever their similarity.

        Returns arrays in the order given: `left`, `right` (ids), `distance` uint8[n] and
        `similarity` float32[n], NaN if one of the two has no weights.  They are what a search
        measures.  Raises NotFoundError for an unknown id, InputError unless there are as many ids
        on both sides.  `verify`, `documents`: see `find_all`; with verify="exact" the similarities
        are exact.  `threads`: see `insert_many`.
        """
        is_exact, count = search.judge.check_verification(verify, documents), thread_count(threads)
        both = [states.incoming.as_list(ids, "ids") for ids in (left, right)]
        if len(both[0]) != len(both[1]):
            raise InputError(
                f"left and right must have as many ids, got {len(both[0])} and {len(both[1])}"
            )
        with self._state() as state:
            state.threads = count
            ordinals = [known_ordinals(state, ids) for ids in both]
            found = search.couples.compared(state, *ordinals)
            if is_exact and documents is not None:
                found = self._judge(None, documents).measured(state, found)
            return search.couples.as_pairs(state, found, is_exact=is_exact)

    def _judge(self, similarity: float | None, documents: "Documents[IdT] | None") -> "Judge":
        """Return the judge with the exact threshold `similarity`; None: that of the database."""
        assert documents is not None, "check_verification has refused that"
        options = self._store.options
        return search.judge.judge_of(
            self._store.exact_similarity(), documents, similarity, options.similarity
        )

    def _judging(
        self, criterion: Criterion, question: Question, documents: "Documents[IdT] | None"
    ) -> "tuple[Criterion, Judge]":
        """Return the criterion of candidates, and the judge that decides them."""
        judge = self._judge(question.similarity, documents)
        return search.judge.candidates_of(self._store.options, criterion, judge), judge
