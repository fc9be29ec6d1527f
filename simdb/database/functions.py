"""Functions: fingerprints, signatures, similarities and IDF tables, without a database."""

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from simdb import sketch as sketching
from simdb.core import kernel
from simdb.core.arrays import BARE, EMPTY, Fingerprint, Fingerprints, describe
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import instance
from simdb.core.choices import ErrorsName
from simdb.core.clusters import ArrayClusters, ArrayPairs, PairPositions
from simdb.core.documents import Signature, Signatures, check_comparable, estimates
from simdb.core.dtypes import F32, F64
from simdb.core.errors import InputError, OptionError
from simdb.core.foreign import answering
from simdb.core.matches import PairArrays
from simdb.core.options import Bits, Minhash, Options, Simhash
from simdb.core.progress import Progress
from simdb.core.scales import COSINES, FEATURE_SETS, SimilarityScale
from simdb.core.text_sketch import IdfTable, TextSketch
from simdb.core.threads import thread_count
from simdb.core.vector_form import DIMENSIONS, unpack, width
from simdb.database import maintenance
from simdb.database.clusters import arrays
from simdb.database.database import Database, open as open_database
from simdb.plan import HashParts, fitted_order
from simdb.storage import idf_file

Kind = TypeVar("Kind", Simhash, Minhash)

SAMPLED_HASHES = 10_000

Comparable: TypeAlias = str | bytes | Sequence[str] | Fingerprint | Signature

# The sketch that fingerprints were last made with, and its sketcher; see `_sketcher_of`.
_latest: tuple[Simhash | None, sketching.Sketcher] | None = None


@answering
def fingerprint(
    document: Any, sketch: Simhash | None = None, *, errors: ErrorsName = "strict"
) -> Fingerprint:
    """Make the fingerprint of one document, with its weights.

    Parameters
    ----------
    document : str, bytes, list of tokens, Features or vector
        The document.
    sketch : Simhash, optional
        How documents become fingerprints; `Simhash()` if not given.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode: refuse it, or replace the invalid
        characters.

    Returns
    -------
    Fingerprint
        64 bits, and the weight behind each bit.

    Raises
    ------
    InputError
        If the document has another type, or invalid text.

    Examples
    --------
    >>> left, right = simdb.fingerprint("the quick fox"), simdb.fingerprint("The quick, fox")
    >>> simdb.distance(left, right)
    0
    """
    return _sketcher_of(sketch).fingerprint(document, errors=errors)


@answering
def fingerprints(
    documents: Iterable[Any],
    sketch: Simhash | None = None,
    *,
    errors: ErrorsName = "strict",
    threads: int | None = None,
) -> Fingerprints:
    """Make the fingerprints of many documents.

    Parameters
    ----------
    documents : iterable of documents, array or CSR matrix
        Documents of one kind: texts, lists of tokens, `Features` or vectors.  Vectors can also be
        the rows of an array, float[n, d], or of a CSR matrix.
    sketch : Simhash, optional
        How documents become fingerprints; `Simhash()` if not given.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `fingerprint`.
    threads : int, optional
        Number of threads; see `Database.insert_many`.

    Returns
    -------
    Fingerprints
        `bits` is uint64[n], and `weights` is float32[n, d].

    Raises
    ------
    InputError
        If a document is invalid, or of another kind than the others.

    Examples
    --------
    >>> simdb.fingerprints(["one text", "another text"]).bits.dtype
    dtype('uint64')
    """
    count = thread_count(threads)
    return _sketcher_of(sketch).fingerprints(documents, errors=errors, threads=count)


@answering
def signature(
    document: Any, sketch: Minhash | None = None, *, errors: ErrorsName = "strict"
) -> Signature:
    """Make the MinHash signature of one document.

    Parameters
    ----------
    document : str, bytes, list of tokens or Features
        The document.
    sketch : Minhash, optional
        How documents become signatures; `Minhash()` if not given.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `fingerprint`.

    Returns
    -------
    Signature
        One minimum for each permutation.

    Raises
    ------
    InputError
        If the document has another type, or invalid text.
    """
    return signatures([document], sketch, errors=errors)[0]


