"""Reading: the reading verbs that databases, snapshots, write transactions and shards share.

Each verb makes a `Question` of its arguments, enters a consistent state or the states of shards
(`Searcher`), answers, and leaves it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from simdb.core import checks
from simdb.core.arrays import ORDINALS_MAX, IdT
from simdb.core.arrow import checked_arrow, read_batches
from simdb.core.choices import ErrorsName, MatchName, MethodName, OnError, PolicyName, VerifyName
from simdb.core.decoding import UTF8, as_text, known_encoding
from simdb.core.documents import NO_TEXT, Document
from simdb.core.dtypes import U32
from simdb.core.errors import InputError, OptionError
from simdb.core.foreign import answering, hinting
from simdb.core.matches import Match, Matches, PairArrays, readable
from simdb.core.options import OF_BATCHES, OF_PAIRS, OF_QUERIES, Options, Search
from simdb.core.reports import Plan
from simdb.core.skipped import Skipped
from simdb.core.threads import thread_count
from simdb.database import clusters, search as searches
from simdb.database.search import filters, one
from simdb.database.search.question import Question, bounded, check_limit, is_maintained
from simdb.database.search.searcher import Queries, Searcher, drawn_ids, in_order, parts_by_ids
from simdb.database.state import documents as stored
from simdb.database.state.incoming import Sketching, as_list, as_lists, without_unreadable
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.storage import metadata as records

if TYPE_CHECKING:
    from simdb.core.clusters import Clusters
    from simdb.core.documents import DocumentLike
    from simdb.core.keeping import Keep
    from simdb.core.reports import Explanation
    from simdb.database.search.filters import Accept, AcceptMany, Where
    from simdb.database.search.judge import Texts
    from simdb.database.search.nearest import Vectors
    from simdb.database.search.pairs import FoundPairs, Pairs

ITERATED_IDS = 4096
ITERATED_DOCUMENTS = 1024
EXPORTED_DOCUMENTS = 1 << 14

Default = TypeVar("Default")
Read = TypeVar("Read")


@answering
class Reading(Protocol[IdT]):
    """The reading verbs, over the state that `_state` gives."""

    _store: Store

    if not TYPE_CHECKING:
        __getattr__ = hinting("Database")

    @property
    def options(self) -> Options:
        """The options that the database was created with, and its IDF table."""
        store = self._store
        store.look_for_idf()
        return store.options

    def query(
        self,
        document: "DocumentLike | None" = None,
        *,
        id: IdT | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        limit: int | None = None,
        where: "Where | None" = None,
        accept: "Accept[IdT] | None" = None,
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
        contained: float | None = None,
        texts: "Texts[IdT] | None" = None,
        threads: int | None = 1,
    ) -> list[Match[IdT]]:
        """Find the stored documents that match a document, best first.

        A match has at least the given `similarity` and at most `distance` differing bits.  Without
        either, the default of the database applies: similarity for documents with weights or a
        signature, distance for ready fingerprints.

        Parameters
        ----------
        document : document or sketch, optional
            A text (str or bytes), a list of tokens, `Features` or a vector.  Or a ready
            `Fingerprint` or `Signature`, or an int with the 64 bits of a fingerprint.
        id : str, bytes or int, optional
            A stored document in place of `document`; its matches do not contain itself.
        similarity : float, optional
            The least similarity of a match.  For texts it is the Jaccard similarity of their sets
            of shingles; for vectors and weighted features it is the cosine (`Match.measure`).  A
            fingerprint of a text estimates a cosine c, which is shown as c / (2 - c).  A threshold
            j then means the cosine 2 j / (1 + j).
        distance : int, optional
            The largest number of bits that differ.
        recall : float, optional
            The share of the matches to find, measured against a comparison with every document.
            1.0 with `distance` is exact.
        search : str or Search, optional
            The name of a method, or a `Search`; if not given, the planner chooses.
        limit : int, optional
            The largest number of matches to return.
        where : callable or dict, optional
            `where(metadata)` returns whether a document may match; metadata are None if it has
            none.  simdb calls it on matches, best first, until `limit` have passed.  Values of
            `Options.fields`, such as {"tenant": "t7"}, filter documents before they are compared.
        accept : callable, optional
            `accept(id)` confirms a match.  Return False to drop it, or its exact similarity, which
            replaces the estimate; below `similarity` the match is dropped.
        encoding : str, default "utf-8"
            The encoding of bytes that have no byte order mark and, in HTML, no declaration.
            "guess" detects it.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode: "strict" refuses it, "replace" replaces
            the invalid characters.
        contained : float, optional
            Find the documents that contain at least this share of the query's runs of 8 words.
            Runs count only in shared passages of 15 or more words.  If 60 of 100 words are copied
            in one piece, the share is .57.  See `ContainedMatch`.
        texts : mapping or callable, optional
            Texts of stored documents, as in `find_all`, to measure `contained`.  If texts are
            neither given nor stored, it is estimated.
        threads : int, default 1
            Number of shards of a sharded database to ask at the same time.  Starting a thread takes
            longer than most queries.

        Returns
        -------
        list of Match
            The matches, best first.

        Raises
        ------
        InputError
            If the document is invalid.
        OptionError
            If an argument is invalid or not supported.
        NotFoundError
            If `id` is unknown.

        Notes
        -----
        A query uses estimates from sketches, even if claims (`add_if_new`) compare stored texts or
        features.  `accept` can confirm its matches.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.insert("a", "the quick brown fox jumps over the lazy dog")
        ...     database.query("The quick brown fox jumps over the lazy dog!")[0].id
        'a'
        """
        if isinstance(document, bytes) and not self._store.options.is_hashes:
            document = as_text(document, known_encoding(encoding), errors)
        elif type(encoding) is not str or encoding != UTF8:
            known_encoding(encoding, is_hashes=self._store.options.is_hashes)
        given = similarity, distance, recall, search
        is_plain = accept is None and contained is None and texts is None and not callable(where)
        if is_plain and type(threads) is int and threads == 1:
            return self._plain(document, id, given, errors, limit, where=where)
        more = limit, where, accept, contained, texts
        return self._found(document, id, given, more, errors, threads)

    def first(
        self,
        document: "DocumentLike | None" = None,
        *,
        id: IdT | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        where: "Where | None" = None,
        accept: "Accept[IdT] | None" = None,
        errors: ErrorsName = "strict",
        contained: float | None = None,
        texts: "Texts[IdT] | None" = None,
    ) -> Match[IdT] | None:
        """Find any one match, as fast as possible; None if no document matches.

        Parameters
        ----------
        document : document or sketch, optional
            The document; see `query`.
        id : str, bytes or int, optional
            A stored document in place of `document`; see `query`.
        similarity : float, optional
            The least similarity of a match; see `query`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `query`.
        search : str or Search, optional
            How to search; see `query`.
        where : callable or dict, optional
            A condition on the metadata of a match; see `query`.
        accept : callable, optional
            Confirms a match; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        contained : float, optional
            The least share that a document contains of the query; see `query`.
        texts : mapping or callable, optional
            Texts of stored documents; see `query`.

        Returns
        -------
        Match or None
            Any match.  With a function, all matches are found, and `where` and `accept` are called
            until one satisfies both.  With `contained` it is the best match.

        Raises
        ------
        InputError
            If the document is invalid.
        OptionError
            If an argument is invalid or not supported.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.first("nothing like it is stored in this database") is None
        True
        """
        given = similarity, distance, recall, search
        if accept is None and contained is None and texts is None and not callable(where):
            found = self._plain(document, id, given, errors, first=True, where=where)
        else:
            more = None, where, accept, contained, texts
            found = self._found(document, id, given, more, errors, first=True)
        return found[0] if found else None

    def query_many(
        self,
        documents: Any = None,
        *,
        ids: Iterable[IdT] | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        limit: int | None = None,
        match: MatchName = "all",
        where: "Where | None" = None,
        accept: "AcceptMany[IdT] | None" = None,
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
        on_error: OnError = "raise",
        threads: int | None = None,
        contained: float | None = None,
        texts: "Texts[IdT] | None" = None,
    ) -> Matches[IdT]:
        """Find the matches of many documents at once, as arrays.

        Parameters
        ----------
        documents : iterable of documents, array, Fingerprints, CSR matrix or Arrow column, optional
            The documents, or their ready sketches: uint64[n] of fingerprints, a `Fingerprints`,
            vectors as float[n, d] or a CSR matrix.
        ids : iterable of str, bytes or int, optional
            Stored documents in place of `documents`.
        similarity : float, optional
            The least similarity of a match; see `query`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `query`.
        search : str or Search, optional
            How to search; see `query`.  It can also limit the memory; see `Search`.
        limit : int, optional
            The largest number of matches of each document.
        match : {"all", "first"}, default "all"
            "all" returns all matches of each document, best first; "first" returns any one match
            and is faster.
        where : callable or dict, optional
            A condition on the metadata of a match; see `query`.  A function is called once for each
            document.
        accept : callable, optional
            `accept(position, id)` confirms a match of the query at `position`; see `query`.
        encoding : str, default "utf-8"
            The encoding of bytes; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        on_error : {"raise", "skip"} or callable, default "raise"
            What to do with a document that cannot be read; see `insert_many`.
        threads : int, optional
            Number of threads; see `insert_many`.
        contained : float, optional
            The least share that a document contains of the query; see `query`.
        texts : mapping or callable, optional
            Texts of stored documents; see `query`.

        Returns
        -------
        Matches
            The matches of each document.  A document omitted by `on_error` has an empty row, and
            `skipped` lists these documents.

        Raises
        ------
        InputError
            If a document is invalid, with on_error="raise".
        OptionError
            If an argument is invalid or not supported.
        NotFoundError
            If one of `ids` is unknown.
        """
        count, skipped, known = thread_count(threads), Skipped(on_error), known_encoding(encoding)
        searches.many.check_match(match)
        where, values = filters.parted(self._store.options, where)
        question = Question(
            similarity, distance, recall, search, limit, where, accept, contained, texts,
            follows=OF_BATCHES,
        )  # fmt: skip
        check_limit(limit)
        filters.check_filters(self._store.options, where, accept)
        how = Sketching(self._store.sketcher, errors, count, known)
        documents, accept = without_unreadable(how, skipped, documents, accept)
        queries = Queries(how, documents, None if ids is None else as_list(ids, "ids"))
        if question.is_contained:
            most = 1 if match == "first" else limit
            asked = question._replace(limit=most, accept=accept)
            found = self._containing(queries, asked, values, is_of_many=True)
            return self._readable(skipped.spread(found))
        batch = searches.many.QueryBatch.checked(question, match)
        with self._searcher() as searcher:
            searcher.choose(values).threads = count
            asking = batch if accept is None else batch.with_limit(None)
            found = searches.many.find(searcher, queries, asking)
        if accept is not None:
            least = question.least_similarity(self._store.options, found.measure)
            found = filters.accepted_many(found, accept, least, limit=limit, first=batch.first == 1)
        return self._readable(skipped.spread(found))

    def nearest(
        self,
        document: "DocumentLike | None" = None,
        k: int = 10,
        *,
        id: IdT | None = None,
        recall: float | None = None,
        where: "Where | None" = None,
        vectors: "Vectors[IdT] | None" = None,
        texts: "Texts[IdT] | None" = None,
        errors: ErrorsName = "strict",
        threads: int | None = 1,
    ) -> list[Match[IdT]]:
        """Find the stored documents nearest to a document, best first.

        The nearest documents are the most similar ones, without a threshold.  Of equally near
        documents, the ones inserted first are taken.

        Parameters
        ----------
        document : document or sketch, optional
            The document; see `query`.  A document with weights is compared with stored documents
            that have weights, by estimated similarity; a signature by the share of equal minima.  A
            fingerprint without weights is compared by distance with all documents.
        k : int, default 10
            Number of documents to find.
        id : str, bytes or int, optional
            A stored document in place of `document`; the answer does not contain itself.
        recall : float, optional
            The mean share of the nearest documents to find; the recall of the database if not
            given. 1.0 compares with every document and is exact.  By distance the answer is always
            exact.
        where : callable or dict, optional
            Find the nearest of the documents that satisfy this condition; see `query`.  A function
            is called on the nearest documents first, so it is slow only if few satisfy it.  Values
            of fields are not slower if few documents have them.
        vectors : mapping or callable, optional
            The vectors of stored documents: a mapping from id to vector, or a function from a list
            of ids to their vectors (None: unknown).  The estimate then finds k / (1 - recall)
            documents, 20 times `k` for the recall .95.  The `k` with the greatest exact cosine are
            returned with it.  The document must be a vector as well.
        texts : mapping or callable, optional
            Texts of stored documents, which choose in the same way by the exact similarity of all
            their features; see `find_all`.  To use stored texts, give `db.texts_many`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        threads : int, default 1
            Number of shards to ask at the same time; see `query`.

        Returns
        -------
        list of Match
            `k` matches, fewer only if fewer documents can be compared.  There are none for a
            document without features.

        Raises
        ------
        InputError
            If the document is invalid.
        OptionError
            If `k` or `recall` is invalid.
        NotFoundError
            If `id` is unknown.

        Notes
        -----
        With `vectors`, the estimate misses more far neighbours than the recall says.  With the
        recall 1.0, or no more documents than candidates of all queries, the vectors of all
        documents are compared, which is exact.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.insert_many({"a": "bread and salt", "b": "the ships of the old harbour"})
        ...     [match.id for match in database.nearest("the ships of the new harbour", 1)]
        2
        ['b']
        """
        wanted = searches.nearest.Wanted.checked(self._store.options, k, recall, where)
        if (document is None) == (id is None):
            raise InputError("nearest needs either a document or the id= of a stored document")
        count = thread_count(threads)
        if vectors is not None or texts is not None:
            documents, ids = ([document], None) if id is None else (None, [id])
            return self.nearest_many(
                documents, k, ids=ids, recall=recall, where=where, vectors=vectors, texts=texts,
                errors=errors, threads=count,
            )[0]  # fmt: skip
        with self._searcher() as searcher:
            searcher.choose(wanted.values).threads = count
            found = searches.nearest.find(searcher, document, id, wanted, errors)
        return self._readable(found)

    def nearest_many(
        self,
        documents: Any = None,
        k: int = 10,
        *,
        ids: Iterable[IdT] | None = None,
        recall: float | None = None,
        where: "Where | None" = None,
        vectors: "Vectors[IdT] | None" = None,
        texts: "Texts[IdT] | None" = None,
        errors: ErrorsName = "strict",
        on_error: OnError = "raise",
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Find the stored documents nearest to each of many documents.

        Parameters
        ----------
        documents : iterable of documents, array, Fingerprints, CSR matrix or Arrow column, optional
            The documents; see `query_many`.  Documents with and without weights can be mixed.
        k : int, default 10
            Number of documents to find for each.
        ids : iterable of str, bytes or int, optional
            Stored documents in place of `documents`.
        recall : float, optional
            The share of the nearest documents to find; see `nearest`.
        where : callable or dict, optional
            A condition on the metadata of the documents to find; see `nearest`.
        vectors : mapping or callable, optional
            The vectors of stored documents; see `nearest`.
        texts : mapping or callable, optional
            Texts of stored documents; see `nearest`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        on_error : {"raise", "skip"} or callable, default "raise"
            What to do with a document that cannot be read; see `query_many`.
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        Matches
            The nearest documents of each document.

        Raises
        ------
        InputError
            If a document is invalid, with on_error="raise".
        OptionError
            If `k` or `recall` is invalid.
        NotFoundError
            If one of `ids` is unknown.

        Notes
        -----
        A large batch is faster than single queries: a few of its queries show at what similarity to
        expect the nearest documents of the rest.
        """
        count, skipped = thread_count(threads), Skipped(on_error)
        wanted = searches.nearest.Wanted.checked(self._store.options, k, recall, where)
        if (documents is None) == (ids is None):
            raise InputError("nearest_many needs either documents or ids= of stored documents")
        ranking = searches.nearest.ranking_of(vectors, texts, self._store)
        how = Sketching(self._store.sketcher, errors, count)
        documents, _ = without_unreadable(how, skipped, documents)
        if ranking is not None and documents is not None and not isinstance(documents, np.ndarray):
            documents = as_list(documents, "documents")  # they are read twice
        queries = Queries(how, documents, None if ids is None else as_list(ids, "ids"))
        with self._searcher() as searcher:
            searcher.choose(wanted.values).threads = count
            asked = wanted if ranking is None else ranking.asked(wanted, queries)
            found = searches.nearest.find_many(searcher, queries, asked)
        if ranking is not None:
            found = ranking.best(found, queries, wanted.k)
        return self._readable(skipped.spread(found))

    def draw_ids(self, count: int, *, seed: int = 0, weighted: bool = False) -> list[IdT]:
        """Draw the ids of stored documents at random.

        Documents without features are never drawn.

        Parameters
        ----------
        count : int
            Number of ids, 0 or more; all ids if fewer documents are stored.
        seed : int, default 0
            The same seed draws the same ids from the same database.
        weighted : bool, default False
            Draw only documents with weights or a signature.

        Returns
        -------
        list of ids
            The ids, in random order.

        Raises
        ------
        OptionError
            If `count` is not a whole number of 0 or more.
        """
        checks.whole("count", count, 0, ORDINALS_MAX)
        checks.whole("seed", seed, 0, 2**63)
        checks.flag("weighted", weighted)
        with self._searcher() as searcher:
            ids: list[Any] = drawn_ids(searcher, count, seed, is_weighted=weighted)
            return ids

    def explain(
        self,
        id: IdT | None = None,
        other_id: IdT | None = None,
        *,
        document: "DocumentLike | None" = None,
        other_document: "DocumentLike | None" = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        errors: ErrorsName = "strict",
    ) -> "Explanation":
        """Explain why two documents match or do not, and which features moved which bits.

        Give two stored documents (`id`, `other_id`), a stored and another one (`id`, `document`),
        or two that need not be stored (`document`, `other_document`).

        Parameters
        ----------
        id : str, bytes or int, optional
            A stored document.
        other_id : str, bytes or int, optional
            Another stored document.
        document : document or sketch, optional
            A given document; see `query`.
        other_document : document or sketch, optional
            Another given document.
        similarity : float, optional
            The least similarity of a match; see `query`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `query`.
        search : str or Search, optional
            How to search; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.

        Returns
        -------
        Explanation
            The reason, in numbers and in words.

        Raises
        ------
        InputError
            If there are not exactly two documents.
        OptionError
            If an argument is invalid or not supported.
        NotFoundError
            If an id is unknown.

        Notes
        -----
        Only features of given texts are listed; give a stored text as `db[id].text`.  The weights
        of two given documents are not rounded, unlike stored ones.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.explain(document="one fox", other_document="two ships").is_match
        False
        """
        both = searches.explanation.Both(id, other_id, document, other_document)
        question = Question(similarity, distance, recall, search)
        with self._searcher() as searcher:
            return searches.explanation.explained(searcher, both, question, errors)

    def plan(
        self,
        n: float | None = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        pairs: bool = False,
    ) -> Plan:
        """Return how the database would answer a query with these arguments, and why.

        Parameters
        ----------
        n : float, optional
            Plan for this number of stored documents, in one run, or in several databases if one is
            too small.  `simdb.open(None).plan(8e9)` needs no stored document.
        similarity : float, optional
            The least similarity of a match; see `query`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `query`.
        search : str or Search, optional
            How to search; see `query`.
        pairs : bool, default False
            Plan `find_all` instead, with the costs of one document.

        Returns
        -------
        Plan
            The method, its parameters and costs, and the reason.

        Raises
        ------
        OptionError
            If an argument is invalid or not supported.
        """
        follows = OF_PAIRS if pairs else OF_QUERIES
        question = Question(similarity, distance, recall, search, follows=follows)
        with self._searcher() as searcher:
            return searches.planning.planned_for(searcher, question, n, is_swept=pairs)

    def find_all(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        where: "Where | None" = None,
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        threads: int | None = None,
        contained: float | None = None,
    ) -> "Pairs[IdT]":
        """Find every pair of stored documents that match.

        Parameters
        ----------
        similarity : float, optional
            The least similarity of a pair; see `query`.  With texts, given or stored, it is the
            least exact similarity; if not given, the default of the database, 0.8.
        distance : int, optional
            The largest distance of a pair; see `query`.
        recall : float, optional
            The share of pairs to find; see `query`.  If not given and texts are compared, .9999 of
            the pairs are found, as by `simdb.deduplicate`, or for signatures the pairs that the
            bands find.
        search : str or Search, optional
            How to search; see `query`.
        where : callable or dict, optional
            Find only pairs of documents that both satisfy this condition; see `query`.  A function
            is called on all documents first.
        verify : {"estimate", "exact", "numbers"}, optional
            How candidates are compared: by the estimate of the sketches, or by the exact similarity
            of texts.  With "numbers", texts match only if they have the same numbers as well, in
            any order; other pairs have the similarity 0.
        texts : mapping or callable, optional
            Texts to compare exactly, since sketches only estimate: a mapping from id to text, or a
            function from a list of ids to their texts.  These are strings, UTF-8 bytes, lists of
            tokens or an Arrow column.  Only texts of candidates are read, some thousand at a time,
            in the thread that reads the pairs.
        threads : int, optional
            Number of threads; see `insert_many`.
        contained : float, optional
            Find pairs with at least this share of `left` in `right`; see `query`.  Two documents
            that contain each other make two pairs.  All texts, given or stored, are read.

        Returns
        -------
        Pairs
            The pairs, which are made while they are read.  `chunks()` needs bounded memory; the
            arrays `left`, `right`, `distance` and `similarity` hold all pairs.  `plan` describes
            the search, and `verification` counts the pairs for which the estimate was wrong.

        Raises
        ------
        OptionError
            If an argument is invalid or not supported.

        Notes
        -----
        If a text is not given, the stored text is compared (`Options.texts`), else stored features
        (`Options.features`).  Without either, the estimate counts.  The exact similarity is the
        Jaccard similarity if every feature counts once, as by default.  Otherwise it is the
        similarity that the sketch estimates.

        Examples
        --------
        >>> texts = {"a": "the quick brown fox", "b": "The quick brown fox!", "c": "ships"}
        >>> with simdb.open(None) as database:
        ...     database.insert_many(texts)
        ...     [(pair.left, pair.right) for pair in database.find_all()]
        3
        [('a', 'b')]
        """
        options, count = self._store.options, thread_count(threads)
        question = Question(
            similarity, distance, recall, search, where=where, verify=verify, follows=OF_PAIRS
        )
        filters.check_filters(options, where)
        if contained is not None:
            asked = question._replace(contained=contained, texts=texts)
            containing = searches.contained.question_of(self._store, asked, is_of_many=True)
            return self._streamed(
                where, count, lambda state: searches.contained.pairs_of(state, containing)
            )
        is_exact = searches.judge.check_verification(verify, texts, options)
        question.criterion(options, is_weighted=True)
        find = partial(searches.pairs.pairs_of, question=question, texts=texts, is_exact=is_exact)
        return self._streamed(where, count, find)

    def find_clusters(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        policy: PolicyName = "connected",
        keep: "Keep" = "first",
        where: "Where | None" = None,
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        threads: int | None = None,
    ) -> "Clusters[IdT]":
        """Find the groups of two or more documents that match.

        Parameters
        ----------
        similarity : float, optional
            The least similarity of a match; see `find_all`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `find_all`.
        search : str or Search, optional
            How to search; see `query`.
        policy : {"connected", "star"}, default "connected"
            "connected" puts documents that a chain of matches connects into one cluster.  "star"
            (leader clustering) takes the documents in order.  Each joins the earliest
            representative that matches it, or becomes one, so every member matches its
            representative.
        keep : str or callable, default "first"
            The rule that chooses the representative of a cluster, its first member.  "first" and
            "last" go by insertion, "max:FIELD" and "min:FIELD" by a field of the metadata.  A
            function of the metadata (None for none) chooses the member with the greatest result.
            With texts, given or stored, "longest" and "shortest" go by size in UTF-8, and read all
            texts.  Of equal members the first is taken, and members without a value are last.
        where : callable or dict, optional
            Group only documents that satisfy this condition; see `find_all`.
        verify : {"estimate", "exact", "numbers"}, optional
            How candidates are compared; see `find_all`.
        texts : mapping or callable, optional
            Texts to compare exactly; see `find_all`.  The texts of documents with equal sketches,
            or of connected ones, are not read.
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        Clusters
            The clusters.

        Raises
        ------
        OptionError
            If the policy or a field is unknown, or an argument is not supported.
        InputError
            If the values of `keep` have no order.

        Notes
        -----
        If the database maintains clusters (`Options.keep_clusters`) and you give no threshold, its
        own threshold applies, by estimate, and connected clusters are read from disk.  `search`,
        `where` or a higher `recall` forces a new search.

        Equal documents are linked to the first of them, so copies cost little.

        Examples
        --------
        >>> texts = {"a": "the quick brown fox", "b": "The quick brown fox!", "c": "ships"}
        >>> with simdb.open(None) as database:
        ...     database.insert_many(texts)
        ...     [cluster.ids for cluster in database.find_clusters()]
        3
        [['a', 'b']]
        """
        clusters.find.check_policy(policy)
        options, count = self._store.options, thread_count(threads)
        filters.check_filters(options, where)
        is_fixed = isinstance(search, Search) and search.attempts is not None
        if policy == clusters.find.STAR and recall is None and not is_fixed:
            recall = options.recall  # documents are looked up one by one
        question = Question(similarity, distance, recall, search, follows=OF_PAIRS, verify=verify)
        is_exact = searches.judge.check_verification(verify, texts, options)
        clusters.find.check_keep(keep, has_texts=options.texts or (is_exact and texts is not None))
        is_asked = question.has_bound or (verify, texts) != (None, None)
        is_exact &= is_asked or not options.keeps_clusters
        question.criterion(options, is_weighted=True)
        with self._chosen(where, count, keep) as state:
            question = question if is_exact else bounded(options, question, state.scale.measure)
            is_stored = is_maintained(options, question, state.scale.measure) and where is None
            if is_stored and not is_exact and policy == clusters.find.CONNECTED:
                places = clusters.find.places_by(state, keep, None)
                numbers, _ = state.membership().whole(state.next_ordinal)
                labels = searches.buckets.labels_of(numbers)
                return clusters.find.as_clusters(state, labels, places)
            criterion, judge = searches.judge.for_pairs(state, question, texts, is_exact=is_exact)
            places = clusters.find.places_by(state, keep, judge)
            find = clusters.find.find_clusters
            return find(state, criterion, policy=policy, places=places, judge=judge)

    def cluster(self, id: IdT) -> list[IdT]:
        """Return the maintained cluster of a document.

        The cluster is read from disk, without a search.  By distance it equals the result of
        `find_clusters`.  By similarity it holds the matches that the searches at each insertion
        found, with the `recall` of the database.

        Parameters
        ----------
        id : str, bytes or int
            The id.

        Returns
        -------
        list of ids
            The members in the order of insertion; the first is the representative.  A document
            without matches is alone in its cluster.

        Raises
        ------
        NotFoundError
            If the id is unknown.
        OptionError
            If the database was created without `keep_clusters`.
        """
        if not self._store.options.keeps_clusters:
            with self._state() as state:  # shards refuse here: they never keep clusters
                raise OptionError(
                    f"{state.store.environment.path} does not maintain clusters; use find_clusters,"
                    " or create a database with Options(keep_clusters='distance') or 'similarity'"
                )
        with self._state_of(id) as state:
            (ordinal,) = stored.known_ordinals(state, [id])
            members = state.membership().members(int(ordinal), state.next_ordinal)
            return stored.ids_of(state, members)

    def compare(
        self,
        left: Iterable[IdT],
        right: Iterable[IdT],
        *,
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        threads: int | None = None,
    ) -> PairArrays[IdT]:
        """Compare stored documents pair by pair, at any similarity.

        Parameters
        ----------
        left : iterable of str, bytes or int
            The ids of n documents.
        right : iterable of str, bytes or int
            The ids of n documents; left[i] is compared with right[i].
        verify : {"estimate", "exact", "numbers"}, optional
            How pairs are compared; see `find_all`.
        texts : mapping or callable, optional
            Texts to compare exactly; see `find_all`.
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        PairArrays
            Arrays in the order given: `left`, `right` (ids), `distance` uint8[n] and `similarity`
            float32[n], NaN if one of the two has no weights.  A search gives the same values.  If
            texts or stored features are compared, similarities are exact.

        Raises
        ------
        NotFoundError
            If an id is unknown.
        InputError
            If the two sides have different numbers of ids.
        """
        options, count = self._store.options, thread_count(threads)
        is_exact = searches.judge.check_verification(verify, texts, options)
        both = as_lists(left, right)
        with self._chosen(None, count, ids=[*both[0], *both[1]]) as state:
            ordinals = [stored.known_ordinals(state, ids) for ids in both]
            found = searches.couples.compared(state, *ordinals)
            if is_exact:
                judge = searches.judge.judge_of(state, Question(verify=verify), texts)
                found = judge.measured(state, found)
            return searches.couples.as_pairs(state, found, is_exact=is_exact)

    @overload
    def get(self, id: IdT) -> Document[IdT] | None: ...

    @overload
    def get(self, id: IdT, default: Default) -> Document[IdT] | Default: ...

    def get(self, id: IdT, default: Any = None) -> Any:
        """Return a stored document or a default; `database[id]` raises NotFoundError instead.

        Parameters
        ----------
        id : str, bytes or int
            The id.
        default : optional
            The value to return if no document has the id.

        Returns
        -------
        Document or the default
            The document.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.insert("a", "the quick brown fox jumps over the lazy dog")
        ...     database.get("b", "no document")
        'no document'
        """
        with self._state_of(id) as state:
            found = stored.find_ids(state, [id])
            if found[0] < 0:
                return default
            (document,) = stored.documents_of(state, [id], found.astype(np.uint32))
        return self._readable(document)

    def get_many(self, ids: Iterable[IdT]) -> list[Document[IdT]]:
        """Return many stored documents.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids.

        Returns
        -------
        list of Document
            The documents, in the order of `ids`.

        Raises
        ------
        NotFoundError
            For the first unknown id.
        """
        found: list[Document[IdT]] = self._read_of(ids, stored.known_documents)
        return self._readable(found)

    def keys(self) -> Iterator[IdT]:
        """Yield the ids of the documents stored now, in the order of insertion.

        Yields
        ------
        str, bytes or int
            An id.
        """
        return self._each_part(ITERATED_IDS, stored.ids_of)

    def items(self) -> Iterator[tuple[IdT, Document[IdT]]]:
        """Yield the id and the document of each document stored now, in the order of insertion.

        A thousand documents are in memory at a time.  Later changes to the database are not seen.

        Yields
        ------
        tuple of id and Document
            An id and its document.
        """
        for id, document in self._each_part(ITERATED_DOCUMENTS, stored.items_of):
            yield id, self._readable(document)

    def sketches(self, *, ids: str = "auto") -> Any:
        """Return the sketches of all stored documents as Arrow batches.

        Another database stores them again, bit for bit, with

            for batch in database.sketches():
                other.insert_many(batch["id"], simdb.Fingerprints.from_arrow(batch))

        or `simdb.Signatures.from_arrow(batch, sketch)`.

        Parameters
        ----------
        ids : {"auto", "text"}, default "auto"
            The type of the ids; see `Pairs.to_arrow`.

        Returns
        -------
        pyarrow.RecordBatchReader
            The columns `id`, `is_empty` and, for fingerprints, `bits` uint64 and `vector`: the
            bytes of the stored weights, null for a document without weights.  For signatures,
            `signature` has the bytes of the stored minima instead.

        Raises
        ------
        OptionError
            If pyarrow is not installed.

        Notes
        -----
        Some ten thousand documents are in memory at a time, in the order of insertion, except that
        documents without weights are the last of them.  Later changes to the database are not
        seen.  The bits of a document without features are all set.
        """
        checked_arrow(ids)
        with self._searcher() as searcher:
            empty = searcher.ask(searcher.numbers[0], stored.no_sketches)
        chunks = self._each_part(EXPORTED_DOCUMENTS, stored.sketch_columns)
        return read_batches(chunks, empty, id_columns=["id"], ids=ids)

    def contains_many(self, ids: Iterable[IdT]) -> npt.NDArray[np.bool_]:
        """Return whether each of many ids is stored.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids.

        Returns
        -------
        ndarray
            Whether a document has the id: bool[n].
        """
        found: npt.NDArray[np.bool_] = self._read_of(ids, stored.are_stored)
        return found

    def bits_many(self, ids: Iterable[IdT]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        """Return whether each of many ids is stored, and the bits of its fingerprint.

        This is much faster than `get_many`.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids.

        Returns
        -------
        tuple of two ndarrays
            Whether the id is stored, bool[n], and the bits, uint64[n]; 0 for an unknown id.  For
            signatures and for hashes of another size, the bits are a hash, equal for equal
            documents.
        """
        found: npt.NDArray[np.uint64] = self._read_of(ids, stored.stored_bits)
        return found[:, 0] > 0, found[:, 1].copy()

    def times_many(self, ids: Iterable[IdT]) -> npt.NDArray[np.datetime64]:
        """Return the time of each of many stored documents.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids.

        Returns
        -------
        ndarray
            The times, datetime64[s][n], in UTC: when the document was inserted or, with
            `Options(keep_times="seen")`, inserted or last matched by a claim.  NaT for a document
            without a time.

        Raises
        ------
        OptionError
            If the database keeps no times.
        NotFoundError
            For the first unknown id.
        """
        if not self._store.options.keeps_times:
            raise OptionError(
                f"{self._store.environment.path} keeps no times of documents; create a database"
                " with Options(keep_times='inserted') or 'seen' and insert the documents there"
            )
        seconds = self._read_of(ids, stored.known_times)
        times: npt.NDArray[np.datetime64] = seconds.astype("datetime64[s]")
        times[seconds == 0] = np.datetime64("NaT")
        return times

    def texts_many(self, ids: Iterable[IdT]) -> list[str | None]:
        """Return the text of each of many stored documents.

        This is much faster than `get(id).text` for each id: texts lie in blocks of some 64 KB, and
        each block is read once.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids.

        Returns
        -------
        list of str or None
            The texts; None for a document that is not a text.

        Raises
        ------
        OptionError
            If the database was created without `Options(texts=True)`.
        NotFoundError
            For the first unknown id.
        """
        if not self._store.options.texts:
            raise OptionError(f"of {self._store.environment.path}, {NO_TEXT}")
        found: list[str | None] = self._read_of(ids, stored.known_texts)
        return found

    def __getitem__(self, id: IdT) -> Document[IdT]:
        """Return the stored document `id`; raise NotFoundError, a KeyError, for an unknown id.

        A document is a copy: to change what is stored, use `update_metadata` or `insert`.
        """
        return self.get_many([id])[0]

    def __contains__(self, id: object) -> bool:
        """Return whether a document with this id is stored."""
        with self._state_of(id) as state:
            return bool(stored.find_ids(state, [id])[0] >= 0)

    def __len__(self) -> int:
        """Return the number of stored documents."""
        with self._searcher() as searcher:
            return sum(count for _, count in searcher.each(stored.document_count))

    def __iter__(self) -> Iterator[IdT]:
        """Yield the ids of the documents stored now, in the order of insertion."""
        return self._each_part(ITERATED_IDS, stored.ids_of)

    # Without this, reversed() would take whole numbers from the length downward as ids.
    __reversed__: ClassVar[None] = None

    def __bool__(self) -> bool:
        """Return True, even if no document is stored."""
        return True

    def note(self, name: str) -> Any:
        """Return the content of a note.

        A note is a small object that a program stores next to the documents, with `set_note` of a
        write transaction: None, bool, int, float, str, bytes, or lists and dicts of them.  It is
        kept when the database is compacted or rebuilt, and copies and dumps have it.

        Parameters
        ----------
        name : str
            The name of the note.

        Returns
        -------
        plain object or None
            The content; None without a note.

        Raises
        ------
        InputError
            If the name is invalid.
        CorruptError
            If the stored note is damaged.
        """
        key = records.note_key(name)
        with self._state() as state:
            return state.note(key)

    def _readable(self, found: Read) -> Read:
        """Return documents or matches that read their texts on demand, if texts are stored."""
        return readable(found, self) if found and self._store.options.texts else found

    def _state(self) -> State:
        """Enter a consistent state, for a `with` block."""

    def _searcher(self) -> Searcher:
        """Enter a consistent state, or the states of shards, for a `with` block."""
        return self._state()

    def _state_of(self, id: object) -> "AbstractContextManager[State]":
        """Enter the state that has the document `id`, if it is stored."""
        return self._state()

    def _hold(self) -> State:
        """Enter the committed state without staged changes; it does not end during the block."""
        return self._state()

    def _lasting(self) -> "tuple[Reading[IdT], Callable[[], None] | None]":
        """Return a reader whose state outlasts a verb, and a function to end it, or None."""
        return self, None

    @contextmanager
    def _chosen(
        self, where: "Where | None", threads: int, keep: "Keep" = "first", ids: Any = None
    ) -> Iterator[State]:
        """Enter one state of all documents that satisfy `where`, with their metadata for `keep`.

        `ids`: the only stored documents that are needed; None for all.
        """
        with self._state() as state:
            state.threads = threads
            yield state if where is None else filters.only_where(state, where)

    def _streamed(
        self, where: "Where | None", threads: int, find: "Callable[[State], FoundPairs]"
    ) -> "Pairs[IdT]":
        """Return the pairs that `find` finds among the documents that satisfy `where`."""
        owner, end = self._lasting()
        with owner._state() as state:
            state.threads = threads
            found = find(state if where is None else filters.only_where(state, where))
            stream = searches.pairs.PairStream(state, found.chunks, hold=owner._hold, end=end)
        return searches.pairs.Pairs(stream, found)

    def _plain(
        self, document: Any, id: IdT | None, given: Any, errors: ErrorsName,
        limit: int | None = None, first: bool = False, where: Any = None,
    ) -> list[Match[IdT]]:  # fmt: skip
        """Run `_found` for only a criterion and a limit, a microsecond faster."""
        if limit is not None:
            check_limit(limit)
        with self._searcher() as searcher:
            if where is not None:
                searcher.choose(filters.parted(searcher.store.options, where)[1])
            found = one.find_plain(searcher, document, id, given, errors, first, limit)
            return readable(found, self) if searcher.store.options.texts else found

    def _found(
        self, document: Any, id: IdT | None, given: Any, more: Any, errors: ErrorsName,
        threads: int | None = 1, first: bool = False,
    ) -> list[Match[IdT]]:  # fmt: skip
        """Return the matches of a document, or of the stored document `id`, best first.

        `given`: the criterion; `more`: the other fields of a `Question` up to `texts`.
        """
        limit, where, accept, contained, texts = more
        where, values = filters.parted(self._store.options, where)
        question = Question(*given, *more)._replace(where=where)
        count = thread_count(threads)
        check_limit(limit)
        filters.check_filters(self._store.options, where, accept)
        if contained is not None or texts is not None:
            asked = question._replace(limit=1 if first else limit)
            how = Sketching(self._store.sketcher, errors, count)
            documents = None if document is None else [document]
            queries = Queries(how, documents, None if id is None else [id])
            return self._readable(self._containing(queries, asked, values)[0])
        asked = question if accept is None else question._replace(limit=None)
        with self._searcher() as searcher:
            searcher.choose(values).threads = count
            found = one.find(searcher, document, id, asked, errors, first and accept is None)
        found = self._readable(found)
        if accept is None:
            return found
        known = found[0].measure if found else None
        least = question.least_similarity(self._store.options, known)
        return filters.accepted(found, accept, least, limit, first=first)

    def _containing(
        self, queries: Queries, question: Question, values: Any, *, is_of_many: bool = False
    ) -> Matches[IdT]:
        """Return the documents that contain each query."""
        asked = searches.contained.question_of(self._store, question, is_of_many=is_of_many)
        with self._searcher() as searcher:
            searcher.choose(values).threads = queries.how.threads
            return searches.contained.find(searcher, queries, asked)

    def _read_of(self, ids: Iterable[IdT], read: Callable[[State, list[Any]], Any]) -> Any:
        """Return the results of `read` for the documents `ids`, in their order."""
        listed = as_list(ids, "ids")
        with self._searcher() as searcher:
            return in_order(parts_by_ids(searcher, listed, read))

    def _each_part(self, size: int, read: Callable[[State, U32], list[Read]]) -> Iterator[Read]:
        """Yield the results of `read` for the documents stored now, `size` documents at a time."""
        owner, end = self._lasting()
        with owner._state() as state:
            ordinals = state.live()
        for start in range(0, len(ordinals), size):
            part = ordinals[start : start + size]
            with owner._hold():
                state.source.check_open()
                found = read(state, part)
            yield from found
        if end is not None:
            end()