@answering
def signatures(
    documents: Iterable[Any],
    sketch: Minhash | None = None,
    *,
    errors: ErrorsName = "strict",
    threads: int | None = None,
) -> Signatures:
    """Make the MinHash signatures of many documents.

    Parameters
    ----------
    documents : iterable of documents
        Texts, lists of tokens, `Features`, or `Signature` objects made with the same sketch.
    sketch : Minhash, optional
        How documents become signatures; `Minhash()` if not given.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `fingerprint`.
    threads : int, optional
        Number of threads; see `Database.insert_many`.

    Returns
    -------
    Signatures
        `minima` is uint32[n, permutations], or uint8 if the sketch stores 8 bits or fewer per
        minimum.

    Raises
    ------
    InputError
        If a document is invalid.
    """
    sketch = _sketch_of(sketch, Minhash)
    signer = sketching.MinHashSketcher(sketch, allowed=[sketch.tokeniser])
    return signer.signatures(documents, errors=errors, threads=thread_count(threads))


def fit_idf(
    documents: Iterable[Any],
    sketch: TextSketch | None = None,
    *,
    features_max: int | None = None,
    errors: ErrorsName = "strict",
    progress: Progress | None = None,
) -> IdfTable:
    """Fit an IDF table, which gives each feature its weight, to many documents.

    Parameters
    ----------
    documents : iterable of str or lists of tokens
        The collection.  A few thousand documents are read at a time; each distinct feature takes
        12-24 bytes of memory.
    sketch : TextSketch, optional
        The options that decide what a feature is; `Simhash()` if not given.  The sketch that uses
        the table must have the same options, except its weighting.
    features_max : int, optional
        Number of features to keep, the most frequent first; all if not given.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `fingerprint`.
    progress : callable, optional
        Called with the number of documents read.

    Returns
    -------
    IdfTable
        The table, for `Simhash(idf=table)`.

    Raises
    ------
    OptionError
        If the sketch takes no IDF table.
    InputError
        If a document is invalid.
    """
    sketch = sketching.sketch_of_texts("fit_idf", sketch, documents)
    if sketch.unit == "moz":
        raise OptionError("unit='moz' takes no IDF table; use another sketch for fit_idf")
    settings = sketch.feature_settings
    return sketching.fit(
        documents,
        sketching.Sketcher(Simhash(**settings), allowed=[sketch.tokeniser]),
        settings,
        features_max=features_max,
        errors=errors,
        progress=progress,
    )


def fit_bits(hashes: Any, sketch: Bits, *, blocks: int | None = None) -> Bits:
    """Fit the order in which the bits of hashes are dealt to blocks to a sample of hashes.

    Bits that are nearly constant, and bits that change together, then lie in different blocks, so
    no table has crowded headers; see `Bits.order`.

    Parameters
    ----------
    hashes : Fingerprints, array or list
        Many hashes of the collection; of more than ten thousand, a sample is taken.
    sketch : Bits
        The size of the hashes.
    blocks : int, optional
        Number of blocks of the database; the usual number if not given.

    Returns
    -------
    Bits
        The sketch for `Options(sketch=...)`, with the fitted order.

    Raises
    ------
    OptionError
        If the bits of hashes of this size are never dealt to blocks.
    InputError
        If the hashes have another form or size.
    """
    instance("sketch", sketch, Bits, "simdb.Bits(256)")
    if sketch.bits == FINGERPRINT_BITS:
        raise OptionError(f"hashes of {FINGERPRINT_BITS} bits are never dealt; leave fit_bits out")
    usual = Options(sketch=Bits(sketch.bits))
    options = usual if blocks is None else replace(usual, blocks=blocks)
    packed = sketching.HashSketcher(sketch).fingerprints(hashes).bits
    packed = packed[:: max(-(-len(packed) // SAMPLED_HASHES), 1)]
    return Bits(sketch.bits, fitted_order(packed, HashParts(options).widths))


def save_idf(table: IdfTable, path: str | os.PathLike[str]) -> None:
    """Write an IDF table to a file.

    An existing file is replaced once everything is written.

    Parameters
    ----------
    table : IdfTable
        The table that `fit_idf` made.
    path : str or path
        The file.
    """
    place = os.fsdecode(path)
    temporary = f"{place}.{os.getpid()}-{threading.get_ident()}.new"
    idf_file.write_idf(place, table, temporary=temporary, mode=0o666)


def load_idf(path: str | os.PathLike[str]) -> IdfTable:
    """Load the IDF table from a file that `save_idf` wrote.

    The table is read in place, so processes that load the same file share its memory.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    IdfTable
        The table.

    Raises
    ------
    NotFoundError
        If there is no such file.
    FormatError
        If the file is not an IDF table.
    CorruptError
        If the file is damaged.
    """
    table, _ = idf_file.read_idf(os.fsdecode(path), is_verified=True)
    return table


def load(source: Any, path: str | os.PathLike[str], *, progress: Progress | None = None) -> int:
    """Create a database from a dump that `Database.dump` wrote.

    The new database has the documents and options of the dumped one.  Its tables are made anew,
    and its ordinals have no gaps.  The directory appears when it is complete and on disk.

    Parameters
    ----------
    source : str, path or binary stream
        The dump.
    path : str or path
        The directory of the new database.
    progress : callable, optional
        Called with the number of documents loaded.

    Returns
    -------
    int
        Number of documents.

    Raises
    ------
    ExistsError
        If something is at `path`.
    FormatError
        If the source is not a dump, or has a newer version.
    CorruptError
        If the dump is damaged or cut off; the message names the place.
    """
    return maintenance.dump.load(source, path, progress)


def upgrade(
    path: str | os.PathLike[str], *, python: str | None = None, progress: Progress | None = None
) -> str:
    """Rewrite a database in the form of this version, and keep the old one.

    Databases of earlier releases open as they are.  This is for a database that this simdb cannot
    open: one from before the first release, or with a data file of another LMDB.  Another process
    dumps it; this one loads and checks the dump, and then replaces the old data file.  After
    any failure, `path` is the old database or the new one, and the call can be repeated.  No other
    process may have the database open.

    Parameters
    ----------
    path : str or path
        The directory of the database.
    python : str, optional
        The interpreter of an environment whose simdb opens the database; this interpreter if not
        given.
    progress : callable, optional
        Called with the number of documents.

    Returns
    -------
    str
        The directory of the old database, which is kept until you remove it: `path` + ".old".

    Raises
    ------
    BusyError
        If another process has the database open.
    ExistsError
        If the old database of an earlier upgrade is still there.
    FullError
        If the disk may have too little free space.
    OptionError
        If `python` is not a program.
    FormatError
        If `python` cannot dump the database.
    """
    return maintenance.dump.upgrade(path, python, progress)


def distance(
    left: "Comparable | Any", right: "Comparable | Any", *, bits: int | None = None
) -> int:
    """Compute the Hamming distance: the number of bits in which two documents differ.

    Parameters
    ----------
    left, right : int, Fingerprint, hash, text or list of tokens
        Two documents.  Two texts, bytes or lists of tokens are compared by their
        `simdb.fingerprint`.  Arrays, `Fingerprint` objects and objects with `.hash` are hashes of
        their own size, and whole numbers have 64 bits.
    bits : int, optional
        Size of both hashes, in any form that `simdb.Bits` takes.  Hexadecimal text and bytes count
        as hashes only if it is given.

    Returns
    -------
    int
        Number of bits that differ.

    Raises
    ------
    InputError
        If the two have different sizes, or one is not a hash.

    Examples
    --------
    >>> simdb.distance(0b1011, 0b0001)
    2
    >>> simdb.distance("ffffffff", "fffffff0", bits=32)
    4
    """
    both: list[Any] = [left, right]
    if bits is None and _is_words(left) and _is_words(right):
        both = [fingerprint(left), fingerprint(right)]
    sizes = (sketching.likely_bits(each) for each in both if not _is_words(each))
    size = next(filter(None, sizes), FINGERPRINT_BITS) if bits is None else bits
    # Empty fingerprints are compared by their bits, although these mean nothing.
    both = [int(each) if getattr(each, "is_empty", False) is True else each for each in both]
    found = sketching.HashSketcher(Bits(size)).fingerprints(both)
    return (found[0].bits ^ found[1].bits).bit_count()


@answering
def similarity(
    left: "Comparable", right: "Comparable", sketch: Simhash | Minhash | None = None
) -> float:
    """Compute the similarity of two texts, or estimate it from two sketches.

    Parameters
    ----------
    left, right : str, list of tokens, Fingerprint or Signature
        Two documents of one kind.
    sketch : Simhash or Minhash, optional
        How texts become features; `Simhash()` if not given.

    Returns
    -------
    float
        The similarity, 0 to 1.  A document without features has similarity 0 to every document.

    Raises
    ------
    InputError
        If the two are of different kinds, or are fingerprints without weights.

    Notes
    -----
    For two texts or lists of tokens the result is exact.  It is the Jaccard similarity of their
    sets of shingles, or the cosine if `sketch` weights its features.

    For fingerprints it is the estimate of a database: the Jaccard similarity of texts, the cosine
    of vectors and of weighted features (`Fingerprint.measure`).  A stored fingerprint has rounded
    weights; if either is stored, both are rounded.

    For signatures it is the Jaccard similarity: the size of the intersection over the size of the
    union.  With weights, it is the sum of the smaller weights over the sum of the larger ones.

    Examples
    --------
    >>> simdb.similarity("the quick brown fox jumps", "the quick brown fox sleeps")
    0.5
    """
    chosen = sketching.sketch_of_texts("similarity", sketch, [left, right])
    if _is_words(left) and _is_words(right):
        exact = sketching.ExactSimilarity(chosen, sketching.NO_RESOURCES, [chosen.tokeniser])
        places = np.array([[0], [1]])
        # The shortest number that is this float32, so that both mean the same threshold.
        return float(str(exact.of_pairs([left, right], *places)[0]))
    if isinstance(left, Signature) and isinstance(right, Signature):
        both = Signatures(right.minima[None], right.sketch, np.array([right.is_empty]))
        return float(similarities(left, both)[0])
    shared = min(len(_weights(left)), len(_weights(right)))
    first = _weights(left)[:shared].astype(np.float64)
    second = _weights(right)[:shared].astype(np.float64)
    if not first.any() or not second.any():
        return 0.0
    scale = _scale_of(left, right)
    if not _is_rounded(left) and not _is_rounded(right):
        return float(scale.from_cosine(_cosine(first, second)))
    rounded = _cosine(_rounded(left, first), _rounded(right, second))
    return float(scale.shown(np.array([rounded], np.float32))[0])


def similarities(
    left: Signature | Signatures | Fingerprint | Fingerprints, right: Signatures | Fingerprints
) -> npt.NDArray[np.float32]:
    """Estimate the similarities of sketches, in pairs or of one to many.

    Parameters
    ----------
    left : Fingerprint, Fingerprints, Signature or Signatures
        One document, or n documents, which are then compared in pairs.
    right : Fingerprints or Signatures
        The n documents to compare with.

    Returns
    -------
    ndarray
        The similarities that a database shows, float32[n].  A document without features has 0.

    Raises
    ------
    InputError
        If the two are of different kinds or sizes, or are fingerprints without weights.
    """
    if isinstance(right, Fingerprints) and isinstance(left, Fingerprint | Fingerprints):
        return _of_fingerprints(left, right)
    if not isinstance(right, Signatures) or not isinstance(left, Signature | Signatures):
        raise InputError(
            "similarities compares a Signature or Signatures with Signatures, as simdb.signatures"
            " makes them, or a Fingerprint or Fingerprints with Fingerprints, got"
            f" {describe(left)} and {describe(right)}"
        )
    if not isinstance(left, Signature):
        _check_counts(len(left), len(right), "signatures")
    check_comparable(left.sketch, right.sketch)
    minima = left.minima[None] if isinstance(left, Signature) else left.minima
    measured = estimates(kernel.agreements(minima, right.minima), right.sketch)
    return np.where(right.is_empty | left.is_empty, np.float32(0), measured)


def find_all(
    fingerprints: Any, blocks: int = 4, distance: int | None = None, *,
    bits: int | None = None, threads: int | None = None,
) -> ArrayPairs:  # fmt: skip
    """Find every pair of fingerprints within a Hamming distance, by position; exact.

    Parameters
    ----------
    fingerprints : array, Fingerprints or iterable of int
        An array uint64[n], `Fingerprints`, or hashes of 32-512 bits: an array, see `Fingerprints`,
        or a list in a form that `simdb.Bits` takes.  An array is copied, so it may change before
        the pairs are read.
    blocks : int, default 4
        The largest number of blocks into which a fingerprint is cut, larger than `distance`.  The
        fastest tables with at most this number of blocks are used; the pairs do not depend on it.
    distance : int, optional
        The largest number of bits that differ; 3 if not given, or the usual one of `Bits` for
        hashes of another size than 64 bits.
    bits : int, optional
        Size of the hashes, if neither an array nor the first of a list shows it.
    threads : int, optional
        Number of threads; see `Database.insert_many`.

    Returns
    -------
    ArrayPairs
        The pairs: `.chunks()` streams them, and `.left`, `.right` and `.distance` gather them.
        Equal fingerprints are pairs at distance 0, so k copies make k (k - 1) / 2 pairs.  Documents
        without features match nothing.

    Raises
    ------
    InputError
        If the fingerprints have another form.
    OptionError
        If `blocks` and `distance` do not suit each other.

    Notes
    -----
    The search takes 24 bytes of memory per fingerprint, in addition to what the caller keeps.
    Hashes of another size than 64 bits are stored in a temporary database.
    """
    count, given = thread_count(threads), _many(fingerprints, bits)
    if sketching.hash_bits(given) is not None:
        found = _stored(given, count).find_all(distance=distance, threads=count)
        return ArrayPairs(map(_positions, found.chunks()))
    return ArrayPairs(arrays.stream_pairs(given, blocks, distance, threads=count))


def find_clusters(
    fingerprints: Any, blocks: int = 4, distance: int | None = None, *,
    bits: int | None = None, threads: int | None = None,
) -> ArrayClusters:  # fmt: skip
    """Find the groups of fingerprints that are connected by pairs within a Hamming distance.

    Parameters
    ----------
    fingerprints : array, Fingerprints or iterable of int
        The fingerprints or hashes; see `find_all`.
    blocks : int, default 4
        The largest number of blocks; see `find_all`.
    distance : int, optional
        The largest number of bits that differ; see `find_all`.
    bits : int, optional
        Size of the hashes; see `find_all`.
    threads : int, optional
        Number of threads; see `Database.insert_many`.

    Returns
    -------
    ArrayClusters
        The connected components of the pairs of `find_all`: arrays of two or more positions.

    Raises
    ------
    InputError
        If the fingerprints have another form.
    OptionError
        If `blocks` and `distance` do not suit each other.

    Notes
    -----
    Equal fingerprints are linked once instead of paired, so any number of copies costs no more than
    sorting them.  The search takes 36 bytes of memory per fingerprint, and up to 60 if most are in
    clusters.
    """
    count, given = thread_count(threads), _many(fingerprints, bits)
    if sketching.hash_bits(given) is not None:
        with _stored(given, count) as database:
            found = database.find_clusters(distance=distance, threads=count)
            return ArrayClusters(found.offsets, found.ids.astype(np.int64))
    return arrays.find_clusters(given, blocks, distance, threads=count)


def _many(given: Any, bits: int | None) -> Any:
    """Return hashes as `Fingerprints` if `bits` or their form shows them; others as given."""
    if bits is None and not isinstance(given, Fingerprints):
        is_listed = isinstance(given, list | tuple) and len(given) > 0
        bits = sketching.likely_bits(given[0]) if is_listed else sketching.hash_bits(given)
    return given if bits is None else sketching.HashSketcher(Bits(bits)).fingerprints(given)


def _stored(hashes: Fingerprints, threads: int) -> Database[int]:
    """Return a temporary database with hashes, whose ids are their positions."""
    sketch = fit_bits(hashes, Bits(hashes.size))
    database: Database[int] = open_database(None, options=Options(sketch=sketch))
    database.insert_many(range(len(hashes)), hashes, threads=threads)
    return database


def _positions(pairs: PairArrays[int]) -> PairPositions:
    """Return pairs whose ids are positions."""
    left, right = (np.asarray(side, np.int64) for side in (pairs.left, pairs.right))
    return PairPositions(np.minimum(left, right), np.maximum(left, right), pairs.distance)


def _of_fingerprints(left: Fingerprint | Fingerprints, right: Fingerprints) -> F32:
    """Compare fingerprints by their packed vectors; see `similarities`."""
    count = len(right)
    if right.vectors is not None:
        stored_bytes = right.vectors.shape[1]
    else:
        columns = DIMENSIONS[0] if right.weights is None else right.weights.shape[1]
        stored_bytes = width(next(each for each in DIMENSIONS if each >= columns))
    ready = sketching.ReadySketcher(2 * stored_bytes, stored_bytes)
    stored = ready.of_fingerprints(right, False, 0)
    if isinstance(left, Fingerprint):
        asked = ready.of_list([left], False, 0)
        places = np.full(count, count, np.uint32)
    else:
        _check_counts(len(left), count, "fingerprints")
        asked = ready.of_fingerprints(left, False, 0)
        places = np.arange(count, 2 * count, dtype=np.uint32)
    if (asked.states == BARE).any() or (stored.states == BARE).any():
        raise InputError(
            "similarities needs fingerprints with weights or vectors, as simdb.fingerprints makes"
            " them; bits alone have a distance only"
        )
    vectors = kernel.Vectors(stored_bytes, [(0, stored.vectors), (count, asked.vectors)])
    rounded = vectors.between(places, np.arange(count, dtype=np.uint32))
    measured = _scale_of(left, right).shown(rounded)
    is_empty = (stored.states == EMPTY) | (asked.states == EMPTY)
    return np.where(is_empty, np.float32(0), measured)


def _check_counts(left: int, right: int, noun: str) -> None:
    if left != right:
        raise InputError(f"left has {left} {noun} and right {right}; give equal numbers, or one")


def _sketch_of(sketch: Any, kind: type[Kind]) -> Kind:
    """Return `sketch`, or the default sketch of its kind if it is None."""
    sketch = kind() if sketch is None else sketch
    instance("sketch", sketch, kind, f"simdb.{kind.__name__}()")
    return cast("Kind", sketch)


def _sketcher_of(sketch: Any) -> sketching.Sketcher:
    """Return a sketcher for `sketch`, or for the default if it is None; the latest one is kept."""
    global _latest
    known = _latest
    if known is not None and known[0] is sketch:
        return known[1]
    chosen = _sketch_of(sketch, Simhash)
    sketcher = sketching.Sketcher(chosen, allowed=[chosen.tokeniser])
    if chosen.idf is None:  # a table can be large
        _latest = sketch, sketcher
    return sketcher


def _is_words(value: object) -> bool:
    """Return whether a document is a text or a list of tokens."""
    return isinstance(value, str | bytes | list | tuple)


def _forget_in_child() -> None:
    """After a fork, forget the sketcher: a thread of the parent may be using its vocabulary."""
    global _latest
    _latest = None


def _cosine(left: F64, right: F64) -> float:
    return float(left @ right) / float(np.sqrt(left @ left) * np.sqrt(right @ right))


def _scale_of(*both: Any) -> SimilarityScale:
    """Return the scale of the similarities that users see."""
    return COSINES if any(each.measure == COSINES.measure for each in both) else FEATURE_SETS


def _is_rounded(value: object) -> bool:
    return isinstance(value, Fingerprint) and value.is_rounded


def _rounded(value: object, weights: F64) -> F64:
    """Return weights as a database stores them."""
    if _is_rounded(value):
        return weights
    columns = next(each for each in DIMENSIONS if each >= len(weights))
    _, vectors = kernel.quantise(sketching.widened(weights[None].astype(np.float32), columns))
    return unpack(vectors)[0, : len(weights)].astype(np.float64)


def _weights(value: object) -> F32:
    if not isinstance(value, Fingerprint) or value.weights is None:
        raise InputError(
            "similarity needs two texts, two fingerprints with weights, as simdb.fingerprint makes,"
            " or two signatures, as simdb.signature makes"
        )
    return value.weights


os.register_at_fork(after_in_child=_forget_in_child)
